"""What was erased is gone from the whole local cloud: every S3 version, every row, every file."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, NotFoundError

from memolith.adapters.aws.clients import Clients
from tests.e2e.conftest import ROOT, until

pytestmark = pytest.mark.e2e

MARK = "zq7wexr4"
TEXT, PATH = f"nothing but {MARK} text", f"/{MARK}-path/note"
PUBLIC = "/public/note"


def needles(*texts: str) -> list[bytes]:
    """As they are, and as object metadata has them."""
    encoded = [base64.urlsafe_b64encode(text.encode())[: len(text)] for text in texts]
    return [text.encode() for text in texts] + encoded


def remains(aws: Clients, dev: dict[str, Any], wanted: list[bytes]) -> list[str]:
    """Where any of it stands: buckets with all their versions, tables, and the files of the local cloud."""
    places = [place for region in dev["regions"] for place in (*_objects(aws, region), *_rows(aws, region))]
    return [place for place, data in (*places, *_files()) if any(needle in data for needle in wanted)]


def _files() -> Iterator[tuple[str, bytes]]:
    """What is there of them: the emulator's functions make and remove their folders meanwhile."""
    for folder, _, names in os.walk(ROOT / ".memolith"):
        for path in (Path(folder, name) for name in names):
            with suppress(FileNotFoundError):
                if path.is_file():
                    yield str(path), path.read_bytes()


def _objects(aws: Clients, region: str) -> Iterator[tuple[str, bytes]]:
    s3 = aws.s3(region)
    for bucket in s3.list_buckets()["Buckets"]:
        name = bucket["Name"]
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=name):
            for version in page.get("Versions", []):
                try:
                    found = s3.get_object(Bucket=name, Key=version["Key"], VersionId=version["VersionId"])
                except s3.exceptions.ClientError as error:
                    if error.response["Error"]["Code"] != "NoSuchVersion":
                        raise
                    continue
                yield f"{name}/{version['Key']}", found["Body"].read() + json.dumps(found["Metadata"]).encode()


def _rows(aws: Clients, region: str) -> Iterator[tuple[str, bytes]]:
    dynamo: Any = aws.dynamodb(region)
    for page in dynamo.get_paginator("list_tables").paginate():
        for table in page["TableNames"]:
            for rows in dynamo.get_paginator("scan").paginate(TableName=table):
                yield from ((table, repr(row).encode()) for row in rows["Items"])


def wait_until_everywhere(sdk: dict[str, Anthropic], store: str, memory_id: str, content: str) -> None:
    def shows_it(client: Anthropic) -> bool:
        try:
            found = client.beta.memory_stores.memories.retrieve(memory_id, memory_store_id=store)
        except NotFoundError:
            return False
        return found.content == content

    for client in sdk.values():
        until(partial(shows_it, client))


@pytest.mark.parametrize("asked", [0, 1])
def test_after_a_redaction_neither_text_nor_path_is_anywhere(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], aws: Clients, dev: dict[str, Any], store_id: str, asked: int
) -> None:
    memories = sdk[regions[0]].beta.memory_stores.memories
    text, path = f"{TEXT} {asked}", f"{PATH}-{asked}"
    made = memories.create(store_id, path=path, content=text)
    memories.update(made.id, memory_store_id=store_id, content="harmless", path=f"{PUBLIC}-{asked}")
    wait_until_everywhere(sdk, store_id, made.id, "harmless")
    assert remains(aws, dev, needles(text, path)), "a search that finds nothing before shows nothing after"
    sdk[regions[asked]].beta.memory_stores.memory_versions.redact(made.memory_version_id, memory_store_id=store_id)
    until(lambda: not remains(aws, dev, needles(text, path)), within_s=60)


def test_of_a_deleted_store_nothing_is_left_anywhere_and_every_region_says_so_by_itself(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], aws: Clients, dev: dict[str, Any]
) -> None:
    """What the sweep does by its schedule: the test asks, and asks for nothing."""
    text, path, name = f"{TEXT} of a store", f"{PATH}-of-a-store", f"{MARK} store"
    stores = sdk[regions[0]].beta.memory_stores
    store = stores.create(name=name)
    made = stores.memories.create(store.id, path=path, content=text)
    stores.memories.update(made.id, memory_store_id=store.id, path=f"{path}/moved")
    wait_until_everywhere(sdk, store.id, made.id, text)
    assert remains(aws, dev, needles(name))
    stores.delete(store.id)
    until(lambda: _states(store.id) == dict.fromkeys(regions, "erased"), within_s=240)
    assert _memolith("verify", store.id) == []
    assert remains(aws, dev, needles(text, path, name)) == []


def _states(store_id: str) -> dict[str, str]:
    return {row["region"]: row["state"] for row in _memolith("status", store_id)}


def _memolith(*words: str) -> list[dict[str, Any]]:
    """What ``memolith erasure`` answers; its exit code is 0."""
    command = [sys.executable, "-m", "memolith.clients.cli", "erasure", *words, "--json"]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows: list[dict[str, Any]] = json.loads(told)
    return rows
