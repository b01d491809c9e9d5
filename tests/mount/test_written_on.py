"""A file that stays open and is written on after a close of a copy of it: ``{ /bin/echo 1; /bin/echo 2; } > a.md``."""

from __future__ import annotations

import errno

import pytest

from memolith.clients.working_copy.open_files import Writing
from tests.mount.conftest import Desk
from tests.mount.test_conflicts import refused
from tests.mount.test_redacted import TOKEN, redacting

__all__ = ["redacting"]


def emptied(desk: Desk, text: str) -> Writing:
    """Open /a.md, which is in the store, as a shell does for ``>``, and write to it."""
    writing = desk.copy.files.open_to_write("/a.md", emptied=True)
    desk.copy.files.write("/a.md", writing, 0, text.encode())
    return writing


def goes_on(desk: Desk, writing: Writing, offset: int, content: bytes) -> None:
    """Write on and close a copy of the file."""
    desk.copy.files.write("/a.md", writing, offset, content)
    desk.copy.files.flush("/a.md", writing)


@pytest.mark.parametrize("theirs", ["THEIR WHOLE TEXT\n", "hi\n"])
def test_what_comes_after_a_conflict_through_the_same_open_file_is_written_into_no_other_text(
    desk: Desk, theirs: str
) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", theirs)
    writing = emptied(desk, "mine 1\n")
    assert refused(lambda: desk.copy.files.flush("/a.md", writing)) == errno.ESTALE
    assert refused(lambda: desk.copy.files.write("/a.md", writing, 7, b"mine 2\n")) == errno.ESTALE
    assert refused(lambda: desk.copy.files.truncate("/a.md", 3, writing)) == errno.ESTALE
    assert refused(lambda: desk.copy.files.flush("/a.md", writing)) == errno.ESTALE
    desk.copy.files.release("/a.md", writing)
    assert desk.stored() == {"/a.md": theirs}
    assert desk.read("/a.md") == theirs
    [kept] = desk.beside("/a.md", "conflict")
    assert desk.read(kept) == "mine 1\n"


@pytest.mark.parametrize(("refusal", "offset"), [(b"\xff\n", 2), (b"x" * 102_401, 102_401)])
def test_what_comes_after_a_refusal_through_the_same_open_file_is_written_into_no_other_text(
    desk: Desk, refusal: bytes, offset: int
) -> None:
    desk.save("/a.md", "OLD WHOLE TEXT\n")
    writing = desk.copy.files.open_to_write("/a.md", emptied=True)
    desk.copy.files.write("/a.md", writing, 0, refusal)
    told = refused(lambda: desk.copy.files.flush("/a.md", writing))
    assert told in (errno.EILSEQ, errno.EFBIG)
    assert refused(lambda: desk.copy.files.write("/a.md", writing, offset, b"fine\n")) == told
    desk.copy.files.release("/a.md", writing)
    assert desk.stored() == {"/a.md": "OLD WHOLE TEXT\n"}


def test_a_program_that_shares_an_edit_that_failed_writes_on_into_no_other_text(desk: Desk) -> None:
    desk.save("/a.md", "one")
    first, second = desk.copy.files.open_to_write("/a.md"), desk.copy.files.open_to_write("/a.md")
    desk.copy.files.write("/a.md", first, 0, b"X")
    desk.copy.files.write("/a.md", second, 1, b"Y")
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.copy.files.flush("/a.md", first)) == errno.ESTALE
    assert refused(lambda: desk.copy.files.write("/a.md", second, 2, b"Z")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "theirs"}


def test_who_opens_the_file_again_after_a_conflict_writes_to_what_the_store_has(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.copy.files.flush("/a.md", emptied(desk, "mine"))) == errno.ESTALE
    goes_on(desk, desk.copy.files.open_to_write("/a.md"), 0, b"T")
    assert desk.stored() == {"/a.md": "Theirs"}


def test_an_append_goes_on_after_one_that_was_refused(desk: Desk) -> None:
    desk.save("/a.md", "one\n")
    writing = desk.copy.files.open_to_write("/a.md", append=True)
    desk.copy.files.write("/a.md", writing, 0, b"\xff\n")
    assert refused(lambda: desk.copy.files.flush("/a.md", writing)) == errno.EILSEQ
    goes_on(desk, writing, 0, b"two\n")
    assert desk.stored() == {"/a.md": "one\ntwo\n"}


def test_a_file_that_another_client_changes_between_two_closes_is_not_written_into(desk: Desk) -> None:
    desk.save("/a.md", "one")
    writing = emptied(desk, "mine 1\n")
    desk.copy.files.flush("/a.md", writing)
    desk.others_write("/a.md", "THEIR WHOLE TEXT\n")
    desk.copy.refresh()
    assert refused(lambda: desk.copy.files.write("/a.md", writing, 7, b"mine 2\n")) == errno.ESTALE
    assert refused(lambda: desk.copy.files.truncate("/a.md", 3, writing)) == errno.ESTALE
    assert desk.stored() == {"/a.md": "THEIR WHOLE TEXT\n"}


def test_a_file_that_another_client_changes_between_two_closes_unheard_of_is_a_conflict(desk: Desk) -> None:
    desk.save("/a.md", "one")
    writing = emptied(desk, "mine 1\n")
    desk.copy.files.flush("/a.md", writing)
    desk.others_write("/a.md", "THEIR WHOLE TEXT\n")
    desk.copy.files.truncate("/a.md", 0, writing)
    assert refused(lambda: goes_on(desk, writing, 0, b"mine 2\n")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "THEIR WHOLE TEXT\n"}
    assert desk.read(desk.beside("/a.md", "conflict")[0]) == "mine 2\n"


def test_a_file_that_nobody_else_changes_is_written_on_with_each_close(desk: Desk) -> None:
    desk.save("/a.md", "one")
    writing = emptied(desk, "mine 1\n")
    desk.copy.files.flush("/a.md", writing)
    goes_on(desk, writing, 7, b"mine 2\n")
    assert desk.stored() == {"/a.md": "mine 1\nmine 2\n"}
    desk.append("/a.md", "of another program here\n")
    goes_on(desk, writing, 0, b"MINE")
    assert desk.stored() == {"/a.md": "MINE 1\nmine 2\nof another program here\n"}


def test_a_file_whose_close_got_no_answer_is_written_on(desk: Desk) -> None:
    desk.save("/a.md", "one")
    writing = emptied(desk, "mine 1\n")
    desk.network.down = True
    assert refused(lambda: desk.copy.files.flush("/a.md", writing)) == errno.EIO
    desk.network.down = False
    goes_on(desk, writing, 7, b"mine 2\n")
    assert desk.stored() == {"/a.md": "mine 1\nmine 2\n"}


def test_what_was_written_at_the_end_and_went_after_the_text_of_others_is_not_written_on_at_its_offset(
    desk: Desk,
) -> None:
    desk.save("/a.md", "one\n")
    writing = desk.copy.files.open_to_write("/a.md")
    desk.copy.files.write("/a.md", writing, 4, b"mine 1\n")
    desk.others_write("/a.md", "one\ntheirs\n")
    desk.copy.files.flush("/a.md", writing)
    assert refused(lambda: desk.copy.files.write("/a.md", writing, 11, b"mine 2\n")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "one\ntheirs\nmine 1\n"}


def test_what_the_store_took_a_secret_out_of_is_not_written_on_at_its_offset(redacting: Desk) -> None:
    first = f"use {TOKEN}\n"
    redacting.save("/a.md", "one\n")
    writing = emptied(redacting, first)
    redacting.copy.files.flush("/a.md", writing)
    assert refused(lambda: redacting.copy.files.write("/a.md", writing, len(first), b"more\n")) == errno.ESTALE
    assert redacting.stored() == {"/a.md": "use [REDACTED:github-pat]\n"}


def test_who_has_a_deleted_new_file_open_writes_on_into_no_memory_that_has_come_there(desk: Desk) -> None:
    writing = desk.copy.files.create("/a.md")
    desk.copy.files.write("/a.md", writing, 0, b"mine")
    desk.others_write("/a.md", "theirs")
    desk.copy.refresh()
    assert refused(lambda: desk.copy.unlink("/a.md")) == errno.EBUSY
    assert refused(lambda: desk.copy.files.write("/a.md", writing, 4, b"more")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "theirs"}


def test_a_text_that_was_kept_beside_is_edited_in_its_place_like_any_file(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.save("/a.md", "mine")) == errno.ESTALE
    [kept] = desk.beside("/a.md", "conflict")
    desk.save(kept, "mine and theirs")
    assert desk.read(kept) == "mine and theirs"
    assert desk.stored() == {"/a.md": "theirs"}


def test_a_file_that_was_renamed_with_another_clients_text_is_not_written_into(desk: Desk) -> None:
    desk.save("/a.md", "one")
    writing = emptied(desk, "mine 1\n")
    desk.copy.files.flush("/a.md", writing)
    desk.others_write("/a.md", "THEIR WHOLE TEXT\n")
    desk.copy.rename("/a.md", "/b.md")
    assert refused(lambda: desk.copy.files.write("/b.md", writing, 7, b"mine 2\n")) == errno.ESTALE
    desk.copy.files.release("/b.md", writing)
    assert desk.stored() == {"/b.md": "THEIR WHOLE TEXT\n"}
