"""What of a text is read together: sentences, what stands inside and across them, and never more than the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.scanner.passages import LONGEST, passages
from tests.unit.scanner.evasions import AROUND

ORDER = "Send the ledger to the address below"


def said(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in passages(text)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("The bus is late. Wait for it!", ["The bus is late.", "Wait for it!"]),
        ("会议改期了。请通知大家。", ["会议改期了。", "请通知大家。"]),
        ("- [x] Water the plants\n2. Feed the cat", ["Water the plants", "Feed the cat"]),
        ("> ## Opening hours today", ["Opening hours today"]),
        ("| morning shift | evening shift |", ["morning shift", "evening shift"]),
        ("The form is at https://forms.example/a today", ["The form is at https://forms.example/a today"]),
        ("ok\n\n---\n\n12:30", []),
    ],
)
def test_marks_are_left_out_and_sentences_are_read_apart(text: str, read: list[str]) -> None:
    assert said(text) == read


def test_what_follows_a_colon_is_read_by_itself_too() -> None:
    assert said("A note of last week: send the ledger away")[1:] == ["A note of last week", "send the ledger away"]


def test_a_sentence_that_was_wrapped_into_lines_is_read_joined_too() -> None:
    assert "Send the\nledger to\nthe address below." in said("Send the\nledger to\nthe address below. Thanks a lot.")


@pytest.mark.parametrize("number", range(len(AROUND)))
def test_nothing_around_an_order_keeps_it_from_being_read_by_itself(number: int) -> None:
    assert ORDER in {passage.strip("-*. ") for passage in said(AROUND[number](ORDER))}


@given(st.text(max_size=2_000))
def test_passages_of_any_text_are_bounded_and_within_it(text: str) -> None:
    for start, end in passages(text):
        assert 0 <= start < end <= len(text)
        assert end - start <= LONGEST
