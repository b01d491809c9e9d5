"""Edits whose answers were lost, committed again later: what the store has of them already is not written twice."""

from __future__ import annotations

import errno
import json

import httpx2
import pytest

from memolith.clients.working_copy.unsaved_texts import LocalText
from tests.mount.conftest import Desk


class Killed(BaseException):
    """Nobody catches this: the process is gone."""


def silently(desk: Desk, text: str, *, append: bool = True) -> None:
    """Save /log.md while no answer comes: the program is told EIO, and the edit waits."""
    with pytest.raises(OSError, match="does not answer") as told:
        desk.save("/log.md", text, append=append)
    assert told.value.errno == errno.EIO


def killed_and_restarted(desk: Desk) -> None:
    desk.die()
    desk.start()


@pytest.fixture
def waiting(desk: Desk) -> Desk:
    """An append of "two" to "one" was done, and both its answers were lost: it waits."""
    desk.save("/log.md", "one\n")
    desk.network.lost = 2
    silently(desk, "two\n")
    assert desk.stored() == {"/log.md": "one\ntwo\n"}
    return desk


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_an_append_that_is_done_though_the_gateway_answers_a_5xx_of_its_own_is_made_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """API Gateway waits thirty seconds for the function and answers itself; the function goes on, and writes."""
    desk.save("/log.md", "one\n")
    carry = desk.network.handle_request

    def given_up(request: httpx2.Request) -> httpx2.Response:
        answer = carry(request)
        own = httpx2.Response(status, json={"message": "Service Unavailable"}, request=request)
        return answer if request.method == "GET" else own

    with monkeypatch.context() as patched, pytest.raises(OSError, match=f"the answer was a {status}"):
        patched.setattr(desk.network, "handle_request", given_up)
        desk.save("/log.md", "two\n", append=True)
    desk.others_write("/log.md", "one\ntwo\ntheirs\n")
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/log.md": "one\ntwo\ntheirs\n"}


@pytest.mark.parametrize("killed", [False, True])
def test_an_append_whose_two_answers_are_lost_is_made_once(waiting: Desk, killed: bool) -> None:
    waiting.others_write("/log.md", "one\ntwo\nthree\n")
    if killed:
        killed_and_restarted(waiting)
    waiting.copy.commit_waiting(all=True)
    assert waiting.stored() == {"/log.md": "one\ntwo\nthree\n"}
    assert waiting.read("/log.md") == "one\ntwo\nthree\n"
    assert waiting.copy.attributes("/log.md")["state"] == "stored"


def test_an_append_that_creates_and_whose_two_answers_are_lost_is_made_once(desk: Desk) -> None:
    desk.network.lost = 2
    silently(desk, "one\n")
    desk.others_write("/log.md", "one\ntheirs\n")
    killed_and_restarted(desk)
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/log.md": "one\ntheirs\n"}


def test_an_append_that_was_done_as_the_mount_was_killed_is_made_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.save("/log.md", "one\n")
    carry = desk.network.handle_request

    def carried_to_the_end(request: httpx2.Request) -> httpx2.Response:
        carry(request)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(desk.network, "handle_request", carried_to_the_end)
        with pytest.raises(Killed):
            desk.append("/log.md", "two\n")
    desk.others_write("/log.md", "one\ntwo\nthree\n")
    killed_and_restarted(desk)
    assert desk.copy.attributes("/log.md")["state"] == "waiting"
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/log.md": "one\ntwo\nthree\n"}
    assert desk.names() == ["log.md"]


@pytest.mark.parametrize("others", ["", "theirs\n"])
def test_what_is_appended_to_a_text_in_doubt_is_made_alone(waiting: Desk, others: str) -> None:
    waiting.others_write("/log.md", f"one\ntwo\n{others}")
    waiting.append("/log.md", "größer\n")
    waiting.append("/log.md", "last\n")
    assert waiting.stored() == {"/log.md": f"one\ntwo\n{others}größer\nlast\n"}


def test_what_is_appended_to_a_text_that_never_arrived_is_made_with_it(desk: Desk) -> None:
    desk.save("/log.md", "one\n")
    desk.network.swallowed = 2
    silently(desk, "two\n")
    desk.others_write("/log.md", "one\ntheirs\n")
    desk.append("/log.md", "three\n")
    assert desk.stored() == {"/log.md": "one\ntheirs\ntwo\nthree\n"}


def test_an_append_that_never_arrived_is_made_after_kill_9_though_the_memory_had_that_text_before(desk: Desk) -> None:
    for text in ("one\n", "one\ntwo\n", "one\n"):
        desk.others_write("/log.md", text)
    desk.copy.refresh()
    desk.network.swallowed = 2
    silently(desk, "two\n")
    desk.others_write("/log.md", "one\ntheirs\n")
    killed_and_restarted(desk)
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/log.md": "one\ntheirs\ntwo\n"}


def test_a_text_in_doubt_that_is_written_over_is_no_append_any_more(waiting: Desk) -> None:
    writing = waiting.copy.files.open_to_write("/log.md")
    waiting.copy.files.write("/log.md", writing, 4, b"TWO\n")
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        waiting.copy.files.flush("/log.md", writing)
    assert told.value.errno == errno.ESTALE
    assert waiting.stored() == {"/log.md": "one\ntwo\n"}
    assert waiting.read(waiting.beside("/log.md", "conflict")[0]) == "one\nTWO\n"


def test_a_text_in_doubt_that_is_cut_is_no_append_any_more(waiting: Desk) -> None:
    waiting.copy.files.truncate("/log.md", 6)
    waiting.copy.commit_waiting(all=True)
    assert waiting.stored() == {"/log.md": "one\ntwo\n"}
    assert waiting.read(waiting.beside("/log.md", "conflict")[0]) == "one\ntw"


def test_a_whole_text_that_was_done_without_an_answer_is_no_conflict_with_who_built_on_it(desk: Desk) -> None:
    desk.save("/log.md", "one\n")
    desk.network.lost = 2
    silently(desk, "mine\n", append=False)
    desk.others_write("/log.md", "mine\ntheirs\n")
    killed_and_restarted(desk)
    desk.copy.commit_waiting(all=True)
    assert desk.stored() == {"/log.md": "mine\ntheirs\n"}
    assert desk.beside("/log.md", "conflict") == []


def test_another_whole_text_than_the_one_in_doubt_is_a_conflict(desk: Desk) -> None:
    desk.save("/log.md", "one\n")
    desk.network.lost = 2
    silently(desk, "mine\n", append=False)
    desk.others_write("/log.md", "mine\ntheirs\n")
    with pytest.raises(OSError, match="somebody else changed it meanwhile"):
        desk.save("/log.md", "MINE\n")
    assert desk.stored() == {"/log.md": "mine\ntheirs\n"}
    assert desk.read(desk.beside("/log.md", "conflict")[0]) == "MINE\n"


def test_what_was_sent_for_one_path_is_no_doubt_at_another(desk: Desk) -> None:
    desk.network.lost = 2
    silently(desk, "mine\n")
    desk.copy.rename("/log.md", "/log.tmp")
    desk.others_write("/log.tmp", "mine\n")
    desk.others_write("/log.tmp", "theirs\n")
    desk.backend.clock.advance(61)
    desk.copy.commit_waiting()
    assert desk.stored() == {"/log.md": "mine\n", "/log.tmp": "theirs\nmine\n"}


def test_a_record_is_read_with_fields_that_are_not_known_and_without_what_was_sent(waiting: Desk) -> None:
    waiting.die()
    [record] = (waiting.folder / "local").glob("*/*.json")
    told = json.loads(record.read_text())
    assert [one["size_bytes"] for one in told.pop("sent")] == [8]
    record.write_text(json.dumps({**told, "of a later Memolith": 1}))
    waiting.start()
    assert waiting.read("/log.md") == "one\ntwo\n"
    assert waiting.copy.attributes("/log.md")["state"] == "waiting"


def test_an_answered_commit_records_what_it_sends_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.save("/log.md", "one\n")
    writing = desk.copy.files.open_to_write("/log.md", append=True)
    desk.copy.files.write("/log.md", writing, 0, b"two\n")
    recorded: list[int] = []
    record = desk.copy.unsaved.record

    def noted(local: LocalText) -> None:
        recorded.append(len(local.sent))
        record(local)

    monkeypatch.setattr(desk.copy.unsaved, "record", noted)
    desk.copy.files.flush("/log.md", writing)
    assert recorded == [1]


@pytest.fixture
def doubtful(desk: Desk) -> Desk:
    """A save of "two" over "one" was done, and both its answers were lost: it waits."""
    desk.save("/log.md", "one\n")
    desk.network.lost = 2
    silently(desk, "two\n", append=False)
    assert desk.stored() == {"/log.md": "two\n"}
    return desk


def the_old_text_again(desk: Desk, *, renamed: bool) -> None:
    """Save "one" over /log.md, as a program does that writes in place, or one that saves by rename."""
    if not renamed:
        desk.save("/log.md", "one\n")
        return
    desk.save("/log.md.tmp", "one\n")
    desk.copy.rename("/log.md.tmp", "/log.md")


@pytest.mark.parametrize("renamed", [False, True])
def test_an_old_text_that_is_saved_again_over_one_in_doubt_is_no_success_where_the_store_has_the_other(
    doubtful: Desk, renamed: bool
) -> None:
    with pytest.raises(OSError, match="somebody else changed it meanwhile") as told:
        the_old_text_again(doubtful, renamed=renamed)
    assert told.value.errno == errno.ESTALE
    assert doubtful.read("/log.md") == "two\n"
    assert doubtful.read(doubtful.beside("/log.md", "conflict")[0]) == "one\n"
    the_old_text_again(doubtful, renamed=renamed)
    assert doubtful.stored() == {"/log.md": "one\n"}


@pytest.mark.parametrize("renamed", [False, True])
def test_an_old_text_that_is_saved_again_over_one_that_never_arrived_makes_no_version(
    desk: Desk, renamed: bool
) -> None:
    desk.save("/log.md", "one\n")
    desk.network.swallowed = 2
    silently(desk, "two\n", append=False)
    the_old_text_again(desk, renamed=renamed)
    assert desk.log() == [("created", "/log.md", "one\n")]
    assert desk.copy.attributes("/log.md")["state"] == "stored"


def test_a_text_that_is_saved_by_rename_over_itself_in_doubt_is_no_conflict_with_who_built_on_it(
    doubtful: Desk,
) -> None:
    doubtful.others_write("/log.md", "two\ntheirs\n")
    doubtful.save("/log.md.tmp", "two\n")
    doubtful.copy.rename("/log.md.tmp", "/log.md")
    assert doubtful.stored() == {"/log.md": "two\ntheirs\n"}
    assert doubtful.beside("/log.md", "conflict") == []


@pytest.mark.parametrize("learned", [False, True])
def test_the_deletion_of_a_new_file_in_doubt_deletes_the_memory_that_it_made(desk: Desk, learned: bool) -> None:
    desk.network.lost = 2
    silently(desk, "mine\n", append=False)
    if learned:
        desk.copy.refresh()
    desk.copy.unlink("/log.md")
    assert desk.stored() == {}
    desk.copy.refresh()
    assert desk.names() == []


def test_the_deletion_of_a_new_file_that_never_arrived_deletes_nothing(desk: Desk) -> None:
    desk.network.swallowed = 2
    silently(desk, "mine\n", append=False)
    desk.copy.unlink("/log.md")
    assert (desk.log(), desk.names()) == ([], [])


def test_the_deletion_of_a_new_file_in_doubt_deletes_no_text_that_others_have_made_of_it(desk: Desk) -> None:
    desk.network.lost = 2
    silently(desk, "mine\n", append=False)
    desk.others_write("/log.md", "mine\ntheirs\n")
    with pytest.raises(OSError, match="somebody else made it meanwhile") as told:
        desk.copy.unlink("/log.md")
    assert told.value.errno == errno.EBUSY
    assert desk.stored() == {"/log.md": "mine\ntheirs\n"}
    assert desk.read("/log.md") == "mine\ntheirs\n"


def test_the_deletion_of_a_file_in_doubt_deletes_it_with_either_text(doubtful: Desk) -> None:
    doubtful.copy.unlink("/log.md")
    assert doubtful.stored() == {}
    doubtful.save("/log.md", "one\n")
    doubtful.network.swallowed = 2
    silently(doubtful, "two\n", append=False)
    doubtful.copy.unlink("/log.md")
    assert doubtful.stored() == {}


def test_a_new_file_in_doubt_stays_where_nobody_answers_what_became_of_it(desk: Desk) -> None:
    desk.network.lost = 2
    silently(desk, "mine\n", append=False)
    desk.network.down = True
    with pytest.raises(OSError, match="does not answer") as told:
        desk.copy.unlink("/log.md")
    assert told.value.errno == errno.EIO
    assert desk.read("/log.md") == "mine\n"
    desk.network.down = False
    desk.copy.unlink("/log.md")
    assert desk.stored() == {}
