"""Texts that come many at once can be read before the disk has them, and get there."""

from __future__ import annotations

import threading
from hashlib import sha256
from pathlib import Path

import pytest

from memolith.clients.working_copy import content_cache
from memolith.clients.working_copy.content_cache import ContentCache
from tests.mount.mounted import WITHIN_S

TEXTS = [f"text {number}\n".encode() for number in range(20)]


class SlowDisk(ContentCache):
    """One that writes nothing before it is let to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.writes, self.may_write = threading.Event(), threading.Event()

    def put(self, text: bytes) -> str:
        self.writes.set()
        assert self.may_write.wait(WITHIN_S)
        return super().put(text)


@pytest.fixture
def slow(tmp_path: Path) -> SlowDisk:
    return SlowDisk(tmp_path)


def on_disk(folder: Path) -> set[bytes]:
    return {place.read_bytes() for place in folder.glob("??/*")}


def test_what_comes_with_many_can_be_read_before_the_disk_has_it(slow: SlowDisk, tmp_path: Path) -> None:
    hashes = [slow.put_soon(text) for text in TEXTS]
    assert [slow.get(one) for one in hashes] == TEXTS
    assert all(slow.has(one) for one in hashes)
    assert on_disk(tmp_path) == set()
    slow.may_write.set()
    slow.settle()
    assert on_disk(tmp_path) == set(TEXTS)
    assert [slow.get(one) for one in hashes] == TEXTS


def test_what_is_forgotten_before_the_disk_has_it_never_stays_there(slow: SlowDisk, tmp_path: Path) -> None:
    hashes = [slow.put_soon(text) for text in TEXTS]
    assert slow.writes.wait(WITHIN_S)
    slow.forget(hashes[:5])
    slow.may_write.set()
    slow.settle()
    assert on_disk(tmp_path) == set(TEXTS[5:])
    assert slow.get(hashes[0]) is None


def test_who_brings_more_than_may_be_in_memory_waits_for_the_disk(
    slow: SlowDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_cache, "AHEAD_MAX_BYTES", len(TEXTS[0]))
    slow.put_soon(TEXTS[0])
    bringing = threading.Thread(target=slow.put_soon, args=(TEXTS[1],))
    bringing.start()
    assert slow.writes.wait(WITHIN_S)
    assert not slow.has(sha256(TEXTS[1]).hexdigest())
    slow.may_write.set()
    bringing.join(WITHIN_S)
    slow.settle()
    assert on_disk(tmp_path) == set(TEXTS[:2])
