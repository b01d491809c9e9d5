"""A text that is altered in one region's bucket is answered true there, and `memolith repair` restores it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from anthropic import Anthropic, NotFoundError

from memolith.adapters.aws.clients import Clients
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


def test_an_altered_text_is_answered_from_another_region_and_repaired(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], aws: Clients, store_id: str
) -> None:
    home, away = regions[:2]
    made = sdk[home].beta.memory_stores.memories.create(store_id, path="/damaged", content=TRUE)
    until(partial(shows, sdk[away], store_id, made.id))
    bucket, key = until(partial(the_object, aws, away, store_id))
    s3 = aws.s3(away)
    metadata = s3.head_object(Bucket=bucket, **key)["Metadata"]
    s3.put_object(Bucket=bucket, Body=FALSE.encode(), Metadata=metadata, **key)
    assert s3.get_object(Bucket=bucket, **key)["Body"].read() == FALSE.encode()
    assert shows(sdk[away], store_id, made.id)
    code, [looked] = repair("--region", away, "--store", store_id, "--dry-run")
    assert (code, looked["outcome"], looked["damage"]) == (1, "damaged", "altered")
    code, [done] = repair("--region", away, "--store", store_id)
    assert (code, done["outcome"]) == (0, "repaired")
    assert s3.get_object(Bucket=bucket, **key)["Body"].read() == TRUE.encode()
    assert repair("--store", store_id) == (0, [])
