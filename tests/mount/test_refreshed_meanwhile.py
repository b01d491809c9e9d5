"""The mount's own thread hears of another client's write in the middle of what a program does."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from memolith.clients.working_copy.store_client import Head
from memolith.clients.working_copy.unsaved_texts import LocalText
from tests.mount.conftest import Desk


@pytest.fixture
def unread(desk: Desk) -> Desk:
    """A mount whose table has /a.md, "one", which no program here has read yet."""
    desk.others_write("/a.md", "one\n")
    desk.copy.refresh()
    return desk


def while_its_text_is_read(desk: Desk, text: str) -> None:
    """Let another client write /a.md once, and the mount hear of it, between a read's answer and its use."""
    read = desk.copy.client.text

    def overtaken(memory_id: str) -> tuple[Head, bytes]:
        told = read(memory_id)
        desk.copy.client.text = read  # type: ignore[method-assign]  # the test's own takes its place
        desk.others_write("/a.md", text)
        desk.copy.refresh()
        return told

    desk.copy.client.text = overtaken  # type: ignore[method-assign]  # the test's own takes its place


def after_it_was_not_found(desk: Desk, text: str) -> None:
    """Let another client create /a.md once, and the mount hear of it, after a program has found nothing there."""
    find: Callable[[str], LocalText | Head | None] = desk.copy.state.find

    def overtaken(path: str) -> LocalText | Head | None:
        found = find(path)
        if found is None and desk.copy.state.table.at("/a.md") is None:
            desk.others_write("/a.md", text)
            desk.copy.refresh()
        return found

    desk.copy.state.find = overtaken  # type: ignore[method-assign]  # the test's own takes its place


def test_an_append_to_a_text_that_was_replaced_while_it_was_read_keeps_the_others_line(unread: Desk) -> None:
    while_its_text_is_read(unread, "one\ntheirs\n")
    unread.append("/a.md", "mine\n")
    assert unread.stored() == {"/a.md": "one\ntheirs\nmine\n"}


def test_an_edit_of_a_text_that_was_replaced_while_it_was_read_is_a_conflict(unread: Desk) -> None:
    while_its_text_is_read(unread, "theirs\n")
    writing = unread.copy.files.open_to_write("/a.md")
    unread.copy.files.write("/a.md", writing, 0, b"ONE")
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        unread.copy.files.flush("/a.md", writing)
    assert told.value.errno == errno.ESTALE
    assert unread.stored() == {"/a.md": "theirs\n"}
    assert unread.read(unread.beside("/a.md", "conflict")[0]) == "ONE\n"


def test_a_backup_of_a_text_that_was_replaced_while_it_was_read_deletes_no_newer_text(unread: Desk) -> None:
    while_its_text_is_read(unread, "theirs\n")
    unread.copy.rename("/a.md", "/a.md~")
    assert unread.read("/a.md~") == "one\n"
    with pytest.raises(OSError) as told:
        unread.copy.unlink("/a.md~")
    assert told.value.errno == errno.EBUSY
    assert unread.stored() == {"/a.md": "theirs\n"}


def test_a_backup_that_is_deleted_again_deletes_no_newer_text_and_the_file_shows_that(desk: Desk) -> None:
    desk.save("/a.md", "one\n")
    desk.copy.rename("/a.md", "/a.md~")
    desk.others_write("/a.md", "theirs\n")
    with pytest.raises(OSError) as told:
        desk.copy.unlink("/a.md~")
    assert told.value.errno == errno.EBUSY
    assert desk.names() == ["a.md", "a.md~"]
    assert desk.copy.read("/a.md", 0, 100) == b"theirs\n"
    desk.copy.unlink("/a.md~")
    assert desk.names() == ["a.md"]
    assert desk.stored() == {"/a.md": "theirs\n"}


def test_a_memory_moved_over_another_by_way_of_a_temporary_name_takes_no_newer_text_with_it(desk: Desk) -> None:
    desk.save("/a.md", "one\n")
    desk.save("/b.md", "old\n")
    desk.copy.rename("/a.md", "/a.md.tmp")
    desk.others_write("/a.md", "theirs\n")
    with pytest.raises(OSError) as told:
        desk.copy.rename("/a.md.tmp", "/b.md")
    assert told.value.errno == errno.EBUSY
    assert desk.stored() == {"/a.md": "theirs\n", "/b.md": "one\n"}
    assert desk.names() == ["a.md", "b.md"]


def test_a_new_file_replaces_no_memory_that_came_after_nothing_was_found_there(desk: Desk) -> None:
    after_it_was_not_found(desk, "theirs\n")
    writing = desk.copy.files.create("/a.md")
    desk.copy.files.write("/a.md", writing, 0, b"mine\n")
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        desk.copy.files.flush("/a.md", writing)
    assert told.value.errno == errno.ESTALE
    assert desk.stored() == {"/a.md": "theirs\n"}


def test_an_append_that_creates_goes_on_after_a_memory_that_came_after_nothing_was_found_there(desk: Desk) -> None:
    after_it_was_not_found(desk, "theirs\n")
    writing = desk.copy.files.create("/a.md", append=True)
    desk.copy.files.write("/a.md", writing, 0, b"mine\n")
    desk.copy.files.flush("/a.md", writing)
    assert desk.stored() == {"/a.md": "theirs\nmine\n"}


@pytest.fixture
def covered(desk: Desk) -> Desk:
    """A new /a.md that a program has open, with a line in it; another client's /a.md, "theirs", has come below it."""
    writing = desk.copy.files.create("/a.md")
    desk.copy.files.write("/a.md", writing, 0, b"mine\n")
    desk.others_write("/a.md", "theirs\n")
    desk.copy.refresh()
    assert desk.read("/a.md") == "mine\n"
    return desk


@pytest.fixture
def outdated(unread: Desk) -> Desk:
    """An edit of "one" that a program has open; the head below it, which no program has opened to read, is "theirs"."""
    writing = unread.copy.files.open_to_write("/a.md")
    unread.copy.files.write("/a.md", writing, 0, b"ONE")
    unread.others_write("/a.md", "theirs\n")
    unread.copy.refresh()
    assert "/a.md" not in unread.copy.state.seen
    return unread


def overtaken(desk: Desk, number: int, act: Callable[[], object]) -> None:
    """It fails with that errno, and the store has what the other client wrote; the file shows it."""
    with pytest.raises(OSError, match="somebody else") as told:
        act()
    assert told.value.errno == number
    assert desk.stored() == {"/a.md": "theirs\n"}


def test_the_deletion_of_a_new_file_deletes_no_memory_that_came_below_it(covered: Desk) -> None:
    told: list[str] = []
    covered.copy.state.changed = told.extend
    overtaken(covered, errno.EBUSY, lambda: covered.copy.unlink("/a.md"))
    assert told == ["/a.md"]
    assert covered.read("/a.md") == "theirs\n"
    covered.copy.unlink("/a.md")
    assert covered.stored() == {}


def test_a_save_by_rename_over_a_new_file_replaces_no_memory_that_came_below_it(covered: Desk) -> None:
    covered.save("/a.md.tmp", "saved\n")
    overtaken(covered, errno.ESTALE, lambda: covered.copy.rename("/a.md.tmp", "/a.md"))
    assert covered.read("/a.md") == "theirs\n"
    assert covered.read(covered.beside("/a.md", "conflict")[0]) == "saved\n"
    covered.copy.rename("/a.md.tmp", "/a.md")
    assert covered.stored() == {"/a.md": "saved\n"}


def test_a_memory_that_is_moved_over_a_new_file_replaces_none_that_came_below_it(covered: Desk) -> None:
    covered.save("/b.md", "moved\n")
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        covered.copy.rename("/b.md", "/a.md")
    assert told.value.errno == errno.ESTALE
    assert covered.stored() == {"/a.md": "theirs\n", "/b.md": "moved\n"}


def test_the_deletion_of_an_edited_file_deletes_no_newer_text_that_came_below_the_edit(outdated: Desk) -> None:
    with pytest.raises(OSError) as told:
        outdated.copy.unlink("/a.md")
    assert told.value.errno == errno.EBUSY
    assert outdated.stored() == {"/a.md": "theirs\n"}


def test_a_save_by_rename_over_an_edited_file_replaces_no_newer_text_that_came_below_the_edit(outdated: Desk) -> None:
    outdated.save("/a.md.tmp", "saved\n")
    overtaken(outdated, errno.ESTALE, lambda: outdated.copy.rename("/a.md.tmp", "/a.md"))
    assert outdated.read(outdated.beside("/a.md", "conflict")[0]) == "saved\n"


def test_the_deletion_of_an_edited_file_deletes_its_memory_and_no_other_that_has_its_path_now(desk: Desk) -> None:
    desk.save("/a.md", "one\n")
    writing = desk.copy.files.open_to_write("/a.md")
    desk.copy.files.write("/a.md", writing, 0, b"ONE")
    desk.others_rename("/a.md", "/b.md")
    desk.others_write("/a.md", "theirs\n")
    desk.copy.refresh()
    with pytest.raises(OSError, match="somebody else made it meanwhile") as told:
        desk.copy.unlink("/a.md")
    assert told.value.errno == errno.EBUSY
    assert desk.stored() == {"/a.md": "theirs\n", "/b.md": "one\n"}


def test_the_deletion_of_an_edited_file_that_nobody_else_changed_deletes_its_memory(desk: Desk) -> None:
    desk.save("/a.md", "one\n")
    writing = desk.copy.files.open_to_write("/a.md")
    desk.copy.files.write("/a.md", writing, 0, b"ONE")
    before = len(desk.requests())
    desk.copy.unlink("/a.md")
    assert [asked.split()[0] for asked in desk.requests()[before:]] == ["GET", "DELETE"]
    assert desk.stored() == {}
    assert desk.names() == []
