"""Files that a program has moved to a backup and written anew, as vim does, where the new text was not stored."""

from __future__ import annotations

import errno

import pytest

from tests.mount.conftest import Desk
from tests.mount.test_in_doubt import silently


@pytest.fixture
def displaced(desk: Desk) -> Desk:
    """A memory "one" whose file was moved to a backup, as vim does before it writes it anew."""
    desk.save("/log.md", "one\n")
    desk.copy.rename("/log.md", "/log.md~")
    return desk


def half_a_minute_later(desk: Desk) -> None:
    """A file that a program has moved to a temporary name, and not written anew, has come back by now."""
    desk.backend.clock.advance(31)
    desk.copy.refresh()


@pytest.mark.parametrize("backup_goes", ["never", "before", "after"])
def test_a_file_written_anew_beside_its_backup_without_an_answer_and_deleted_does_not_come_back(
    displaced: Desk, backup_goes: str
) -> None:
    displaced.network.lost = 2
    silently(displaced, "two\n", append=False)
    if backup_goes == "before":
        displaced.copy.unlink("/log.md~")
    displaced.copy.unlink("/log.md")
    assert displaced.stored() == {}
    if backup_goes == "after":
        displaced.copy.unlink("/log.md~")
    half_a_minute_later(displaced)
    assert displaced.names() == (["log.md~"] if backup_goes == "never" else [])
    assert [operation for operation, _, _ in displaced.log()] == ["created", "modified", "deleted"]


def test_a_file_written_anew_beside_its_backup_that_never_arrived_and_is_deleted_comes_back_from_the_backup(
    displaced: Desk,
) -> None:
    displaced.network.swallowed = 2
    silently(displaced, "two\n", append=False)
    displaced.copy.unlink("/log.md")
    displaced.copy.rename("/log.md~", "/log.md")
    half_a_minute_later(displaced)
    assert displaced.read("/log.md") == "one\n"
    assert displaced.log() == [("created", "/log.md", "one\n")]


def test_a_file_written_anew_beside_its_backup_that_others_have_changed_is_not_deleted(displaced: Desk) -> None:
    displaced.network.lost = 2
    silently(displaced, "two\n", append=False)
    displaced.others_write("/log.md", "theirs\n")
    displaced.copy.unlink("/log.md")
    half_a_minute_later(displaced)
    assert displaced.read("/log.md") == "theirs\n"


def test_a_file_written_anew_beside_its_backup_and_deleted_before_its_first_close_asks_the_store_nothing(
    displaced: Desk,
) -> None:
    writing = displaced.copy.files.create("/log.md")
    displaced.copy.files.write("/log.md", writing, 0, b"two\n")
    before = displaced.requests()
    displaced.copy.unlink("/log.md")
    assert displaced.requests() == before


def test_a_file_written_anew_that_is_deleted_after_its_backup_does_not_come_back(displaced: Desk) -> None:
    displaced.network.swallowed = 2
    silently(displaced, "two\n", append=False)
    displaced.copy.unlink("/log.md~")
    displaced.copy.unlink("/log.md")
    half_a_minute_later(displaced)
    assert (displaced.names(), displaced.stored()) == ([], {})


def test_a_file_written_anew_is_one_version_of_its_memory_though_its_backup_is_deleted_before_the_close(
    displaced: Desk,
) -> None:
    writing = displaced.copy.files.create("/log.md")
    displaced.copy.files.write("/log.md", writing, 0, b"two\n")
    displaced.copy.unlink("/log.md~")
    displaced.copy.files.flush("/log.md", writing)
    displaced.copy.files.release("/log.md", writing)
    assert displaced.log() == [("created", "/log.md", "one\n"), ("modified", "/log.md", "two\n")]


def test_a_backup_that_is_moved_back_over_a_text_that_never_arrived_is_the_file_again(displaced: Desk) -> None:
    displaced.network.swallowed = 2
    silently(displaced, "two\n", append=False)
    displaced.copy.rename("/log.md~", "/log.md")
    displaced.copy.commit_waiting(all=True)
    assert (displaced.read("/log.md"), displaced.names()) == ("one\n", ["log.md"])
    assert displaced.log() == [("created", "/log.md", "one\n")]


def test_a_backup_that_is_moved_back_over_a_file_that_is_still_being_written_is_the_file_again(displaced: Desk) -> None:
    writing = displaced.copy.files.create("/log.md")
    displaced.copy.files.write("/log.md", writing, 0, b"tw")
    displaced.copy.rename("/log.md~", "/log.md")
    displaced.copy.files.release("/log.md", writing)
    displaced.copy.commit_waiting(all=True)
    assert (displaced.read("/log.md"), displaced.names()) == ("one\n", ["log.md"])
    assert displaced.log() == [("created", "/log.md", "one\n")]


def test_a_backup_that_is_moved_back_over_a_text_that_the_store_has_taken_is_kept_beside_it(displaced: Desk) -> None:
    displaced.network.lost = 2
    silently(displaced, "two\n", append=False)
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        displaced.copy.rename("/log.md~", "/log.md")
    assert told.value.errno == errno.ESTALE
    assert displaced.read("/log.md") == "two\n"
    assert displaced.read(displaced.beside("/log.md", "conflict")[0]) == "one\n"
