"""What a dead mount and a lost network leave: nothing that was acknowledged is lost, and the rest is offered again."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from tests.mount.conftest import Desk


def test_an_edit_that_got_no_answer_waits_in_its_place_and_is_written_when_the_store_answers(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.network.down = True
    with pytest.raises(OSError, match="does not answer") as silent:
        desk.save("/a.md", "two")
    assert silent.value.errno == errno.EIO
    assert desk.read("/a.md") == "two"
    assert desk.copy.attributes("/a.md")["state"] == "waiting"
    desk.network.down = False
    desk.backend.clock.advance(3)
    desk.copy.commit_waiting()
    assert desk.stored() == {"/a.md": "two"}
    assert desk.copy.attributes("/a.md")["state"] == "stored"


def test_what_waits_is_offered_again_after_kill_9(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.network.down = True
    with pytest.raises(OSError, match="does not answer"):
        desk.save("/a.md", "two")
    desk.die()
    desk.network.down = False
    desk.start()
    assert desk.read("/a.md") == "two"
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/a.md": "two"}


def test_what_waits_meets_a_conflict_as_any_edit_if_others_wrote_meanwhile(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.network.down = True
    with pytest.raises(OSError, match="does not answer"):
        desk.save("/a.md", "two")
    desk.die()
    desk.network.down = False
    desk.others_write("/a.md", "theirs")
    desk.start()
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/a.md": "theirs"}
    assert desk.read(desk.beside("/a.md", "conflict")[0]) == "two"


def test_what_was_written_and_never_closed_is_put_beside_the_file_after_kill_9(desk: Desk) -> None:
    desk.save("/a.md", "one")
    writing = desk.copy.files.open_to_write("/a.md")
    desk.copy.files.write("/a.md", writing, 3, b" and a half")
    desk.die()
    desk.start()
    assert desk.read("/a.md") == "one"
    [kept] = desk.beside("/a.md", "unsaved")
    assert desk.read(kept) == "one and a half"
    assert desk.stored() == {"/a.md": "one"}


def test_temporary_files_and_texts_kept_beside_are_there_after_kill_9(desk: Desk) -> None:
    desk.save("/.todo.md.swp", "b0VIM")
    with pytest.raises(OSError, match="UTF-8"):
        desk.save("/a.md", b"\xff")
    desk.die()
    desk.start()
    [kept] = desk.beside("/a.md", "refused")
    assert desk.copy.read(kept, 0, 10) == b"\xff"
    assert "UTF-8" in desk.copy.attributes(kept)["reason"]
    assert desk.read("/.todo.md.swp") == "b0VIM"


def test_a_file_that_an_editor_had_moved_away_is_there_after_kill_9(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.copy.rename("/a.md", "/a.md~")
    desk.die()
    desk.start()
    assert desk.names() == ["a.md", "a.md~"]
    assert desk.stored() == {"/a.md": "one"}


def test_a_living_mounts_edits_are_not_taken_over(desk: Desk) -> None:
    desk.save("/.todo.md.swp", "b0VIM")
    first = desk.copy
    desk.start()
    assert desk.names() == []
    desk.copy.close()
    desk.copy = first
    assert desk.names() == [".todo.md.swp"]


def test_a_record_torn_by_a_loss_of_power_stops_nobody_and_its_text_is_left(desk: Desk) -> None:
    desk.save("/.todo.md.swp", "b0VIM")
    desk.die()
    [record] = (desk.folder / "local").glob("*/*.json")
    record.write_text('{"path": "/.to')
    desk.start()
    assert desk.names() == []
    assert record.with_suffix(".text").read_text() == "b0VIM"


def test_what_waits_is_on_the_disk_with_its_record_and_their_folder_before_the_program_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    fsync, replace = os.fsync, os.replace

    def syncs(descriptor: int) -> None:
        inode = os.fstat(descriptor).st_ino
        [name] = [one for one in (desk.folder / "local").rglob("*") if one.stat().st_ino == inode]
        found.append(name.suffix)
        fsync(descriptor)

    def replaces(old: Any, new: Any) -> None:
        replace(old, new)
        found.append(f"as {Path(new).suffix}")

    desk.network.down = True
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", None, raising=False)
    monkeypatch.setattr(os, "fsync", syncs)
    monkeypatch.setattr(os, "replace", replaces)
    with pytest.raises(OSError, match="does not answer"):
        desk.save("/a.md", "one")
    assert found[-4:] == [".text", ".new", "as .json", ""]


def test_a_clean_end_commits_what_waits(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.copy.files.truncate("/a.md", 2)
    desk.copy.close()
    assert desk.stored() == {"/a.md": "on"}
    desk.start()


def test_reading_what_is_here_needs_no_network(desk: Desk) -> None:
    desk.others_write("/a.md", "one")
    desk.copy.refresh()
    assert desk.read("/a.md") == "one"
    desk.network.down = True
    assert desk.read("/a.md") == "one"


def test_a_cached_text_that_the_disk_has_spoilt_is_fetched_again(desk: Desk) -> None:
    desk.others_write("/a.md", "one")
    desk.copy.refresh()
    desk.read("/a.md")
    [cached] = (desk.folder / "contents").glob("??/*")
    cached.write_bytes(b"on")
    assert desk.read("/a.md") == "one"


def test_a_read_only_mount_leaves_what_waits_to_the_next_that_writes(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.network.down = True
    with pytest.raises(OSError, match="does not answer"):
        desk.save("/a.md", "two")
    desk.die()
    desk.network.down = False
    desk.start(read_only=True)
    desk.copy.commit_waiting(all=True)
    assert desk.read("/a.md") == "one"
    desk.copy.close()
    assert desk.stored() == {"/a.md": "one"}
    desk.start()
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/a.md": "two"}


@pytest.mark.parametrize("path", ["/a.md", "/.a.md.swp", "/a.tmp"])
def test_a_file_that_was_deleted_while_it_was_open_is_not_there_after_kill_9(desk: Desk, path: str) -> None:
    writing = desk.copy.files.create(path)
    desk.copy.files.write(path, writing, 0, b"gone")
    desk.copy.unlink(path)
    desk.copy.files.flush(path, writing)
    desk.copy.files.release(path, writing)
    desk.die()
    desk.start()
    assert desk.copy.unsaved.inherited == []
    assert desk.names() == []
