"""Ours: the index is never the truth. Rows vanish, writers die; the log stands, and the index is rebuilt from it."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from cairn.adapters.aws.clients import Clients
from cairn.adapters.aws.compose import region_on_aws
from cairn.adapters.aws.names import Deployment
from cairn.adapters.memory import RecordingMetrics
from cairn.core import decide
from cairn.core.records import Actor, Operation
from cairn.core.rows import MemoryRow
from cairn.core.slots import LogKey, Slot
from tests.e2e.conftest import ROOT, until

pytestmark = pytest.mark.e2e

COMPARED = ("memories", "logs", "paths", "versions", "stores", "keys")


def _scan(aws: Clients, table: str, region: str) -> list[dict[str, Any]]:
    pages = aws.dynamodb(region).get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [item for page in pages for item in page["Items"]]


def _rows(aws: Clients, dev: dict[str, Any], region: str, generation: int) -> dict[str, list[str]]:
    names = {name: f"cairn-dev-{name}-g{generation}" for name in COMPARED}
    return {name: sorted(repr(sorted(item.items())) for item in _scan(aws, names[name], region)) for name in names}


def test_a_write_whose_writer_died_after_its_put_is_in_every_regions_index(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients, dev: dict[str, Any]
) -> None:
    memory = sdk[regions[0]].beta.memory_stores.memories.create(store_id, path="/a.md", content="before")
    region = region_on_aws(aws, _deployment(regions, regions[0]), RecordingMetrics())
    view = region.view([MemoryRow.key(store_id, memory.id)])
    head = MemoryRow.from_attributes(view.rows[MemoryRow.key(store_id, memory.id)])
    draft = decide.Draft(region.new_id("memver"), memory.id, Actor("api_key", "test"), region.clock.now_us())
    commit = decide.Commit(Operation.MODIFIED, "/a.md", "after")
    entry = decide.follows(draft, head, LogKey(store_id, head.path_hash, Slot.parse(head.slot).following), commit)
    region.objects.put_if_absent(str(entry.key), b"after", entry.to_metadata(), entry.content_sha256)
    for name in regions:
        memories = sdk[name].beta.memory_stores.memories
        until(lambda m=memories: _content(m, store_id, memory.id) == "after")  # type: ignore[misc]


def _content(memories: Any, store_id: str, memory_id: str) -> str | None:
    try:
        return str(memories.retrieve(memory_id, memory_store_id=store_id).content)
    except anthropic.NotFoundError:
        return None


def _deployment(regions: tuple[str, ...], region: str) -> Deployment:
    return Deployment("dev", "000000000000", regions, region)


def test_a_region_whose_rows_are_all_deleted_is_rebuilt_equal_to_the_other_while_writes_go_on(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients, dev: dict[str, Any]
) -> None:
    here, there = regions[0], regions[1]
    memories = sdk[here].beta.memory_stores.memories
    ids = [memories.create(store_id, path=f"/n/{number}.md", content="0").id for number in range(20)]
    until(lambda: len(list(sdk[there].beta.memory_stores.memories.list(store_id, limit=100))) == len(ids))
    acknowledged: dict[str, str] = {}
    stop = threading.Event()

    def keep_writing() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            memory_id = ids[number % len(ids)]
            try:
                memories.update(memory_id, memory_store_id=store_id, content=str(number))
                acknowledged[memory_id] = str(number)
            except anthropic.APIStatusError:
                pass

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        for table in dev["regions"][there]["tables"].values():
            for item in _scan(aws, table, there):
                aws.dynamodb(there).delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})
        with pytest.raises(anthropic.InternalServerError):
            list(sdk[there].beta.memory_stores.memories.list(store_id))
        command = [sys.executable, "-m", "cairn.clients.cli", "index", "rebuild", "--region", there, "--settle-s", "3"]
        subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    finally:
        stop.set()
        writer.join()
    assert acknowledged
    until(lambda: _rows(aws, dev, here, 1) == _rows(aws, dev, there, 2), within_s=60)
    for memory_id, content in acknowledged.items():
        assert _content(sdk[there].beta.memory_stores.memories, store_id, memory_id) == content
