"""A rename that must not replace (`mv -n`), and the mount hears of a memory at its target in the middle of it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from memolith.clients.working_copy.store_client import Head
from memolith.clients.working_copy.unsaved_texts import LocalText
from tests.mount.conftest import Desk


def a_memory(desk: Desk) -> str:
    desk.save("/mine.md", "mine\n")
    return "/mine.md"


def an_edit(desk: Desk) -> str:
    desk.save("/mine.md", "before\n")
    writing = desk.copy.files.open_to_write("/mine.md", emptied=True)
    desk.copy.files.write("/mine.md", writing, 0, b"mine\n")
    return "/mine.md"


def a_temporary_file(desk: Desk) -> str:
    desk.save("/.mine.swp", "mine\n")
    return "/.mine.swp"


def a_backup(desk: Desk) -> str:
    desk.save("/mine.md", "mine\n")
    desk.copy.rename("/mine.md", "/mine.md~")
    return "/mine.md~"


def after_a_look(desk: Desk, looked_at: str, looks: int, path: str) -> list[str]:
    """Let another client create a memory, and the mount hear of it, after so many looks at what is at one path.

    Returns: what was created, once it is.
    """
    find: Callable[[str], LocalText | Head | None] = desk.copy.state.find
    seen: list[str] = []
    created: list[str] = []

    def overtaken(asked: str) -> LocalText | Head | None:
        found = find(asked)
        if asked == looked_at:
            seen.append(asked)
            if len(seen) == looks:
                desk.others_write(path, "theirs\n")
                desk.copy.refresh()
                created.append(path)
        return found

    desk.copy.state.find = overtaken  # type: ignore[method-assign, assignment]  # the test's own takes its place
    return created


@pytest.mark.parametrize("looks", [1, 2, 3])
@pytest.mark.parametrize("source", [a_memory, an_edit, a_temporary_file, a_backup])
def test_a_rename_that_must_not_replace_replaces_no_memory_that_comes_meanwhile(
    desk: Desk, source: Callable[[Desk], str], looks: int
) -> None:
    old = source(desk)
    created = after_a_look(desk, "/b.md", looks, "/b.md")
    try:
        desk.copy.rename(old, "/b.md", replace=False)
    except OSError as error:
        assert error.errno in {errno.EEXIST, errno.EBUSY, errno.ESTALE}
        assert desk.stored()["/b.md"] == "theirs\n"
        assert [name for name in desk.names() if desk.read(f"/{name}") == "mine\n"]
    else:
        assert (desk.stored(), created) == ({"/b.md": "mine\n"}, [])


@pytest.mark.parametrize("source", [a_memory, an_edit, a_temporary_file, a_backup])
def test_a_rename_that_must_not_replace_says_so_where_the_memory_comes_while_it_waits_for_its_turn(
    desk: Desk, source: Callable[[Desk], str]
) -> None:
    old, hold, before = source(desk), desk.copy.state.hold, desk.stored()

    def waited_for(*paths: str) -> AbstractContextManager[None]:
        desk.others_write("/b.md", "theirs\n")
        desk.copy.refresh()
        return hold(*paths)

    desk.copy.state.hold = waited_for  # type: ignore[method-assign, assignment]  # the test's own takes its place
    with pytest.raises(OSError, match="there is something already") as told:
        desk.copy.rename(old, "/b.md", replace=False)
    assert told.value.errno == errno.EEXIST
    assert desk.stored() == {**before, "/b.md": "theirs\n"}
    desk.copy.state.hold = hold  # type: ignore[method-assign]  # the test's own takes its place


@pytest.mark.parametrize(("looked_at", "looks"), [("/old/a.md", 1), ("/old/a.md", 2), ("/new/a.md", 1)])
def test_the_rename_of_a_folder_replaces_no_memory_that_comes_into_the_other_meanwhile(
    desk: Desk, looked_at: str, looks: int
) -> None:
    desk.save("/old/a.md", "mine\n")
    after_a_look(desk, looked_at, looks, "/new/a.md")
    with pytest.raises(OSError) as told:
        desk.copy.rename("/old", "/new")
    assert told.value.errno in {errno.EEXIST, errno.EBUSY}
    assert desk.stored() == {"/old/a.md": "mine\n", "/new/a.md": "theirs\n"}
