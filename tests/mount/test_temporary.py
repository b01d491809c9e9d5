"""Names of temporary files: they reach no log, and nothing that a person may have meant is kept out in silence."""

from __future__ import annotations

import errno
import logging
from typing import Any

import pytest

from memolith.clients.working_copy.store_client import Head
from memolith.clients.working_copy.temporary_names import is_local, may_be_meant
from tests.mount.conftest import Desk

MINUTE_S = 61


def left_alone(desk: Desk, seconds: float = MINUTE_S) -> None:
    """Time passes, and the mount does what it does every few seconds."""
    desk.backend.clock.advance(seconds)
    desk.copy.refresh()
    desk.copy.commit_waiting()


@pytest.mark.parametrize(
    "name",
    [
        *(".todo.md.swp", ".todo.md.swo", ".swp", "todo.md~", "#todo.md#", ".#todo.md", ".todo.md.kate-swp"),
        *("todo.md___jb_tmp___", "todo.md___jb_old___", "todo.md.vsctmp", ".goutputstream-X7K2Q1"),
        *(".~lock.todo.md#", "~$todo.md", ".nfs0000000004a1", ".fuse_hidden0000000a"),
        ".memolith-0123456789abcdef",
        *("todo.md.conflict-20261122T052530Z", "todo.md.refused-20261122T052530Z-1"),
    ],
)
def test_a_name_that_only_programs_give_stays_on_the_desk(name: str) -> None:
    assert is_local(f"/notes/{name}")
    assert not may_be_meant(f"/notes/{name}")


@pytest.mark.parametrize(
    "name",
    [
        *("sedX3f9aQ", ".todo.md.Xa81fQ", "todo.md.tmp", "todo.md.temp", "todo.md.tmp.41.1763788000", "todo.md.kWvXzQ"),
        *("tmp.a8Xk2Mq01Z", "tmpk3_9x1ab", ".tmpR4d0mX", "4913", ".x.config", ".app.sqlite", "sedations"),
    ],
)
def test_a_name_that_a_person_may_give_too_stays_on_the_desk_at_first(name: str) -> None:
    assert is_local(f"/notes/{name}")
    assert may_be_meant(f"/notes/{name}")


@pytest.mark.parametrize(
    "name", ["todo.md", ".gitignore", ".memolith-notes", ".env", "x.config", "4914", "tmp", "sed.md", "a~b", "swp"]
)
def test_any_other_name_is_a_memorys(name: str) -> None:
    assert not is_local(f"/notes/{name}")


@pytest.mark.parametrize("name", [".x.config", "plan.tmp", "4913"])
def test_a_file_that_was_meant_though_its_name_looks_temporary_is_a_memory_after_a_minute(
    desk: Desk, name: str
) -> None:
    desk.save(f"/{name}", "mine\n")
    left_alone(desk, 30)
    assert desk.log() == []
    assert desk.copy.attributes(f"/{name}")["state"] == "temporary"
    assert "becomes a memory" in desk.copy.attributes(f"/{name}")["reason"]
    left_alone(desk, 31)
    assert desk.log() == [("created", f"/{name}", "mine\n")]
    desk.append(f"/{name}", "more\n")
    assert desk.log()[1:] == [("modified", f"/{name}", "mine\nmore\n")]


def test_the_minute_begins_again_with_each_write_and_close_and_a_time_that_is_set_does_not_shorten_it(
    desk: Desk,
) -> None:
    desk.save("/todo.md.tmp", "a\n")
    left_alone(desk, 40)
    desk.append("/todo.md.tmp", "b\n")
    desk.copy.set_time("/todo.md.tmp", 0)
    left_alone(desk, 40)
    desk.copy.rename("/todo.md.tmp", "/todo.md")
    assert desk.log() == [("created", "/todo.md", "a\nb\n")]


def test_a_file_that_is_open_still_is_not_taken_for_meant_however_long_it_lasts(desk: Desk) -> None:
    writing = desk.copy.files.create("/todo.md.tmp")
    desk.copy.files.write("/todo.md.tmp", writing, 0, b"half")
    left_alone(desk, 3600)
    assert desk.log() == []
    desk.copy.files.flush("/todo.md.tmp", writing)
    desk.copy.rename("/todo.md.tmp", "/todo.md")
    assert desk.log() == [("created", "/todo.md", "half")]


def test_a_file_that_only_a_program_names_so_never_reaches_the_log_and_that_is_said_once(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.save("/mine~", "mine\n")
    with caplog.at_level(logging.WARNING, "memolith.mount"):
        left_alone(desk)
        left_alone(desk)
    assert [record.getMessage() for record in caplog.records if "/mine~" in record.getMessage()] == [
        "/mine~: only a program's temporary file has such a name: it stays on this machine until it is renamed"
    ]
    assert desk.log() == []
    desk.copy.rename("/mine~", "/mine")
    assert desk.stored() == {"/mine": "mine\n"}


def test_what_is_on_this_machine_alone_stands_in_a_file_of_the_mount(desk: Desk) -> None:
    desk.save("/stored.md", "x")
    desk.save("/a.md~", "backup")
    desk.save("/b.tmp", "new")
    desk.network.down = True
    with pytest.raises(OSError, match="does not answer"):
        desk.save("/c.md", "edit")
    told = desk.history.read("/.memolith/local", 0, 10_000).decode()
    assert [line.split("\t")[:2] for line in told.splitlines()] == [
        ["temporary", "/a.md~"],
        ["temporary", "/b.tmp"],
        ["waiting", "/c.md"],
    ]
    assert "does not answer" in told.splitlines()[2]
    assert desk.history.stat("/.memolith/local").size_bytes == len(told)
    assert desk.history.names("/.memolith") == [("local", False), ("versions", True)]


def test_a_memory_that_is_moved_to_a_name_that_was_meant_is_renamed_after_half_a_minute(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    memory_id = desk.copy.attributes("/plan.md")["memory_id"]
    desk.copy.rename("/plan.md", "/plan.md.tmp")
    assert desk.stored() == {"/plan.md": "plan\n"}
    desk.backend.clock.advance(31)
    assert desk.copy.refresh() == {"/plan.md", "/plan.md.tmp"}
    assert desk.stored() == {"/plan.md.tmp": "plan\n"}
    assert desk.copy.attributes("/plan.md.tmp")["memory_id"] == memory_id
    assert desk.names() == ["plan.md.tmp"]


def test_a_memory_that_was_moved_to_such_a_name_while_nobody_answered_is_renamed_once_somebody_does(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    desk.copy.rename("/plan.md", "/plan.md.tmp")
    desk.network.lost = 3
    desk.backend.clock.advance(31)
    desk.copy.refresh()
    assert desk.names() == ["plan.md.tmp"]
    desk.copy.refresh()
    assert desk.names() == ["plan.md.tmp"]
    assert desk.stored() == {"/plan.md.tmp": "plan\n"}


def test_where_somebody_else_took_the_name_the_file_comes_back(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    desk.copy.rename("/plan.md", "/plan.md.tmp")
    desk.others_write("/plan.md.tmp", "theirs\n")
    left_alone(desk, 31)
    assert desk.read("/plan.md") == "plan\n"
    left_alone(desk)
    assert desk.stored() == {"/plan.md": "plan\n", "/plan.md.tmp": "theirs\n"}
    [kept] = desk.beside("/plan.md.tmp", "conflict")
    assert desk.read(kept) == "plan\n"


def test_a_backup_whose_file_was_written_anew_is_a_memory_of_its_own_after_a_minute(desk: Desk) -> None:
    desk.save("/plan.md", "old\n")
    memory_id = desk.copy.attributes("/plan.md")["memory_id"]
    desk.copy.rename("/plan.md", "/plan.md.tmp")
    desk.save("/plan.md", "new\n")
    left_alone(desk)
    assert desk.stored() == {"/plan.md": "new\n", "/plan.md.tmp": "old\n"}
    assert desk.copy.attributes("/plan.md")["memory_id"] == memory_id


def test_after_kill_9_what_was_closed_is_a_memory_in_the_end_and_what_was_not_is_no_memory(desk: Desk) -> None:
    desk.save("/.x.config", "mine\n")
    writing = desk.copy.files.create("/half.tmp")
    desk.copy.files.write("/half.tmp", writing, 0, b"half")
    desk.die()
    desk.start()
    left_alone(desk, 30)
    assert desk.log() == []
    left_alone(desk, 31)
    assert desk.stored() == {"/.x.config": "mine\n"}
    assert desk.copy.read("/half.tmp", 0, 10) == b"half"


def test_a_clean_end_makes_memories_of_what_nobody_is_at_and_offers_the_rest_again(desk: Desk) -> None:
    desk.save("/.x.config", "mine\n")
    desk.backend.clock.advance(5)
    desk.save("/just.tmp", "just now\n")
    desk.copy.close()
    assert desk.stored() == {"/.x.config": "mine\n"}
    desk.start()
    assert [local.path for local in desk.copy.unsaved.inherited] == ["/just.tmp"]


def moved_on(desk: Desk, *names: str) -> None:
    """Move /plan.md from name to name within half a minute; then time passes."""
    for old, new in zip(("/plan.md", *names), names, strict=False):
        desk.copy.rename(old, new)
    left_alone(desk)


@pytest.mark.parametrize("names", [("/plan.md.tmp", "/b.md"), ("/plan.md~", "/b.md"), ("/plan.tmp", "/b.tmp", "/b.md")])
def test_a_memory_that_is_moved_on_from_a_temporary_name_is_renamed(desk: Desk, names: tuple[str, ...]) -> None:
    desk.save("/plan.md", "plan\n")
    memory_id = desk.copy.attributes("/plan.md")["memory_id"]
    moved_on(desk, *names)
    assert desk.log() == [("created", "/plan.md", "plan\n"), ("modified", "/b.md", "plan\n")]
    assert desk.copy.attributes("/b.md")["memory_id"] == memory_id
    assert desk.names() == ["b.md"]


def test_a_memory_that_is_moved_on_from_a_temporary_name_takes_with_it_what_was_written_there(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    memory_id = desk.copy.attributes("/plan.md")["memory_id"]
    desk.copy.rename("/plan.md", "/plan.md.tmp")
    desk.append("/plan.md.tmp", "more\n")
    desk.copy.rename("/plan.md.tmp", "/b.md")
    left_alone(desk)
    assert desk.stored() == {"/b.md": "plan\nmore\n"}
    assert desk.copy.attributes("/b.md")["memory_id"] == memory_id
    assert desk.names() == ["b.md"]


def written_under_a_temporary_name(desk: Desk, *, listed: bool) -> None:
    """Move /plan.md to /plan.md.tmp and write to it there; another client writes the memory."""
    desk.save("/plan.md", "plan\n")
    desk.copy.rename("/plan.md", "/plan.md.tmp")
    desk.append("/plan.md.tmp", "more\n")
    desk.others_write("/plan.md", "theirs\n")
    if listed:
        desk.copy.refresh()


def kept_beside(desk: Desk) -> None:
    """Move it on to /b.md, which is a conflict: the memory has the other client's text there."""
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        desk.copy.rename("/plan.md.tmp", "/b.md")
    assert told.value.errno == errno.ESTALE
    assert desk.stored() == {"/b.md": "theirs\n"}
    [kept] = desk.beside("/b.md", "conflict")
    assert desk.read(kept) == desk.read("/plan.md.tmp") == "plan\nmore\n"


@pytest.mark.parametrize("listed", [False, True])
def test_what_was_written_under_a_temporary_name_replaces_no_text_of_another_client_as_it_is_moved_on(
    desk: Desk, listed: bool
) -> None:
    written_under_a_temporary_name(desk, listed=listed)
    kept_beside(desk)
    desk.copy.rename("/plan.md.tmp", "/b.md")
    assert desk.stored() == {"/b.md": "plan\nmore\n"}


def test_what_was_written_under_a_temporary_name_replaces_no_text_that_kept_it_from_being_deleted(desk: Desk) -> None:
    written_under_a_temporary_name(desk, listed=False)
    with pytest.raises(OSError, match="does not match") as told:
        desk.copy.unlink("/plan.md.tmp")
    assert told.value.errno == errno.EBUSY
    desk.copy.rename("/plan.md.tmp", "/b.md")
    assert desk.stored() == {"/plan.md": "theirs\n", "/b.md": "plan\nmore\n"}


def test_a_memory_that_is_moved_on_and_whose_new_text_gets_no_answer_is_moved_on_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.save("/plan.md", "plan\n")
    memory_id = desk.copy.attributes("/plan.md")["memory_id"]
    desk.copy.rename("/plan.md", "/plan.md.tmp")
    desk.append("/plan.md.tmp", "more\n")
    update = desk.copy.client.update

    def goes_down(*args: Any, **changes: Any) -> Head:
        moved = update(*args, **changes)
        desk.network.down = True
        return moved

    with monkeypatch.context() as going_down, pytest.raises(OSError, match="does not answer"):
        going_down.setattr(desk.copy.client, "update", goes_down)
        desk.copy.rename("/plan.md.tmp", "/b.md")
    desk.network.down = False
    desk.copy.rename("/plan.md.tmp", "/b.md")
    assert desk.log()[1:] == [("modified", "/b.md", "plan\n"), ("modified", "/b.md", "plan\nmore\n")]
    assert desk.copy.attributes("/b.md")["memory_id"] == memory_id
    assert desk.names() == ["b.md"]


def test_a_memory_that_is_moved_on_from_a_temporary_name_over_another_gives_it_the_text_and_ends(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    desk.save("/b.md", "old\n")
    memory_id = desk.copy.attributes("/b.md")["memory_id"]
    moved_on(desk, "/plan.md.tmp", "/b.md")
    assert desk.stored() == {"/b.md": "plan\n"}
    assert desk.copy.attributes("/b.md")["memory_id"] == memory_id
    assert desk.names() == ["b.md"]


def test_a_memory_that_is_moved_from_one_temporary_name_to_another_is_renamed_to_the_second(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    memory_id = desk.copy.attributes("/plan.md")["memory_id"]
    moved_on(desk, "/plan.tmp", "/b.tmp")
    assert desk.stored() == {"/b.tmp": "plan\n"}
    assert desk.copy.attributes("/b.tmp")["memory_id"] == memory_id
    assert desk.names() == ["b.tmp"]


def test_a_file_that_comes_back_from_two_temporary_names_has_changed_nothing(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    moved_on(desk, "/plan.tmp", "/b.tmp", "/plan.md")
    assert desk.log() == [("created", "/plan.md", "plan\n")]
    assert desk.names() == ["plan.md"]


def test_a_file_that_comes_back_from_a_temporary_name_has_what_was_written_to_it_there(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    desk.copy.rename("/plan.md", "/plan.md~")
    desk.append("/plan.md~", "more\n")
    desk.copy.rename("/plan.md~", "/plan.md")
    left_alone(desk)
    assert desk.log() == [("created", "/plan.md", "plan\n"), ("modified", "/plan.md", "plan\nmore\n")]
    assert desk.names() == ["plan.md"]


def test_a_file_that_was_emptied_under_a_temporary_name_comes_back_empty(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    desk.copy.rename("/plan.md", "/plan.md~")
    desk.copy.files.truncate("/plan.md~", 0)
    desk.copy.rename("/plan.md~", "/plan.md")
    assert desk.stored() == {"/plan.md": ""}


def test_a_memory_that_cannot_be_moved_on_from_a_temporary_name_stays_there_and_comes_back(desk: Desk) -> None:
    desk.save("/plan.md", "plan\n")
    desk.copy.rename("/plan.md", "/plan.md~")
    desk.others_write("/b.md", "theirs\n")
    with pytest.raises(OSError, match="held by another memory"):
        desk.copy.rename("/plan.md~", "/b.md")
    assert desk.names() == ["plan.md~"]
    left_alone(desk)
    assert desk.stored() == {"/plan.md": "plan\n", "/b.md": "theirs\n"}
    assert desk.names() == ["b.md", "plan.md", "plan.md~"]


def test_a_backup_that_is_moved_on_once_its_file_was_written_anew_is_a_memory_of_its_own(desk: Desk) -> None:
    desk.save("/plan.md", "old\n")
    memory_id = desk.copy.attributes("/plan.md")["memory_id"]
    desk.copy.rename("/plan.md", "/plan.md~")
    writing = desk.copy.files.create("/plan.md")
    desk.copy.files.write("/plan.md", writing, 0, b"new\n")
    desk.copy.rename("/plan.md~", "/b.md")
    desk.copy.files.flush("/plan.md", writing)
    desk.copy.files.release("/plan.md", writing)
    left_alone(desk)
    assert desk.stored() == {"/plan.md": "new\n", "/b.md": "old\n"}
    assert desk.copy.attributes("/plan.md")["memory_id"] == memory_id
