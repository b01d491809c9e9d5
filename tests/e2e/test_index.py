"""Ours: the index is never the truth. Rows vanish, writers die; the log stands, and the index is rebuilt from it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.compose import region_on_aws
from memolith.adapters.aws.names import Deployment
from memolith.adapters.memory import RecordingMetrics
from memolith.core import decide
from memolith.core.drafts import Draft
from memolith.core.log_position import LogKey, Slot
from memolith.core.objects.entry import Actor, Operation
from memolith.core.rows.content import MemoryRow
from memolith.wire.freshness import COMPLETE_UNTIL, UNKNOWN
from tests.e2e.conftest import ROOT, until
from tests.e2e.test_freshness import until_complete

pytestmark = pytest.mark.e2e

PREFIX = "memolith-dev"
PAUSE_S = 0.1
"""Between two writes of the load: a rebuild has to fold them as well, on the same machine."""

COMPARED = ("memories", "logs", "paths", "versions", "stores", "keys")


def _scan(aws: Clients, table: str, region: str) -> list[dict[str, Any]]:
    pages = aws.dynamodb(region).get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [item for page in pages for item in page["Items"]]


def _tables(aws: Clients, region: str) -> list[str]:
    """Every table that the region has now, whichever generation serves."""
    pages = aws.dynamodb(region).get_paginator("list_tables").paginate()
    return [name for page in pages for name in page["TableNames"] if name.startswith(f"{PREFIX}-")]


def _rows(aws: Clients, region: str) -> dict[str, list[str]]:
    """What the tables that serve hold, but the marks by which a watermark knows them."""
    (control,) = (one for one in _scan(aws, f"{PREFIX}-control", region) if one["sk"] == {"S": "index"})
    names = {name: f"{PREFIX}-{name}-g{control['serving']['N']}" for name in COMPARED}
    rows = {name: [item for item in _scan(aws, table, region) if "mark" not in item] for name, table in names.items()}
    return {name: sorted(repr(sorted(item.items())) for item in items) for name, items in rows.items()}


def test_a_write_whose_writer_died_after_its_put_is_in_every_regions_index(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients, dev: dict[str, Any]
) -> None:
    memory = sdk[regions[0]].beta.memory_stores.memories.create(store_id, path="/a.md", content="before")
    region = region_on_aws(aws, _deployment(regions, regions[0]), RecordingMetrics())
    view = region.view([MemoryRow.key(store_id, memory.id)])
    head = MemoryRow.from_attributes(view.rows[MemoryRow.key(store_id, memory.id)])
    draft = Draft(region.new_id("memver"), memory.id, Actor("api_key", "test"), region.clock.now_us())
    commit = decide.Commit(Operation.MODIFIED, "/a.md", "after")
    entry = decide.follows(draft, head, LogKey(store_id, head.path_hash, Slot.parse(head.slot).following), commit)
    region.objects.put_if_absent(str(entry.key), b"after", entry.to_metadata(), entry.content_sha256)
    for name in regions:
        memories = sdk[name].beta.memory_stores.memories
        until(lambda m=memories: _content(m, store_id, memory.id) == "after")  # type: ignore[misc]  # a lambda with a default has no type


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
        while not stop.wait(PAUSE_S):
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
        for table in _tables(aws, there):
            for item in _scan(aws, table, there):
                aws.dynamodb(there).delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})
        with pytest.raises(anthropic.InternalServerError):
            list(sdk[there].beta.memory_stores.memories.list(store_id))
        _rebuild(there)
    finally:
        stop.set()
        writer.join()
    assert acknowledged
    until(lambda: _rows(aws, here) == _rows(aws, there), within_s=60)
    for memory_id, content in acknowledged.items():
        assert _content(sdk[there].beta.memory_stores.memories, store_id, memory_id) == content


def _rebuild(region: str) -> None:
    command = [sys.executable, "-m", "memolith.clients.cli", "index", "rebuild", "--region", region, "--settle-s", "3"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)


class Load(threading.Thread):
    """Updates one memory after another through one region, and keeps what it was told."""

    def __init__(self, sdk: Anthropic, store_id: str) -> None:
        super().__init__()
        self.memories, self.store_id = sdk.beta.memory_stores.memories, store_id
        self.ids = [self.memories.create(store_id, path=f"/n/{number}.md", content="0").id for number in range(5)]
        self.acknowledged: list[str] = []
        self.refused: Counter[int] = Counter()
        self._over = threading.Event()

    def run(self) -> None:
        number = 0
        while not self._over.wait(PAUSE_S):
            number += 1
            try:
                chosen = self.ids[number % len(self.ids)]
                written = self.memories.update(chosen, memory_store_id=self.store_id, content=str(number))
                self.acknowledged.append(written.memory_version_id)
            except anthropic.APIStatusError as error:
                self.refused[error.status_code] += 1

    def stop(self) -> None:
        self._over.set()
        self.join()


def test_a_region_all_of_whose_tables_were_dropped_is_made_anew_by_one_command_while_writes_go_on(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], aws: Clients, dev: dict[str, Any]
) -> None:
    """Those outside the generations too: which tables serve, and what this home has acknowledged and not published."""
    here, there = regions[:2]
    loads = [Load(sdk[home], sdk[home].beta.memory_stores.create(name=home).id) for home in (here, there)]
    for load in loads:
        load.start()
    try:
        for load in loads:
            until(lambda load=load: len(load.acknowledged) > 5)  # type: ignore[misc]  # a lambda with a default has no type
        _drop(aws, there)
        with pytest.raises(anthropic.InternalServerError) as refused:
            sdk[there].beta.memory_stores.list()
        assert refused.value.response.headers[COMPLETE_UNTIL] == UNKNOWN
        _rebuild(there)
        resumed = len(loads[1].acknowledged)
        until(lambda: len(loads[1].acknowledged) > resumed)
    finally:
        for load in loads:
            load.stop()
    assert 503 in loads[1].refused
    assert loads[1].refused.keys() <= {503, 504}, "504: of a write under way, nobody knows"
    assert not loads[0].refused
    now_us = time.time_ns() // 1000
    for name in regions:
        until_complete(aws, dev, sdk, name, now_us)
    until(lambda: _rows(aws, here) == _rows(aws, there), within_s=60)
    for load in loads:
        for name in regions:
            versions = sdk[name].beta.memory_stores.memory_versions.list(load.store_id, limit=100)
            assert set(load.acknowledged) <= {version.id for version in versions}


def _drop(aws: Clients, region: str) -> None:
    """Every table of the region, as somebody does who may lift their protection."""
    dynamodb = aws.dynamodb(region)
    for table in _tables(aws, region):
        dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)
        dynamodb.delete_table(TableName=table)
    assert _tables(aws, region) == []
