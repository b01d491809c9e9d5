"""Programs that append to one file at the same time: one commit has the lines of all of them."""

from __future__ import annotations

import errno
import threading

import pytest

from memolith.clients.working_copy import append_groups
from memolith.clients.working_copy.open_files import Writing
from tests.mount.conftest import Desk

LONG_S = 120


@pytest.fixture
def first(desk: Desk) -> Writing:
    """A program that has opened the file, and has written."""
    desk.save("/log.md", "begin\n")
    first = desk.copy.files.open_to_write("/log.md", append=True)
    desk.copy.files.write("/log.md", first, 0, b"one\n")
    return first


def close(desk: Desk, writing: Writing) -> None:
    try:
        desk.copy.files.flush("/log.md", writing)
    finally:
        desk.copy.files.release("/log.md", writing)


def test_whoever_opened_the_file_before_a_close_is_waited_for_and_the_commit_has_both_lines(
    desk: Desk, first: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_groups, "MOMENT_S", LONG_S)
    second = desk.copy.files.open_to_write("/log.md", append=True)
    closing = threading.Thread(target=close, args=(desk, first))
    closing.start()
    desk.copy.files.write("/log.md", second, 0, b"two\n")
    closing.join(LONG_S)
    before = len(desk.requests())
    close(desk, second)
    assert len(desk.requests()) == before
    assert desk.log()[1:] == [("modified", "/log.md", "begin\none\ntwo\n")]


def test_whoever_closes_it_without_a_word_is_not_waited_for(
    desk: Desk, first: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_groups, "MOMENT_S", LONG_S)
    silent = desk.copy.files.open_to_write("/log.md", append=True)
    closing = threading.Thread(target=close, args=(desk, first))
    closing.start()
    close(desk, silent)
    closing.join(LONG_S)
    assert desk.stored() == {"/log.md": "begin\none\n"}


def test_whoever_keeps_it_open_in_silence_is_waited_for_a_moment_only(desk: Desk, first: Writing) -> None:
    silent = desk.copy.files.open_to_write("/log.md", append=True)
    close(desk, first)
    assert desk.stored() == {"/log.md": "begin\none\n"}
    desk.copy.files.write("/log.md", silent, 0, b"at last\n")
    close(desk, silent)
    assert desk.stored() == {"/log.md": "begin\none\nat last\n"}


def test_each_of_them_is_told_when_their_commit_fails(desk: Desk, first: Writing) -> None:
    second = desk.copy.files.open_to_write("/log.md", append=True)
    desk.copy.files.write("/log.md", second, 0, b"\xff\n")
    for writing in (first, second):
        with pytest.raises(OSError, match="UTF-8") as told:
            close(desk, writing)
        assert told.value.errno == errno.EILSEQ
    [kept] = desk.beside("/log.md", "refused")
    assert desk.copy.read(kept, 0, 100) == b"begin\none\n\xff\n"
    assert desk.stored() == {"/log.md": "begin\n"}
