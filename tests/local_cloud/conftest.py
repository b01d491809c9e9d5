"""One emulator for all tests of this folder (a second to start), and a pair of fresh buckets for each test."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from scripts.local_cloud import emulator
from scripts.local_cloud.aws import Clients
from scripts.local_cloud.layout import Layout
from scripts.local_cloud.processes import ProcessFiles
from scripts.local_cloud.replication.ledger import Ledger
from scripts.local_cloud.replication.replicator import Pace, Replicator
from scripts.local_cloud.replication.settings import Settings

REGIONS = ("us-east-1", "eu-west-1")
_NUMBERS = count()


def until(condition: Callable[[], bool], what: str, within_s: float = 10.0) -> None:
    """Wait for a condition, or fail and say what was waited for."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {within_s} s: {what}")
        time.sleep(0.01)


@pytest.fixture(scope="session")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    """Clients of an emulator that ends with the session."""
    layout = Layout(tmp_path_factory.mktemp("local-cloud"))
    processes = ProcessFiles(layout.processes, str(layout.emulator))
    try:
        yield Clients(emulator.start(layout, processes).endpoint)
    finally:
        emulator.stop(layout, processes)


@dataclass
class Pair:
    """Two versioned buckets, each replicating its own region's prefix to the other; a queue has the second's events."""

    clients: Clients
    folder: Path
    buckets: dict[str, str] = field(default_factory=dict)
    running: list[Replicator] = field(default_factory=list)
    queue_url: str = ""

    def create(self) -> None:
        number = next(_NUMBERS)
        for region in REGIONS:
            self.buckets[region] = f"pair{number}-{region}"
            s3 = self.clients.s3(region)
            s3.create_bucket(Bucket=self.buckets[region], **_location(region))
            s3.put_bucket_versioning(Bucket=self.buckets[region], VersioningConfiguration={"Status": "Enabled"})
        for region, other in (REGIONS, REGIONS[::-1]):
            self.put_rules(region, [(f"{region}/", other, "Enabled")])
        self._tell_of_arrivals(number)

    def put_rules(self, region: str, rules: list[tuple[str, str, str]]) -> None:
        """Replace a bucket's rules: (prefix, destination region, status)."""
        configured: Any = {
            "Role": "arn:aws:iam::000000000000:role/replication",
            "Rules": [
                {
                    "ID": f"rule{number}",
                    "Priority": number,
                    "Status": status,
                    "Filter": {"Prefix": prefix},
                    "DeleteMarkerReplication": {"Status": "Disabled"},
                    "Destination": {"Bucket": f"arn:aws:s3:::{self.buckets[destination]}"},
                }
                for number, (prefix, destination, status) in enumerate(rules)
            ],
        }
        self.clients.s3(region).put_bucket_replication(Bucket=self.buckets[region], ReplicationConfiguration=configured)

    def replicate(self, settings: Settings | None = None, *, hooked: bool = True, ledger: str = "ledger") -> Replicator:
        """Start a replicator with a ledger of this name; it is stopped with the test."""
        replicator = Replicator(
            self.clients,
            self.buckets,
            Ledger(self.folder / f"{ledger}.sqlite"),
            settings,
            pace=Pace(hook_wait_s=1, sweep_every_s=0.5, sweep_share=1.0),
            hooked=hooked,
        )
        replicator.start()
        self.running.append(replicator)
        return replicator

    def put(self, key: str, body: bytes = b"text", region: str = "us-east-1", **more: Any) -> str:
        answer = self.clients.s3(region).put_object(Bucket=self.buckets[region], Key=key, Body=body, **more)
        return answer["VersionId"]

    def listed(self, region: str = "eu-west-1") -> list[str]:
        answer = self.clients.s3(region).list_objects_v2(Bucket=self.buckets[region])
        return [entry["Key"] for entry in answer.get("Contents", [])]

    def versions(self, key: str, region: str = "eu-west-1") -> int:
        answer = self.clients.s3(region).list_object_versions(Bucket=self.buckets[region], Prefix=key)
        return len(answer.get("Versions", []))

    def body(self, key: str, region: str = "eu-west-1") -> bytes:
        return self.clients.s3(region).get_object(Bucket=self.buckets[region], Key=key)["Body"].read()

    def arrivals(self) -> list[str]:
        """Keys of the destination's events, in order, those not asked for yet."""
        keys = []
        sqs = self.clients.sqs("eu-west-1")
        while messages := sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                keys += [entry["s3"]["object"]["key"] for entry in json.loads(message["Body"]).get("Records", [])]
                sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return keys

    def _tell_of_arrivals(self, number: int) -> None:
        sqs = self.clients.sqs("eu-west-1")
        self.queue_url = sqs.create_queue(QueueName=f"arrivals{number}")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        self.clients.s3("eu-west-1").put_bucket_notification_configuration(
            Bucket=self.buckets["eu-west-1"],
            NotificationConfiguration={
                "QueueConfigurations": [{"Id": "app", "QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]
            },
        )


@pytest.fixture
def pair(clients: Clients, tmp_path: Path) -> Iterator[Pair]:
    """Two buckets that replicate to each other as soon as the test starts a replicator."""
    made = Pair(clients, tmp_path)
    made.create()
    yield made
    for replicator in made.running:
        replicator.stop(wait=False)


def _location(region: str) -> dict[str, Any]:
    return {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
