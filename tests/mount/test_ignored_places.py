"""Where ignored files are kept, and what a start finds of it: whole places, and one for each path."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable
from typing import Any

import pytest

from memolith.clients.mount.ignored_files import IgnoredFiles, owning
from tests.mount.conftest import Desk


def ignored(desk: Desk) -> IgnoredFiles:
    """The ignored files of a mount that starts after another one died."""
    desk.die()
    desk.start()
    return IgnoredFiles(desk.folder / "ignored", desk.copy.state)


def made(files: IgnoredFiles, path: str, text: str) -> None:
    """A folder of version control with one file."""
    assert files.takes(path, folder=True)
    files.mkdir(path, 0o755)
    wrote(files, f"{path}/HEAD", text)


def wrote(files: IgnoredFiles, path: str, text: str) -> None:
    number = files.open(path, os.O_WRONLY | os.O_CREAT)
    files._place(path).write_text(text)
    files.close(number)


def text_at(files: IgnoredFiles, path: str) -> str:
    return files._place(path).read_text()


class Killed(BaseException):
    """Nobody catches this: the process is gone."""


def killed_at(patch: pytest.MonkeyPatch, call: str) -> None:
    """From this call on the process does nothing more."""

    def gone(*arguments: Any) -> None:
        raise Killed

    patch.setattr(os, call, gone)


@pytest.mark.parametrize("call", ["rename", "replace"])
def test_a_folder_whose_move_was_killed_is_at_one_path_after_the_next_start(
    desk: Desk, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ignored(desk)
    made(files, "/a/.git", "first")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        killed_at(patch, call)
        files.folder_moved("/a", "/b")
    files = ignored(desk)
    moved = "/b/.git" if call == "rename" else "/a/.git"
    assert (list(desk.copy.state.ignored), text_at(files, f"{moved}/HEAD")) == ([moved], "first")


def test_a_path_whose_folder_was_moved_can_be_made_again_though_the_move_was_killed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ignored(desk)
    made(files, "/a/.git", "first")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        killed_at(patch, "rename")
        files.folder_moved("/a", "/b")
    files = ignored(desk)
    made(files, "/a/.git", "second")
    for mount in (files, ignored(desk)):
        assert [text_at(mount, f"{path}/HEAD") for path in ("/b/.git", "/a/.git")] == ["first", "second"]


def test_a_move_to_where_something_was_meant_to_be_made_and_was_not_is_done(desk: Desk) -> None:
    files = ignored(desk)
    made(files, "/a/.git", "first")
    assert files.takes("/b/.git", folder=True)
    files.folder_moved("/a", "/b")
    assert text_at(files, "/b/.git/HEAD") == text_at(ignored(desk), "/b/.git/HEAD") == "first"


def test_of_two_places_with_one_path_the_one_that_has_its_name_is_shown_and_the_other_is_left(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    files = ignored(desk)
    made(files, "/a/.git", "first")
    made(files, "/b/.git", "second")
    other = files._roots["/a/.git"]
    (other / "path").write_text("/b/.git")
    with caplog.at_level(logging.WARNING):
        files = ignored(desk)
    assert text_at(files, "/b/.git/HEAD") == "second"
    assert (other / "content/HEAD").read_text() == "first"
    assert f"{other} cannot be shown (another place has its path, /b/.git)" in caplog.text


def test_a_place_whose_path_a_loss_of_power_has_torn_is_left_and_shown_nowhere(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    files = ignored(desk)
    made(files, "/a/.git", "first")
    place = files._roots["/a/.git"]
    (place / "path").write_text("")
    with caplog.at_level(logging.WARNING):
        assert not ignored(desk).covers("/a/.git")
    assert "what is in it is left there" in caplog.text
    assert (place / "content/HEAD").read_text() == "first"
    assert desk.copy.state.ignored == {}


def test_a_place_with_nothing_in_it_is_removed_by_a_start(desk: Desk) -> None:
    place = desk.folder / "ignored" / "0"
    place.mkdir(parents=True)
    ignored(desk)
    assert not place.exists()


def test_a_folder_whose_last_memory_another_client_deletes_stays_while_something_ignored_is_in_it(desk: Desk) -> None:
    desk.others_write("/b/a.md", "one")
    desk.copy.refresh()
    made(ignored(desk), "/b/.git", "first")
    desk.others_delete("/b/a.md")
    desk.copy.refresh()
    assert desk.names() == ["b"]


def test_of_two_mounts_at_once_one_has_the_ignored_files_and_the_other_refuses_them_until_it_starts_after_the_first(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    kept = desk.folder / "ignored"
    with owning(kept) as first:
        files = IgnoredFiles(kept, desk.copy.state, owned=first)
        assert files.takes("/.memolithignore", folder=False)
        with caplog.at_level(logging.WARNING), owning(kept) as second:
            other = IgnoredFiles(kept, desk.copy.state, owned=second)
            assert (first, second) == (True, False)
        for path in ("/.git", "/a.log"):
            wrote(files, "/.memolithignore", "*.log\n" if path == "/a.log" else "")
            with pytest.raises(OSError) as refused:
                other.takes(path, folder=path == "/.git")
            assert refused.value.errno == errno.EBUSY
        assert not (other.covers("/.memolithignore") or other.takes("/a.md", folder=False))
    assert "another mount of this store has its ignored files" in caplog.text
    with owning(kept) as later:
        assert IgnoredFiles(kept, desk.copy.state, owned=later).covers("/.memolithignore")


@pytest.mark.parametrize("call", ["open", "mkdir", "rename"])
def test_a_name_at_which_nothing_ignored_could_be_made_is_the_stores(
    desk: Desk, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ignored(desk)
    made(files, "/.git", "kept")
    tries: dict[str, Callable[[], object]] = {
        "open": lambda: files.open("/.idea", os.O_WRONLY | os.O_CREAT),
        "mkdir": lambda: files.mkdir("/.idea", 0o755),
        "rename": lambda: files.rename("/.git/HEAD", "/.idea", replace=True),
    }
    assert files.takes("/.idea", folder=True) and not files.covers("/.idea")
    calling = getattr(os, call)

    def full(path: Any, *more: Any, **named: Any) -> Any:
        if str(path).endswith(("/content", "/HEAD")):
            raise OSError(errno.ENOSPC, "the disk is full")
        return calling(path, *more, **named)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="full"):
        patch.setattr(os, call, full)
        tries[call]()
    assert not files.covers("/.idea") and "/.idea" not in desk.copy.state.ignored
    assert text_at(files, "/.git/HEAD") == "kept"
    tries[call]()
    assert files.covers("/.idea")
