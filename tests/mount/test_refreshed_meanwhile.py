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
        desk.copy.client.text = read  # type: ignore[method-assign]
        desk.others_write("/a.md", text)
        desk.copy.refresh()
        return told

    desk.copy.client.text = overtaken  # type: ignore[method-assign]


def after_it_was_not_found(desk: Desk, text: str) -> None:
    """Let another client create /a.md once, and the mount hear of it, after a program has found nothing there."""
    find: Callable[[str], LocalText | Head | None] = desk.copy.state.find

    def overtaken(path: str) -> LocalText | Head | None:
        found = find(path)
        if found is None and desk.copy.state.table.at("/a.md") is None:
            desk.others_write("/a.md", text)
            desk.copy.refresh()
        return found

    desk.copy.state.find = overtaken  # type: ignore[method-assign]


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
