"""One store in two regions at once, replicas late and in any order: a working copy in each."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.memory import ManualClock, RecordingMetrics, SeededRandomness
from memolith.adapters.system import SystemClock
from memolith.clients.working_copy.content_cache import ContentCache
from memolith.clients.working_copy.http_store_client import HttpStoreClient
from memolith.clients.working_copy.unsaved_texts import UnsavedTexts
from memolith.clients.working_copy.working_copy import WorkingCopy
from memolith.wire.http import HttpApi
from tests.api.harness import BASE_URL
from tests.api.loopback import serving
from tests.api.transport import Answer, Gateway
from tests.mount.conftest import DeskClock
from tests.mount.mounted import fuse_is_missing, mounted, until
from tests.support.cloud import Cloud

REGIONS = ("us-east-1", "eu-west-1")
APPENDS = 200
AT_ONCE = 8
WHY_NOT = fuse_is_missing()


class TwoRegions:
    """A cloud whose regions answer one request at a time, and which delivers some of what is under way after each."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.clock.advance((SystemClock().now_us() - self.clock.now_us()) / 1_000_000)  # real mounts have this one
        self.cloud = Cloud(REGIONS, clock=self.clock)
        self.key = self.cloud.key()
        self._lock, self._chance = threading.RLock(), random.Random(7)
        store = self.cloud.sites[REGIONS[0]].memolith.stores.create(
            self.cloud.call(self.key), name="Notes", description="", metadata={}
        )
        self.store_id = store.id
        self.cloud.deliver()
        self.answers = {region: self._answer(region) for region in REGIONS}
        self.copies = [self._copy(region, folder / region) for region in REGIONS]

    def _answer(self, region: str) -> Answer:
        """What the region's API answers, over HTTP or without."""
        api = HttpApi(self.cloud.sites[region].memolith, self.clock, SeededRandomness(), RecordingMetrics())

        def answer(event: Mapping[str, Any]) -> dict[str, Any]:
            with self._lock:
                self.clock.advance(0.001)
                told = dict(api.answer(event))
                while self.cloud.pending and self._delivers():
                    self.cloud.deliver_one(self._chance.randrange(len(self.cloud.pending)))
                return told

        return answer

    def _delivers(self) -> bool:
        return self._chance.random() < 0.5

    def _copy(self, region: str, folder: Path) -> WorkingCopy:
        clock = DeskClock(self.clock)
        client = HttpStoreClient(BASE_URL, self.key, self.store_id, clock, Gateway(self.answers[region]))
        contents, unsaved = ContentCache(folder / "contents"), UnsavedTexts(folder / "local")
        copy = WorkingCopy(client, contents, unsaved, clock, SeededRandomness())
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
    writing = copy.files.open_to_write(path, append=True) if exists else copy.files.create(path, append=True)
    try:
        copy.files.write(path, writing, 0, f"{line}\n".encode())
        copy.files.flush(path, writing)
    finally:
        copy.files.release(path, writing)


def text(copy: WorkingCopy, path: str) -> str:
    return copy.read(path, 0, 1_000_000).decode()


def test_a_line_appended_in_one_region_shows_in_the_other(two: TwoRegions) -> None:
    here, there = two.copies
    append(here, "/shared.md", "first")
    two.settle()
    append(there, "/shared.md", "second")
    two.settle()
    assert text(here, "/shared.md") == text(there, "/shared.md") == "first\nsecond\n"


@pytest.mark.slow
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


def test_an_append_that_the_home_did_and_its_region_has_not_heard_of_is_made_once(
    two: TwoRegions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The region's forwarded request was done at home, and its answer was lost on the way back to the region."""
    here, there = two.copies
    append(here, "/log.md", "one")
    two.settle()
    monkeypatch.setattr(two, "_delivers", lambda: False)
    sent: list[Any] = []
    region = two.answers[REGIONS[1]]

    def lost_on_the_way_back(event: Mapping[str, Any]) -> dict[str, Any]:
        if sent or event["requestContext"]["http"]["method"] == "GET":
            return dict(region(event))
        sent.append(two.answers[REGIONS[0]](event))
        append(here, "/log.md", "three")
        return {"statusCode": 500, "headers": {}, "body": "{}", "isBase64Encoded": False}

    client = HttpStoreClient(BASE_URL, two.key, two.store_id, DeskClock(two.clock), Gateway(lost_on_the_way_back))
    monkeypatch.setattr(there.state, "client", client)
    monkeypatch.setattr(there._commits._committing, "_client", client)
    append(there, "/log.md", "two")
    two.settle()
    assert text(here, "/log.md") == "one\ntwo\nthree\n"


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY_NOT), reason=f"NOTHING IS MOUNTED IN TWO REGIONS: {WHY_NOT}")
def test_two_mounts_in_two_regions_show_each_others_lines_and_no_temporary_name_is_in_the_log(
    two: TwoRegions, tmp_path: Path
) -> None:
    with serving(two.answers[REGIONS[0]]) as one, serving(two.answers[REGIONS[1]]) as other:
        urls = [f"http://127.0.0.1:{port}" for port in (one, other)]
        words = ("--interval", "0.2")
        with (
            mounted(urls[0], two.key, two.store_id, tmp_path / "here", *words) as here,
            mounted(urls[1], two.key, two.store_id, tmp_path / "there", *words) as there,
        ):
            here.ok("mkdir notes && echo first > notes/shared.md")
            until(lambda: there.sh("cat notes/shared.md").out == "first\n")
            there.ok("echo second >> notes/shared.md && sed -i s/first/FIRST/ notes/shared.md")
            until(lambda: here.sh("cat notes/shared.md").out == "FIRST\nsecond\n")
    two.settle()
    versions = two.copies[0].client.versions(two.copies[0].attributes("/notes/shared.md")["memory_id"])
    assert [version.path for version in versions] == ["/notes/shared.md"] * 3
