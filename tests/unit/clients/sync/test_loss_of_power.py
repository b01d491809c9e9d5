"""What ``memolith sync`` remembers of a file is true after a loss of power too: the disk has the file first."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import memories, synced
from tests.unit.clients.transfers.reports import fill

REMEMBERED = "sync.json"


@pytest.fixture
def on_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reached the disk, in order: files and folders by their path in the folder, and the new ``sync.json``."""
    found: list[str] = []
    fsync, replace = os.fsync, os.replace

    def syncs(descriptor: int) -> None:
        inode = os.fstat(descriptor).st_ino
        names = {place.stat().st_ino: place for place in [folder, *folder.rglob("*")]}
        found.append(str(names[inode].relative_to(folder)))
        fsync(descriptor)

    def replaces(old: Any, new: Any) -> None:
        replace(old, new)
        if Path(new).name == REMEMBERED:
            found.append(REMEMBERED)

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", None, raising=False)
    monkeypatch.setattr(os, "fsync", syncs)
    monkeypatch.setattr(os, "replace", replaces)
    return found


def test_a_file_that_is_fetched_is_on_the_disk_before_it_is_remembered(
    desk: Desk, folder: Path, on_disk: list[str]
) -> None:
    desk.put("/a.md", "one, there\n")
    desk.put("/new/deep/c.md", "three\n")
    assert synced(desk, folder) == {"/a.md": "fetched", "/new/deep/c.md": "fetched"}
    *before, remembers, last = on_disk
    assert (sorted(before), last) == ([".", "a.md", "new", "new/deep", "new/deep/c.md"], REMEMBERED)
    assert remembers.startswith(".memolith/new-")


def test_a_file_that_is_sent_is_on_the_disk_before_it_is_remembered(
    desk: Desk, folder: Path, on_disk: list[str]
) -> None:
    """An editor need not have waited for the disk. A file that lost its text would be sent, empty, as an edit."""
    fill(folder, {"a.md": "one, here\n"})
    assert synced(desk, folder) == {"/a.md": "sent"}
    assert sorted(on_disk[:-2]) == [".", "a.md"]


def test_a_text_that_is_kept_beside_is_on_the_disk_before_its_path_is_remembered(
    desk: Desk, folder: Path, on_disk: list[str]
) -> None:
    fill(folder, {"a.md": "one, here\n"})
    desk.put("/a.md", "one, there\n")
    synced(desk, folder, code=Exit.IN_PART)
    [kept] = [place.name for place in folder.glob("a.md.conflict-*")]
    assert sorted(on_disk[:-2]) == [".", "a.md", kept]


def test_a_file_that_is_removed_is_gone_from_the_disk_before_it_is_forgotten(
    desk: Desk, folder: Path, on_disk: list[str]
) -> None:
    """A file that came back would be sent, as a new memory."""
    desk.ok("rm", desk.store, "/a.md")
    assert synced(desk, folder) == {"/a.md": "removed"}
    assert on_disk[:-2] == ["."]


def test_a_pass_that_changes_nothing_writes_nothing(desk: Desk, folder: Path, on_disk: list[str]) -> None:
    for name in ("a.md", "n/b.md"):
        os.utime(folder / name, ns=(10**18, 10**18))
    synced(desk, folder)
    on_disk.clear()
    assert synced(desk, folder) == {}
    assert on_disk == []


def test_what_the_disk_does_not_take_is_not_remembered(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder / ".memolith/sync.json").read_text()
    fill(folder, {"a.md": "one, here\n"})

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        ended, told, error = desk.run("sync", desk.store, str(folder))
    assert ended == Exit.FAILED and "/a.md" in told
    assert str(folder) in error and "cannot be used: Input/output error" in error
    assert (folder / ".memolith/sync.json").read_text() == before
    assert synced(desk, folder) == {}
    assert memories(desk)["a.md"] == "one, here\n"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_disk_that_has_no_such_call_is_synced_all_the_same(
    desk: Desk, folder: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(descriptor: int) -> None:
        raise OSError(number, "not here")

    monkeypatch.setattr(os, "fsync", unknown)
    fill(folder, {"a.md": "one, here\n"})
    assert synced(desk, folder) == {"/a.md": "sent"}
    assert synced(desk, folder) == {}
