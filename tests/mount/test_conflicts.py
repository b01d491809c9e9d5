"""Two who change the same: neither side is destroyed, and whoever came second is told."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable

import pytest

from tests.mount.conftest import Desk


def refused(write: Callable[[], object]) -> int:
    """The errno of a write that fails."""
    with pytest.raises(OSError) as failure:
        write()
    assert failure.value.errno is not None
    return failure.value.errno


def before_the_repetition(desk: Desk, others_write: Callable[[], object]) -> None:
    """Let another client write in the pause before a write without an answer is sent again."""
    pause = desk.copy.clock.pause

    def goes_on(seconds: float) -> None:
        others_write()
        pause(seconds)

    desk.copy.clock.pause = goes_on  # type: ignore[method-assign]  # the test's own takes its place


def test_an_edit_of_what_somebody_else_changed_meanwhile_is_kept_beside_and_the_close_says_so(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.save("/a.md", "mine")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "theirs"}
    assert desk.read("/a.md") == "theirs"
    [kept] = desk.beside("/a.md", "conflict")
    assert desk.read(kept) == "mine"
    assert desk.copy.attributes(kept)["reason"] == "somebody else changed it meanwhile"


def test_a_text_kept_beside_is_resolved_by_moving_it_over_the_file(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "theirs")
    refused(lambda: desk.save("/a.md", "mine"))
    desk.copy.rename(desk.beside("/a.md", "conflict")[0], "/a.md")
    assert desk.stored() == {"/a.md": "mine"}
    assert desk.names() == ["a.md"]


def test_whoever_was_told_of_a_conflict_and_writes_again_is_obeyed(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "theirs")
    refused(lambda: desk.save("/a.md", "mine"))
    desk.save("/a.md", "mine again")
    assert desk.stored() == {"/a.md": "mine again"}


def test_nobody_replaces_a_text_that_was_never_shown_to_him(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.read("/a.md")
    desk.others_write("/a.md", "theirs")
    desk.copy.refresh()
    assert refused(lambda: desk.save("/a.md", "made from one")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "theirs"}


def test_an_editor_that_saves_by_rename_meets_a_conflict_as_any_other(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.read("/a.md")
    desk.save("/a.md.tmp", "mine")
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.copy.rename("/a.md.tmp", "/a.md")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "theirs"}
    assert desk.read(desk.beside("/a.md", "conflict")[0]) == "mine"
    assert desk.read("/a.md.tmp") == "mine"


def test_two_who_create_the_same_path_make_one_memory_and_one_conflict(desk: Desk) -> None:
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.save("/a.md", "mine")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "theirs"}
    assert desk.read(desk.beside("/a.md", "conflict")[0]) == "mine"


def test_an_edit_of_what_somebody_else_deleted_is_kept_beside(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_delete("/a.md")
    assert refused(lambda: desk.save("/a.md", "mine")) == errno.ESTALE
    assert desk.stored() == {}
    assert desk.read(desk.beside("/a.md", "conflict")[0]) == "mine"


def test_an_edit_of_what_somebody_else_renamed_follows_the_memory(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_rename("/a.md", "/b.md")
    desk.save("/a.md", "mine")
    assert desk.stored() == {"/b.md": "mine"}
    desk.copy.refresh()
    assert desk.names() == ["b.md"]


def test_an_append_is_made_again_on_what_others_appended(desk: Desk) -> None:
    desk.save("/log.md", "one\n")
    desk.others_write("/log.md", "one\ntheirs\n")
    desk.append("/log.md", "mine\n")
    assert desk.stored() == {"/log.md": "one\ntheirs\nmine\n"}
    assert desk.read("/log.md") == "one\ntheirs\nmine\n"


def others_lines_unread(desk: Desk, others: str) -> None:
    """Append to /log.md, of which "one" was read here at most, and which has another client's line by now."""
    if others == "in a file that was new here":
        desk.others_write("/log.md", "theirs\n")
        desk.append("/log.md", "mine\n")
        return
    desk.save("/log.md", "one\n")
    desk.others_write("/log.md", "one\ntheirs\n")
    if others == "listed":
        desk.copy.refresh()
    desk.append("/log.md", "mine\n")
    if others == "appended to again":
        desk.append("/log.md", "mine too\n")
    assert str(desk.stored()["/log.md"]).startswith("one\ntheirs\nmine\n")


UNREAD = pytest.mark.parametrize("others", ["merged", "listed", "appended to again", "in a file that was new here"])


@UNREAD
def test_a_line_that_no_program_has_read_is_not_replaced_though_one_has_appended_to_it(desk: Desk, others: str) -> None:
    others_lines_unread(desk, others)
    before = desk.stored()
    assert refused(lambda: desk.save("/log.md", "one, edited\n")) == errno.ESTALE
    assert desk.stored() == before
    [kept] = desk.beside("/log.md", "conflict")
    assert desk.read(kept) == "one, edited\n"


@UNREAD
def test_a_line_that_no_program_has_read_is_not_deleted_though_one_has_appended_to_it(desk: Desk, others: str) -> None:
    others_lines_unread(desk, others)
    before = desk.stored()
    assert refused(lambda: desk.copy.unlink("/log.md")) == errno.EBUSY
    assert desk.stored() == before
    desk.copy.unlink("/log.md")
    assert desk.stored() == {}


def test_a_text_that_was_appended_to_and_read_is_replaced(desk: Desk) -> None:
    others_lines_unread(desk, "merged")
    assert desk.read("/log.md") == "one\ntheirs\nmine\n"
    desk.append("/log.md", "more\n")
    desk.save("/log.md", "edited\n")
    assert desk.stored() == {"/log.md": "edited\n"}


def test_a_text_that_others_made_of_one_whose_answer_was_lost_is_not_replaced_unread(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.network.lost = 1
    before_the_repetition(desk, lambda: desk.others_write("/a.md", "mine, and theirs"))
    desk.save("/a.md", "mine")
    assert desk.stored() == {"/a.md": "mine, and theirs"}
    assert refused(lambda: desk.save("/a.md", "mine, edited")) == errno.ESTALE
    assert desk.stored() == {"/a.md": "mine, and theirs"}


def test_an_append_to_a_text_beyond_ascii_is_made_again_whole(desk: Desk) -> None:
    desk.save("/log.md", "größer – 大\n")
    desk.others_write("/log.md", "größer – 大\ntheirs\n")
    desk.append("/log.md", "mine: ü\n")
    assert desk.stored() == {"/log.md": "größer – 大\ntheirs\nmine: ü\n"}


def test_an_append_that_creates_goes_on_where_somebody_else_created(desk: Desk) -> None:
    desk.others_write("/log.md", "theirs\n")
    desk.append("/log.md", "mine\n")
    assert desk.stored() == {"/log.md": "theirs\nmine\n"}


def test_a_file_that_has_come_to_be_there_meanwhile_is_made_only_by_who_does_not_mind(desk: Desk) -> None:
    desk.others_write("/a.md", "theirs, and longer\n")
    desk.copy.refresh()
    assert refused(lambda: desk.copy.files.create("/a.md", exclusive=True)) == errno.EEXIST
    writing = desk.copy.files.create("/a.md", emptied=True)
    desk.copy.files.write("/a.md", writing, 0, b"mine\n")
    desk.copy.files.flush("/a.md", writing)
    assert desk.stored() == {"/a.md": "mine\n"}


def test_two_who_append_the_same_line_to_a_new_file_have_two_lines(desk: Desk) -> None:
    desk.others_write("/log.md", "x\n")
    desk.append("/log.md", "x\n")
    assert desk.stored() == {"/log.md": "x\nx\n"}


def test_an_append_whose_answer_is_lost_is_made_once(desk: Desk) -> None:
    desk.save("/log.md", "one\n")
    desk.network.lost = 1
    desk.append("/log.md", "two\n")
    assert desk.stored() == {"/log.md": "one\ntwo\n"}


def test_an_append_whose_answer_is_lost_and_that_others_have_built_on_is_made_once(desk: Desk) -> None:
    desk.save("/log.md", "one\n")
    desk.network.lost = 1
    before_the_repetition(desk, lambda: desk.others_write("/log.md", "one\ntwo\nthree\n"))
    desk.append("/log.md", "two\n")
    assert desk.stored() == {"/log.md": "one\ntwo\nthree\n"}


def test_an_append_that_never_arrived_is_made_though_the_memory_had_that_text_before(desk: Desk) -> None:
    for text in ("one\n", "one\ntwo\n", "one\n"):
        desk.others_write("/log.md", text)
    desk.copy.refresh()
    desk.network.swallowed = 1
    before_the_repetition(desk, lambda: desk.others_write("/log.md", "one\ntheirs\n"))
    desk.append("/log.md", "two\n")
    assert desk.stored() == {"/log.md": "one\ntheirs\ntwo\n"}


def test_a_creation_whose_answer_is_lost_is_made_once(desk: Desk) -> None:
    desk.network.lost = 1
    desk.save("/a.md", "one")
    assert desk.log() == [("created", "/a.md", "one")]


def test_a_deletion_whose_answer_is_lost_is_done(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.network.lost = 1
    desk.copy.unlink("/a.md")
    assert desk.stored() == {}
    assert desk.names() == []


def test_a_rename_whose_answer_is_lost_is_done(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.network.lost = 1
    desk.copy.rename("/a.md", "/b.md")
    assert desk.stored() == {"/b.md": "one"}
    assert desk.names() == ["b.md"]


def test_a_text_that_changed_since_it_was_shown_is_not_deleted_until_it_was_shown(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.copy.unlink("/a.md")) == errno.EBUSY
    assert desk.read("/a.md") == "theirs"
    desk.copy.unlink("/a.md")
    assert desk.stored() == {}


def theirs_renamed(desk: Desk, others: str) -> None:
    """Rename /a.md, of which "one" was shown here, to /b.md; another client has written "theirs" to it before."""
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "theirs")
    if others == "wrote, and that was listed":
        desk.copy.refresh()
    desk.copy.rename("/a.md", "/b.md")
    assert desk.stored() == {"/b.md": "theirs"}


OTHERS = pytest.mark.parametrize("others", ["wrote", "wrote, and that was listed"])


@OTHERS
def test_a_text_that_nobody_was_shown_before_its_file_was_renamed_is_not_replaced_after_it(
    desk: Desk, others: str
) -> None:
    theirs_renamed(desk, others)
    assert refused(lambda: desk.save("/b.md", "one, edited")) == errno.ESTALE
    assert desk.stored() == {"/b.md": "theirs"}
    [kept] = desk.beside("/b.md", "conflict")
    assert desk.read(kept) == "one, edited"


def test_a_memory_that_another_client_has_renamed_is_not_deleted_for_the_file_at_its_old_path(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.save("/b.md", "two")
    desk.others_rename("/a.md", "/theirs/a.md")
    desk.others_rename("/b.md", "/theirs/b.md")
    desk.copy.unlink("/a.md")
    desk.copy.rename("/b.md", "/c.md~")
    desk.copy.unlink("/c.md~")
    assert desk.stored() == {"/theirs/a.md": "one", "/theirs/b.md": "two"}
    assert desk.names() == ["theirs"]
    assert desk.names("/theirs") == ["a.md", "b.md"]


@OTHERS
def test_a_text_that_nobody_was_shown_before_its_file_was_renamed_is_not_deleted_after_it(
    desk: Desk, others: str
) -> None:
    theirs_renamed(desk, others)
    assert refused(lambda: desk.copy.unlink("/b.md")) == errno.EBUSY
    assert desk.stored() == {"/b.md": "theirs"}
    desk.copy.unlink("/b.md")
    assert desk.stored() == {}


def test_a_text_that_was_read_after_its_file_was_renamed_is_replaced(desk: Desk) -> None:
    theirs_renamed(desk, "wrote")
    assert desk.read("/b.md") == "theirs"
    desk.save("/b.md", "theirs, edited")
    assert desk.stored() == {"/b.md": "theirs, edited"}


def test_a_text_that_came_after_the_last_listing_is_not_replaced_once_its_file_was_renamed_unread(desk: Desk) -> None:
    desk.others_write("/a.md", "one")
    desk.copy.refresh()
    desk.others_write("/a.md", "theirs")
    desk.copy.rename("/a.md", "/b.md")
    assert refused(lambda: desk.save("/b.md", "mine")) == errno.ESTALE
    assert desk.stored() == {"/b.md": "theirs"}


def test_a_rename_to_a_path_that_somebody_else_took_is_refused(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/b.md", "theirs")
    assert refused(lambda: desk.copy.rename("/a.md", "/b.md")) == errno.EBUSY
    assert desk.stored() == {"/a.md": "one", "/b.md": "theirs"}


def test_whoever_shares_an_edit_that_fails_is_told_as_well(desk: Desk) -> None:
    desk.save("/a.md", "one")
    first, second = desk.copy.files.open_to_write("/a.md"), desk.copy.files.open_to_write("/a.md")
    desk.copy.files.write("/a.md", first, 0, b"X")
    desk.copy.files.write("/a.md", second, 1, b"Y")
    desk.others_write("/a.md", "theirs")
    assert refused(lambda: desk.copy.files.flush("/a.md", first)) == errno.ESTALE
    assert refused(lambda: desk.copy.files.flush("/a.md", second)) == errno.ESTALE
    assert desk.read(desk.beside("/a.md", "conflict")[0]) == "XYe"


def test_a_hundred_appends_from_threads_of_one_mount_beside_another_lose_nothing(desk: Desk) -> None:
    desk.save("/log.md", "")
    gate = threading.Lock()

    def append(number: int) -> None:
        desk.append("/log.md", f"{number}\n")
        if number % 10 == 0:
            with gate:
                desk.others_write("/log.md", f"{desk.stored()['/log.md']}other {number}\n")

    for number in range(100):
        append(number)
    lines = (desk.stored()["/log.md"] or "").splitlines()
    assert sorted(lines) == sorted([*map(str, range(100)), *(f"other {number}" for number in range(0, 100, 10))])
