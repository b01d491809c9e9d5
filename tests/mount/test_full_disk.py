"""A disk that takes a part of what is written, or no more: what a program was told is so, and no text is lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from tests.mount.conftest import Desk

pwrite = os.pwrite


def half(descriptor: int, content: bytes, offset: int) -> int:
    """Write as much of it as a system call may: a part."""
    return pwrite(descriptor, content[: (len(content) + 1) // 2], offset)


def full_after_half() -> Callable[[int, bytes, int], int]:
    """Write a part, and then no more until it is full no longer."""
    calls = iter([half])

    def written(descriptor: int, content: bytes, offset: int) -> int:
        for write in calls:
            return write(descriptor, content, offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    return written


def nothing(descriptor: int, content: bytes, offset: int) -> int:
    return 0


def appended(desk: Desk, text: bytes) -> None:
    """Append and end without a close, as a program that is killed."""
    writing = desk.copy.files.open_to_write("/a.md", append=True)
    desk.copy.files.write("/a.md", writing, 0, text)


def after_kill_9(desk: Desk, path: str = "/a.md") -> str:
    """What was written and never closed, as the next mount has it."""
    desk.die()
    desk.start()
    [kept] = desk.beside(path, "unsaved")
    return desk.read(kept)


def test_a_text_that_the_disk_takes_in_parts_is_there_whole_after_kill_9(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", half)
    desk.save("/a.md", "one, ")
    appended(desk, b"two")
    assert after_kill_9(desk) == "one, two"


def test_an_append_that_is_tried_again_after_the_disk_was_full_stands_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.save("/a.md", "one, ")
    appended(desk, b"two, ")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full_after_half())
        with pytest.raises(OSError, match="No space left"):
            appended(desk, b"three")
    assert desk.read("/a.md") == "one, two, "
    appended(desk, b"three")
    assert desk.read("/a.md") == after_kill_9(desk) == "one, two, three"


def test_of_a_write_that_failed_nothing_is_there_after_kill_9(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = desk.copy.files.create("/a.md")
    desk.copy.files.write("/a.md", writing, 0, b"one, two")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full_after_half())
        with pytest.raises(OSError, match="No space left"):
            desk.copy.files.write("/a.md", writing, 8, b", three and more")
    assert after_kill_9(desk) == "one, two"


def test_a_disk_that_takes_nothing_and_gives_no_reason_is_full(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = desk.copy.files.create("/a.md")
    monkeypatch.setattr(os, "pwrite", nothing)
    with pytest.raises(OSError, match="No space left") as full:
        desk.copy.files.write("/a.md", writing, 0, b"one")
    assert full.value.errno == errno.ENOSPC


def test_a_file_that_the_disk_does_not_make_longer_is_as_long_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.save("/a.md", "one")

    def full(descriptor: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "ftruncate", full)
    for size in (5, 2):
        with pytest.raises(OSError, match="No space left"):
            desk.copy.files.truncate("/a.md", size)
        assert desk.read("/a.md") == "one"


def test_what_a_dead_mount_left_is_there_until_the_disk_has_room_for_all_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        desk.save(f"/.{name}.swp", f"the text of {name}")
    desk.die()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full_after_half())
        with pytest.raises(OSError, match="No space left") as full:
            desk.start()
    assert str(full.value.filename).startswith(str(desk.folder / "local"))
    monkeypatch.setattr(os, "pwrite", half)
    desk.start()
    assert [desk.read(f"/.{name}.swp") for name in ("a", "b")] == ["the text of a", "the text of b"]
    desk.die()
    desk.start()
    assert [desk.read(f"/.{name}.swp") for name in ("a", "b")] == ["the text of a", "the text of b"]


def test_a_rename_for_which_the_disk_has_no_room_leaves_both_texts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.save("/a.md", "one")
    desk.save("/.b.swp", "temporary")
    writing = desk.copy.files.open_to_write("/a.md")
    desk.copy.files.write("/a.md", writing, 0, b"edited")
    for old, new in (("/.b.swp", "/a.md"), ("/c.md", "/.b.swp")):
        if old == "/c.md":
            desk.save("/c.md", "three")
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full_after_half())
            with pytest.raises(OSError, match="No space left"):
                desk.copy.rename(old, new)
        assert (desk.read("/a.md"), desk.read("/.b.swp")) == ("edited", "temporary")
    assert desk.read("/c.md") == "three"
    desk.die()
    desk.start()
    assert sorted(local.text.decode() for local in desk.copy.unsaved.inherited) == ["edited", "temporary"]
