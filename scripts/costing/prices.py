"""What AWS asks for, on demand, in us-east-1; and what no call can tell, so that it has to be assumed.

The prices were read in copies of AWS's pages, made in May (DynamoDB) and September 2026.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Price:
    """One price: of `each` units, in dollars, and where it was read."""

    what: str
    dollars: float
    each: int
    unit: str
    source: str

    @property
    def of_one(self) -> float:
        return self.dollars / self.each


M = 1_000_000
S3 = "https://aws.amazon.com/s3/pricing/"
DYNAMODB = "https://aws.amazon.com/dynamodb/pricing/on-demand/"
LAMBDA = "https://aws.amazon.com/lambda/pricing/"

PRICES = {
    "put": Price("S3 PUT, COPY, POST, LIST (Standard)", 5.00, M, "requests", S3),
    "get": Price("S3 GET, HEAD", 0.40, M, "requests", S3),
    "transfer_bytes": Price("transfer to another region", 0.02, 10**9, "bytes", S3),
    "timed_bytes": Price("replication time control", 0.015, 10**9, "bytes", S3),
    "wru": Price("DynamoDB write request unit", 0.625, M, "units", DYNAMODB),
    "rru": Price("DynamoDB read request unit", 0.125, M, "units", DYNAMODB),
    "invocation": Price("Lambda request", 0.20, M, "requests", LAMBDA),
    "gb_s": Price("Lambda duration, x86", 16.6667, M, "GB-seconds", LAMBDA),
    "sqs": Price("SQS, standard queue", 0.40, M, "requests", "https://aws.amazon.com/sqs/pricing/"),
    "http": Price("HTTP API", 1.00, M, "requests", "https://aws.amazon.com/api-gateway/pricing/"),
}
"""By the unit that `meter` counts."""

S3_STORAGE = Price("S3 storage, first 50 TB, a month", 0.023, 10**9, "bytes", S3)
DYNAMODB_STORAGE = Price("DynamoDB storage, a month", 0.25, 10**9, "bytes", DYNAMODB)

CLOUDWATCH = "https://aws.amazon.com/cloudwatch/pricing/"
ALARM_METRIC = Price("a metric that an alarm watches, a month", 0.10, 1, "metrics", CLOUDWATCH)
METRIC = Price("a metric of one's own, or of S3's replication, a month", 0.30, 1, "metrics", CLOUDWATCH)
DASHBOARD = Price("a dashboard, a month", 3.00, 1, "dashboards", CLOUDWATCH)
LOGS = Price("logs, taken in", 0.50, 10**9, "bytes", CLOUDWATCH)
TRACE = Price("a trace of X-Ray", 5.00, M, "traces", "https://aws.amazon.com/xray/pricing/")
KMS_KEY = Price("a key of KMS, a month", 1.00, 1, "keys", "https://aws.amazon.com/kms/pricing/")
SECRET = Price(
    "a secret, and each of its replicas, a month", 0.40, 1, "secrets", "https://aws.amazon.com/secrets-manager/pricing/"
)
IDLE = (ALARM_METRIC, METRIC, DASHBOARD, LOGS, TRACE, KMS_KEY, SECRET)
"""Billed by what there is, and not by calls."""

CONTENT_BYTES = 4_096
"""A memory's content."""

PATH = "/projects/atlas/decisions.md"

DURATIONS_MS = {
    "objects.put_if_absent": 40.0,
    "objects.get": 20.0,
    "objects.head": 15.0,
    "objects.list": 40.0,
    "erasable.erase": 100.0,
    "erasable.delete_older": 40.0,
    "erasable.versions": 40.0,
    "erasable.remove": 60.0,
    "index.read": 5.0,
    "index.query": 6.0,
    "index.count": 20.0,
    "index.commit": 10.0,
    "peers.call": 5.0,
    "queue.send": 10.0,
}
"""How long one call takes."""

FAR_MS = 80.0
"""What a call to another region takes longer."""

OWN_MS = 5.0
"""What a function takes for itself: parsing, deciding, and, for a write or a second look, the scan of its text."""


def declared(path: str, pattern: str) -> int:
    """Return a number as the infrastructure's code declares it, so that it is written once."""
    found = re.search(pattern, (ROOT / path).read_text())
    if found is None:
        raise ValueError(f"{path} declares no {pattern}")
    return int(found[1])


BATCH_SIZE = declared("infra/constructs/functions/indexer.py", r"BATCH_SIZE = (\d+)")
"""Events that one indexer takes at once, when there are as many."""

MEMORY_MB = {
    name: declared(f"infra/constructs/functions/{name}.py", r"memory_mb=(\d+)")
    for name in (
        "reader",
        "writer",
        "peerreader",
        "peerwriter",
        "indexer",
        "eraser",
        "scanner",
        "reconciler",
        "tool",
        "dreamer",
        "mcp",
    )
}
