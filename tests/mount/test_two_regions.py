"""One store in two regions at once, replicas late and in any order: a working copy in each."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cairn.adapters.memory import ManualClock, RecordingMetrics, SeededRandomness
from cairn.clients.desk.contents import Contents
from cairn.clients.desk.http_client import HttpStoreClient
from cairn.clients.desk.shelf import Shelf
from cairn.clients.desk.working_copy import WorkingCopy
from cairn.wire.http import HttpApi
from tests.api.harness import BASE_URL
from tests.api.transport import Gateway
from tests.mount.conftest import DeskClock
from tests.support.cloud import Cloud

REGIONS = ("us-east-1", "eu-west-1")
APPENDS = 200
AT_ONCE = 8


class TwoRegions:
    """A cloud whose regions answer one request at a time, and which delivers some of what is under way after each."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.cloud = Cloud(REGIONS, clock=self.clock)
        self.key = self.cloud.key()
        self._lock, self._chance = threading.RLock(), random.Random(7)
        store = self.cloud.sites[REGIONS[0]].cairn.create_store(
            self.cloud.call(self.key), name="Notes", description="", metadata={}
        )
        self.store_id = store.id
        self.cloud.deliver()
        self.copies = [self._copy(region, folder / region) for region in REGIONS]

    def _copy(self, region: str, folder: Path) -> WorkingCopy:
        api = HttpApi(self.cloud.sites[region].cairn, self.clock, SeededRandomness(), RecordingMetrics())

        def answer(event: Mapping[str, Any]) -> dict[str, Any]:
            with self._lock:
                self.clock.advance(0.001)
                told = dict(api.answer(event))
                while self.cloud.pending and self._chance.random() < 0.5:
                    self.cloud.deliver_one(self._chance.randrange(len(self.cloud.pending)))
                return told

        clock = DeskClock(self.clock)
        client = HttpStoreClient(BASE_URL, self.key, self.store_id, clock, Gateway(answer))
        contents, shelf = Contents(folder / "contents"), Shelf(folder / "local")
        copy = WorkingCopy(client, contents, shelf, clock, SeededRandomness())
        copy.start()
        return copy

    def settle(self) -> None:
        """Everything has arrived everywhere, and both copies know."""
        self.cloud.deliver()
        for copy in self.copies:
            copy.refresh()


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoRegions]:
    two = TwoRegions(tmp_path)
    yield two
    for copy in two.copies:
        copy.close()


def append(copy: WorkingCopy, path: str, line: str) -> None:
    """As ``echo line >> path`` does."""
    exists = copy.state.find(path) is not None
    writing = copy.open_to_write(path, append=True) if exists else copy.create(path, append=True)
    try:
        copy.write(path, writing, 0, f"{line}\n".encode())
        copy.flush(path, writing)
    finally:
        copy.release(path, writing)


def text(copy: WorkingCopy, path: str) -> str:
    return copy.read(path, 0, 1_000_000).decode()


def test_a_line_appended_in_one_region_shows_in_the_other(two: TwoRegions) -> None:
    here, there = two.copies
    append(here, "/shared.md", "first")
    two.settle()
    append(there, "/shared.md", "second")
    two.settle()
    assert text(here, "/shared.md") == text(there, "/shared.md") == "first\nsecond\n"


def test_two_hundred_appends_from_both_regions_at_once_lose_nothing_that_returned_success(two: TwoRegions) -> None:
    def one(number: int) -> str | None:
        try:
            append(two.copies[number % 2], "/log.md", f"line {number}")
        except OSError:
            return None
        return f"line {number}"

    with ThreadPoolExecutor(AT_ONCE) as threads:
        acknowledged = [line for line in threads.map(one, range(APPENDS)) if line is not None]
    two.settle()
    lines = text(two.copies[0], "/log.md").splitlines()
    assert set(acknowledged) <= set(lines)
    assert len(lines) == len(set(lines))
    assert len(acknowledged) > APPENDS // 2
    assert text(two.copies[1], "/log.md").splitlines() == lines
