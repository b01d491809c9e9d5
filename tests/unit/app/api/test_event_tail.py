"""What a stream has of a session's events, whatever order replication brings them in."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import CallCounts
from memolith.app.api import event_tail
from memolith.app.api.event_tail import EventTail
from memolith.app.index import transcript_log
from memolith.core.object_keys import TranscriptKey
from memolith.core.objects.transcript import Event
from tests.support.cloud import WORKSPACE
from tests.unit.app.api.test_transcripts import begin, record, said
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def session(scene: Scene) -> str:
    return begin(scene)


def tail(scene: Scene, session: str, at: str = HOME) -> EventTail:
    return scene.at(at).transcripts.tail(scene.call(), session)


def texts(events: list[Event]) -> list[str]:
    return [event.fields["content"][0]["text"] for event in events]


def arrive(scene: Scene, region: str, key: TranscriptKey) -> None:
    """One object's own event, or that of its copy, is played."""
    found = [
        number for number, event in enumerate(scene.cloud.pending) if (event.region, event.key) == (region, str(key))
    ]
    scene.cloud.deliver_one(found[0])


def test_parts_that_arrive_in_another_order_are_each_streamed_once(scene: Scene, session: str) -> None:
    record(scene, session, said("zero"))
    scene.deliver()
    here = tail(scene, session, AWAY)
    for text in ("one", "two", "three"):
        record(scene, session, said(text))
    keys = [TranscriptKey(HOME, WORKSPACE, session, sequence) for sequence in (1, 2, 3, 4)]
    for key in keys[1:]:
        arrive(scene, HOME, key)
    came = []
    for key in (keys[3], keys[1], keys[2]):
        arrive(scene, AWAY, key)
        came.append(texts(here.news()))
        assert here.news() == []
    assert came == [["three"], ["one"], ["two"]]


def test_an_event_that_two_regions_were_sent_is_streamed_once(scene: Scene, session: str) -> None:
    known = tail(scene, session)
    record(scene, session, said("same", "a"), said("mine"))
    assert texts(known.news()) == ["same", "mine"]
    record(scene, session, said("same", "a"), said("theirs"), at=AWAY)
    scene.deliver()
    assert texts(known.news()) == ["theirs"]
    both = tail(scene, session)
    record(scene, session, said("again", "b"))
    record(scene, session, said("again", "b"), at=AWAY)
    scene.deliver()
    assert texts(both.news()) == ["again"]


def test_an_event_of_long_ago_that_is_reported_now_is_streamed_now(scene: Scene, session: str) -> None:
    record(scene, session, said("recent"))
    here = tail(scene, session)
    record(scene, session, said("later", at=scene.clock.now_us() - 1), said("long ago", at=1_000_000))
    assert texts(here.news()) == ["long ago", "later"]


def test_more_parts_than_a_look_takes_follow_at_the_next(
    scene: Scene, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tail(scene, session)
    numbers = [str(number) for number in range(5)]
    for number in numbers:
        scene.clock.advance(1)
        record(scene, session, said(number))
    monkeypatch.setattr(event_tail, "PARTS_MAX", 2)
    assert [texts(here.news()) for _ in range(4)] == [["0", "1"], ["2", "3"], ["4"], []]
    monkeypatch.setattr(event_tail, "SENT_MAX_BYTES", 1)
    for number in numbers:
        scene.clock.advance(1)
        record(scene, session, said(number))
    assert [texts(here.news()) for _ in range(6)] == [*([number] for number in numbers), []], "one at least"


def test_a_session_that_ends_is_said_to_have_ended_behind_all_that_came(
    scene: Scene, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tail(scene, session)
    for number in range(3):
        scene.clock.advance(1)
        record(scene, session, said(str(number)))
    scene.at(HOME).sessions.archive(scene.call(), session)
    monkeypatch.setattr(event_tail, "PARTS_MAX", 2)
    assert (texts(here.news()), ended(here)) == (["0", "1"], None)
    assert (texts(here.news()), ended(here)) == (["2"], "session.status_terminated")


def test_a_long_transcript_is_not_read_again_at_each_look(
    scene: Scene, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_log, "ROWS_PER_PAGE", 2)
    for number in range(7):
        record(scene, session, said(str(number)))
    opening, look, idle = CallCounts(), CallCounts(), CallCounts()
    with scene.intercepted_by(opening):
        here = tail(scene, session)
    record(scene, session, said("new"))
    with scene.intercepted_by(look):
        assert texts(here.news()) == ["new"]
    with scene.intercepted_by(idle):
        assert here.news() == []
    assert (opening.calls["index.query"], opening.rows["found"]) == (4, 7)
    assert (look.calls["index.query"], look.rows["found"], look.calls["objects.get"]) == (2, 1, 1)
    assert (idle.calls["index.query"], idle.rows["found"]) == (2, 0)


def test_an_order_to_erase_a_transcript_ends_the_stream_before_what_came_with_it(scene: Scene, session: str) -> None:
    here, there = tail(scene, session), tail(scene, session, AWAY)
    record(scene, session, said("unseen"))
    scene.at(HOME).sessions.delete(scene.call(), session)
    assert (here.news(), ended(here)) == ([], "session.deleted")
    assert (there.news(), ended(there)) == ([], None)
    scene.deliver()
    assert (there.news(), ended(there)) == ([], "session.deleted")


def ended(stream: EventTail) -> str | None:
    return None if stream.end is None else stream.end.type
