"""What ``memolith sync`` sees of a folder's files: changed, left alone, or only seeming to be gone."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memolith.adapters.system import SystemClock
from memolith.clients.cli.failures import Exit
from memolith.clients.sync.folder import Stamp, SyncFolder
from memolith.clients.working_copy.conditional_commit import Committed, ConditionalCommit, Edit
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import files, memories, synced
from tests.unit.clients.transfers.reports import fill


def test_a_file_that_was_only_touched_is_read_again_and_not_sent(desk: Desk, folder: Path) -> None:
    os.utime(folder / "a.md")
    assert synced(desk, folder) == {}
    assert len(desk.json("log", desk.store, "/a.md")) == 1


def test_a_file_that_is_written_while_it_is_sent_is_sent_again(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = ConditionalCommit.commit

    def commits_while_somebody_writes(self: ConditionalCommit, edit: Edit) -> Committed:
        done = commit(self, edit)
        fill(folder, {edit.path[1:]: "written meanwhile"})
        return done

    fill(folder, {"a.md": "mine"})
    with monkeypatch.context() as patch:
        patch.setattr(ConditionalCommit, "commit", commits_while_somebody_writes)
        assert synced(desk, folder) == {"/a.md": "sent"}
    assert synced(desk, folder) == {"/a.md": "sent"}
    assert memories(desk)["a.md"] == files(folder)["a.md"] == "written meanwhile"


def test_a_file_of_another_text_and_the_same_size_and_time_is_seen(desk: Desk, folder: Path) -> None:
    was = (folder / "a.md").stat()
    fill(folder, {"a.md": "eno\n"})
    os.utime(folder / "a.md", ns=(was.st_atime_ns, was.st_mtime_ns))
    assert synced(desk, folder) == {"/a.md": "sent"}
    assert memories(desk)["a.md"] == "eno\n"


def test_a_file_that_was_written_in_the_moment_in_which_it_was_looked_at_is_looked_at_again(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk's clock may stand still between a look and a write: the same size and times prove nothing then."""
    stamped = Stamp(4, time.time_ns(), time.time_ns())
    monkeypatch.setattr(SyncFolder, "_stamp", lambda self, path: stamped)
    assert synced(desk, folder) == {}
    fill(folder, {"a.md": "eno\n"})
    assert synced(desk, folder) == {"/a.md": "sent"}
    assert memories(desk)["a.md"] == "eno\n"


def test_a_file_that_was_left_alone_is_not_read_again(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_ago = Stamp(4, 1_000, 1_000)
    monkeypatch.setattr(SyncFolder, "_stamp", lambda self, path: long_ago)
    assert synced(desk, folder) == {}
    fill(folder, {"a.md": "eno\n"})
    assert synced(desk, folder) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", [".x.config", "plan.tmp"])
def test_a_file_that_was_meant_though_its_name_looks_temporary_is_sent_once_it_was_left_alone_for_a_minute(
    desk: Desk, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, {name: "mine"})
    told = json.loads(desk.ok("sync", desk.store, str(folder), "--json"))["rows"]
    assert [(row["path"], row["result"]) for row in told] == [(f"/{name}", "local")]
    assert "once it was left alone for a minute" in told[0]["reason"]
    changed = (folder / name).stat().st_ctime
    monkeypatch.setattr(SystemClock, "now_us", lambda self: int((changed + 61) * 1_000_000))
    assert synced(desk, folder) == {f"/{name}": "sent"}
    fill(folder, {name: "mine, changed"})
    assert synced(desk, folder) == {f"/{name}": "sent"}


def test_a_file_that_cannot_be_read_or_is_a_link_now_is_not_one_that_was_deleted(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, {"c.md": "three\n"})
    synced(desk, folder)
    (folder / "a.md").rename(folder / "elsewhere")
    (folder / "a.md").symlink_to("elsewhere")
    (folder / "n").rename(folder / "m")
    (folder / "n").symlink_to("m")
    os.utime(folder / "c.md")
    read = Path.read_bytes

    def cannot_be_read(path: Path) -> bytes:
        if path.name == "c.md":
            raise PermissionError(errno.EACCES, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", cannot_be_read)
    rows = synced(desk, folder, code=Exit.IN_PART)
    assert {path for path, result in rows.items() if result == "left out"} == {"/a.md", "/n", "/c.md"}
    assert {"a.md": "one\n", "n/b.md": "two\n", "c.md": "three\n"}.items() <= memories(desk).items()


def test_a_file_that_is_too_large_for_a_memory_is_left_out_and_not_read(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (folder / "film.mov").open("wb") as film:
        film.truncate(200_000)
    fill(folder, {"a.md": "mine\n"})
    read = Path.read_bytes

    def small_ones_alone(path: Path) -> bytes:
        assert path.name != "film.mov"
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", small_ones_alone)
    _, out, _ = desk.run("sync", desk.store, str(folder))
    assert "left out  /film.mov: larger than 102,400 bytes (200,000)\n" in out
    assert synced(desk, folder, code=Exit.IN_PART) == {"/film.mov": "left out"}
    assert memories(desk) == {"a.md": "mine\n", "n/b.md": "two\n"}


def test_a_file_that_vanishes_while_its_folder_is_listed_is_no_reason_to_delete_the_others(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the temporary file of an editor that is at work there does."""
    fill(folder, {"n/0-gone.md": "", "n/z.md": "last\n"})
    synced(desk, folder)
    scandir = os.scandir

    @contextmanager
    def scanning(path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(path) as listed:
            children = sorted(listed, key=lambda child: child.name)
            if Path(path).name == "n":
                (folder / "n" / "0-gone.md").unlink()
            yield iter(children)

    monkeypatch.setattr(os, "scandir", scanning)
    assert synced(desk, folder) == {"/n/0-gone.md": "deleted"}
    assert set(memories(desk)) == {"a.md", "n/b.md", "n/z.md"}


def test_a_file_that_an_editor_moves_away_for_a_moment_is_not_deleted_in_the_store(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = desk.json("cat", desk.store, "/a.md")["id"]
    (folder / "a.md").rename(folder / "a.md~")
    monkeypatch.setattr(SystemClock, "pause", lambda self, seconds: fill(folder, {"a.md": "saved\n"}))
    assert synced(desk, folder) == {"/a.md~": "local"}
    assert synced(desk, folder) == {"/a.md": "sent", "/a.md~": "local"}
    assert desk.json("cat", desk.store, "/a.md")["id"] == memory
    assert [row["operation"] for row in desk.json("log", desk.store, "/a.md")] == ["modified", "created"]
