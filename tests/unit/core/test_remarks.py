"""A day's log: what a remark looks like in it, and what is read back of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.errors import InvalidRequest
from memolith.core.limits import REMARKS_PER_DREAM
from memolith.core.remarks import check_remark, entry, is_log, log_path, notes_of, remarks_of
from memolith.core.times import parse_rfc3339

NOON = parse_rfc3339("2026-11-23T12:00:07.5Z")
LOG = "/logs/2026/11/2026-11-23.md"


def test_a_remark_is_a_stamped_entry_of_the_log_of_its_day() -> None:
    assert (log_path(NOON), log_path(NOON, 2)) == (LOG, "/logs/2026/11/2026-11-23.2.md")
    assert entry(NOON, " Deploy on Thursdays.\nThe engineer is in.\n") == (
        "- 12:00:07Z Deploy on Thursdays.\n  The engineer is in.\n"
    )
    assert all(map(is_log, (LOG, log_path(NOON, 20))))
    assert not any(map(is_log, ("/logs/a.md", "/notes/2026-11-23.md", f"/x{LOG}", f"{LOG}/a", "/logs/2026/11/x.md")))


@given(st.lists(st.text(min_size=1, max_size=200).filter(lambda text: text.strip()), min_size=1, max_size=5))
def test_no_text_looks_like_two_remarks_or_like_a_part_of_another(texts: list[str]) -> None:
    content = "".join(entry(NOON + number, text) for number, text in enumerate(texts))
    found = remarks_of(LOG, content)
    assert [one.number for one in found] == list(range(1, len(texts) + 1))
    assert [one.text.split() for one in found] == [text.split() for text in texts]


def test_what_a_person_writes_into_a_log_by_hand_is_read_too_and_headings_are_passed_over() -> None:
    content = "# Monday\n\n- 09:30 Ada is away.\n- 10:00:05Z Grace leads.\nsomething else\n- 25:00 no time\n"
    assert [(one.at[11:19], one.text) for one in remarks_of(LOG, content)] == [
        ("09:30:00", "Ada is away."),
        ("10:00:05", "Grace leads."),
    ]
    assert remarks_of("/notes/a.md", content) == []


def test_a_dream_is_handed_the_remarks_since_the_last_one_in_their_order() -> None:
    earlier, later = log_path(NOON - 24 * 3_600_000_000), LOG
    logs = {later: "- 12:00:07Z two\n- 12:00:08Z three\n", earlier: "- 23:00 one\n"}
    notes, left_us = notes_of(logs, 0, logs.__getitem__)
    assert ([note["body"] for note in notes], left_us) == (["one", "two", "three"], None)
    assert [note["id"] for note in notes_of(logs, NOON + 600_000, logs.__getitem__)[0]] == [f"{LOG}#2"], (
        "of that second on"
    )
    assert notes_of(logs, NOON + 5_000_000, logs.__getitem__) == ([], None)


def test_of_more_remarks_than_a_dream_is_handed_it_gets_the_oldest_and_the_next_one_gets_the_others() -> None:
    stamps = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(REMARKS_PER_DREAM + 2)]
    logs = {LOG: "".join(f"- {stamp} remark of {stamp}\n" for stamp in stamps)}
    first, left_us = notes_of(logs, 0, logs.__getitem__)
    assert [note["body"] for note in first] == [f"remark of {stamp}" for stamp in stamps[:-2]]
    assert left_us == parse_rfc3339(f"2026-11-23T{stamps[-2]}:00Z")
    second, left_us = notes_of(logs, left_us, logs.__getitem__)
    assert ([note["body"] for note in second], left_us) == ([f"remark of {stamp}" for stamp in stamps[-2:]], None)


def test_more_remarks_of_one_second_than_a_dream_is_handed_keep_no_later_one_from_the_next() -> None:
    logs = {LOG: "- 12:00 remark\n" * (REMARKS_PER_DREAM + 1) + "- 12:01 later\n"}
    notes, left_us = notes_of(logs, 0, logs.__getitem__)
    assert len(notes) == REMARKS_PER_DREAM
    assert left_us is not None
    assert [note["body"] for note in notes_of(logs, left_us, logs.__getitem__)[0]] == ["later"]


def test_a_dream_is_handed_what_came_into_a_log_since_with_an_earlier_time_once() -> None:
    before = "- 09:30 one\n- 09:30 one\n- 10:00 two\n"
    logs = {LOG: f"- 09:00 zero\n- 09:30 one\n{before}- 11:00 three\n  and more\n- 12:00:08Z four\n"}
    notes, left_us = notes_of(logs, NOON, lambda path: before)
    assert [note["body"] for note in notes] == ["zero", "one", "three\nand more", "four"]
    assert ([note["id"] for note in notes], left_us) == ([f"{LOG}#{number}" for number in (1, 4, 6, 7)], None)
    assert [note["body"] for note in notes_of(logs, NOON, lambda path: logs[path])[0]] == ["four"]


def test_more_remarks_with_an_earlier_time_than_a_dream_is_handed_keep_no_later_one_from_it() -> None:
    logs = {LOG: "- 11:00 early\n" * (REMARKS_PER_DREAM + 1) + "- 12:01 later\n- 12:02 last\n"}
    notes, left_us = notes_of(logs, NOON, lambda path: "")
    assert (len(notes), left_us) == (REMARKS_PER_DREAM, None)
    assert [note["body"] for note in notes[-2:]] == ["later", "last"]


@pytest.mark.parametrize("text", ["", " \n\t", "x" * 2_001])
def test_what_says_nothing_or_too_much_is_no_remark(text: str) -> None:
    with pytest.raises(InvalidRequest, match="2,000"):
        check_remark(text)
