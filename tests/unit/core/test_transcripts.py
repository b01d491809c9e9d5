"""Ours: events stand in one order in every region, count once, and are believed as far as who reports them."""

from __future__ import annotations

import json
import math
from itertools import permutations

import pytest

from memolith.core.object_keys import TRANSCRIPT_ERASURE, TranscriptKey, parse_key
from memolith.core.objects.transcript import Event, TranscriptPart, event_id
from memolith.core.rows.transcripts import TranscriptRow, join_transcript
from memolith.core.transcripts import after, before, counting, days_kept, is_over, place, trust_of, unrecorded
from memolith.core.trust import AGENT, TOOL_EXTERNAL, TOOL_INTERNAL, USER

WORKSPACE, SESSION = "wrkspc_default", "sesn_useast1_01m83b139sgy7nmp15vwsq4br0"
DAY_US = 24 * 3600 * 1_000_000


def event(name: str, at: int = 5, type: str = "user.message") -> Event:
    return Event(event_id(SESSION, name), type, at, AGENT, {"content": [{"text": f"text of {name}"}]}, name, 1)


def part(*events: Event, recorded_at: int = 10) -> TranscriptPart:
    return TranscriptPart(WORKSPACE, SESSION, recorded_at, "api_key:apikey_x", events)


def row(made: TranscriptPart, region: str = "us-east-1", sequence: int = 1) -> TranscriptRow:
    return TranscriptRow.of(made, region, sequence, 1)


def test_the_key_of_a_part_and_of_the_order_to_erase_are_read_back() -> None:
    for sequence in (1, TRANSCRIPT_ERASURE):
        key = TranscriptKey("us-east-1", WORKSPACE, SESSION, sequence)
        assert parse_key(str(key)) == key
        assert key.is_erasure is (sequence == TRANSCRIPT_ERASURE)


def test_what_an_earlier_release_wrote_of_a_number_that_is_none_is_read_as_nothing() -> None:
    said = {"input": {"n": [math.inf, -math.inf, math.nan, 1.5]}}
    lines = part(Event(event_id(SESSION, "a"), "agent.tool_use", 5, AGENT, said)).to_lines()
    assert b'"n": [Infinity, -Infinity, NaN, 1.5]' in lines
    [read] = TranscriptPart.from_lines(lines).events
    assert read.fields == {"input": {"n": [None, None, None, 1.5]}}


def test_a_part_is_read_back_from_its_lines_and_fields_of_a_newer_release_are_ignored() -> None:
    made = part(event("a"), event("b", at=7))
    lines = made.to_lines().splitlines()
    assert TranscriptPart.from_lines(made.to_lines()) == made
    assert json.loads(lines[0])["schema"] == "1"
    newer = b"\n".join(json.dumps({**json.loads(line), "later": 1}).encode() for line in lines)
    assert TranscriptPart.from_lines(newer) == made


def test_an_event_of_1970_whose_class_is_unknown_is_read_back() -> None:
    made = part(Event("sevt_1", "user.message", 0, None, {}))
    assert TranscriptPart.from_lines(made.to_lines()) == made


@pytest.mark.parametrize("body", [b"", b"[]\n", b'{"schema": "1"}\n', b'{"schema": "2", "workspace_id": "w"}\n'])
def test_a_body_that_is_no_part_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        TranscriptPart.from_lines(body)


def test_an_erased_part_has_no_text_and_keeps_the_ends_of_ids_only_where_its_time_was_over() -> None:
    made = part(event("a"), event("b"))
    for keep_ids in (True, False):
        blank = TranscriptPart.from_lines(made.blanked(99, keep_ids=keep_ids).to_lines())
        assert (blank.events, blank.erased_at) == ((), 99)
        assert blank.id_ends == (made.id_ends if keep_ids else ())
        assert b"text of" not in blank.to_lines()
        assert row(blank).ids == list(blank.id_ends)


def test_rows_of_one_part_join_to_the_same_in_any_order_and_nothing_erased_comes_back() -> None:
    made = part(event("a"))
    states = [row(made), row(made.blanked(20, keep_ids=True)), row(made.blanked(30, keep_ids=False))]
    joined = set()
    for order in permutations([*states, states[0]]):
        one = None
        for state in order:
            one = join_transcript(one, state)
        assert one is not None
        joined.add(one)
    assert joined == {states[2]}, "erased, and without the ends of ids, as the session was deleted"


def test_an_event_that_was_sent_to_two_regions_counts_in_the_part_that_was_recorded_first() -> None:
    rows = [row(part(event("a"), event("b"), recorded_at=11)), row(part(event("a"), recorded_at=9), "eu-west-1")]
    for given in (rows, rows[::-1]):
        assert counting(given) == {
            event("a").id_end: ("eu-west-1", 1),
            event("b").id_end: ("us-east-1", 1),
        }


def test_events_are_recorded_once_and_other_events_of_the_same_time_beside_them() -> None:
    given = [event("a"), event("b"), event("a")]
    assert [one.client_event_id for one in unrecorded(given, [event("b").id_end])] == ["a"]


def test_events_stand_by_their_time_then_region_part_and_place() -> None:
    places = [
        place(5, "eu", 2, 0),
        place(5, "us", 1, 0),
        place(5, "us", 1, 1),
        place(5, "us", 10, 0),
        place(40, "a", 1, 0),
    ]
    assert places == sorted(places)
    assert before(5, "us", 1) < places[1] < places[2] < after(5, "us", 1)
    assert after(5, "us", 1) < before(5, "us", 10) < places[3] < after(5, "us", 10) < places[4]
    assert places[0] < before(5, "us", 1)


@pytest.mark.parametrize(
    ("type", "writer", "suspicious", "trust"),
    [
        ("user.message", USER, False, USER),
        ("user.message", AGENT, False, AGENT),
        ("user.message", USER, True, TOOL_EXTERNAL),
        ("agent.message", USER, False, AGENT),
        ("agent.tool_use", TOOL_INTERNAL, False, TOOL_INTERNAL),
        ("agent.tool_result", USER, False, TOOL_EXTERNAL),
        ("agent.mcp_tool_result", USER, False, TOOL_EXTERNAL),
        ("user.tool_result", USER, False, TOOL_EXTERNAL),
        ("somebody.else", USER, False, TOOL_EXTERNAL),
        ("user.message", None, True, None),
    ],
)
def test_an_event_is_believed_as_its_reporter_and_what_a_tool_gave_as_a_stranger(
    type: str, writer: str | None, suspicious: bool, trust: str | None
) -> None:
    assert trust_of(type, writer, suspicious=suspicious) == trust


def test_a_transcript_is_kept_for_the_fewest_days_that_one_of_its_stores_says() -> None:
    assert days_kept([]) == days_kept([None]) == 30
    assert days_kept([None, 7, 365]) == 7
    made = row(part(event("a"), recorded_at=0))
    assert not is_over(made, 7, 7 * DAY_US - 1)
    assert is_over(made, 7, 7 * DAY_US)
    assert not is_over(row(part(event("a")).blanked(1, keep_ids=True)), 7, 9 * DAY_US)
