"""A text that is altered in one region's bucket is answered true there, rings, and `memolith repair` restores it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from anthropic import Anthropic, NotFoundError

from memolith.adapters.aws.clients import Clients
from scripts.local_cloud.aws import Clients as EveryClient
from tests.e2e.conftest import ROOT, until

pytestmark = pytest.mark.e2e

TRUE, FALSE = "the true text of the damaged memory", "a false text that nobody wrote"


def shows(client: Anthropic, store_id: str, memory_id: str) -> bool:
    try:
        found = client.beta.memory_stores.memories.retrieve(memory_id, memory_store_id=store_id, view="full")
    except NotFoundError:
        return False
    return found.content == TRUE


def the_object(aws: Clients, region: str, store_id: str) -> tuple[str, dict[str, Any]] | None:
    """The bucket and the object with the store's one text, once it has arrived in the region."""
    s3 = aws.s3(region)
    for bucket in s3.list_buckets()["Buckets"]:
        if not bucket["Name"].endswith(region):
            continue
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket["Name"]):
            for one in page.get("Contents", []):
                if f"/log/{store_id}/" in one["Key"]:
                    return bucket["Name"], {"Key": one["Key"]}
    return None


def repair(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    command = [sys.executable, "-m", "memolith.clients.cli", "repair", "--json", *arguments]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return ended.returncode, json.loads(ended.stdout)


def watched() -> list[dict[str, str]]:
    """The dimensions of each metric that the alarms on damaged texts add up, as their templates were deployed."""
    templates = [json.loads(path.read_text()) for path in (ROOT / ".memolith" / "cdk.out").rglob("*.template.json")]
    alarms = [one["Properties"] for template in templates for one in template["Resources"].values() if is_alarm(one)]
    metrics = [one["MetricStat"]["Metric"] for alarm in alarms for one in alarm["Metrics"] if "MetricStat" in one]
    return [
        {one["Name"]: one["Value"] for one in metric["Dimensions"]}
        for metric in metrics
        if (metric["Namespace"], metric["MetricName"]) == ("Memolith", "objects_damaged")
    ]


def is_alarm(resource: dict[str, Any]) -> bool:
    named = str(resource.get("Properties", {}).get("AlarmName", ""))
    return resource["Type"] == "AWS::CloudWatch::Alarm" and named.endswith("objects-damaged")


def counted(dev: dict[str, Any], region: str, function: str) -> list[dict[str, str]]:
    """The dimensions of each count of damaged texts in a function's log, in CloudWatch's embedded metric format."""
    logs = EveryClient(dev["endpoint"]).client("logs", region)
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}")
    lines = [event["message"] for page in pages for event in page["events"] if "objects_damaged" in event["message"]]
    found = [json.loads(line[line.index("{") :]) for line in lines]
    return [
        {name: line[name] for name in names}
        for line in found
        for metrics in line["_aws"]["CloudWatchMetrics"]
        for names in metrics["Dimensions"]
        if metrics["Namespace"] == "Memolith" and line["objects_damaged"]
    ]


def test_an_altered_text_is_answered_from_another_region_rings_and_is_repaired(
    dev: dict[str, Any], sdk: dict[str, Anthropic], regions: tuple[str, ...], aws: Clients, store_id: str
) -> None:
    """The emulator evaluates no alarm: what the reader counts is what its region's alarm adds up."""
    home, away = regions[:2]
    reader = dev["regions"][away]["functions"]["reader"]
    made = sdk[home].beta.memory_stores.memories.create(store_id, path="/damaged", content=TRUE)
    until(partial(shows, sdk[away], store_id, made.id))
    bucket, key = until(partial(the_object, aws, away, store_id))
    s3 = aws.s3(away)
    metadata = s3.head_object(Bucket=bucket, **key)["Metadata"]
    s3.put_object(Bucket=bucket, Body=FALSE.encode(), Metadata=metadata, **key)
    assert s3.get_object(Bucket=bucket, **key)["Body"].read() == FALSE.encode()
    assert counted(dev, away, reader) == []
    assert shows(sdk[away], store_id, made.id)
    rang = until(partial(counted, dev, away, reader))
    assert {"service": "reader", "region": away}.items() <= rang[0].items()
    assert rang[0] in watched()
    code, [looked] = repair("--region", away, "--store", store_id, "--dry-run")
    assert (code, looked["outcome"], looked["damage"]) == (1, "damaged", "altered")
    code, [done] = repair("--region", away, "--store", store_id)
    assert (code, done["outcome"]) == (0, "repaired")
    assert s3.get_object(Bucket=bucket, **key)["Body"].read() == TRUE.encode()
    assert repair("--store", store_id) == (0, [])
