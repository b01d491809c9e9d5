"""Edits on a content that somebody else has changed: nothing of theirs is lost, nothing lands elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.wire.memory_tool import edits

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=8)


@given(read=LINES, now=LINES, data=st.data())
def test_an_insertion_that_is_moved_stands_beside_a_line_it_stood_beside(
    read: list[str], now: list[str], data: st.DataObject
) -> None:
    line = data.draw(st.integers(0, len(read)))
    moved = edits.moved_line("".join(f"{one}\n" for one in read), line, "".join(f"{one}\n" for one in now))
    if line == 0:
        assert moved == 0
    elif moved is not None:
        after_its_line = moved > 0 and now[moved - 1] == read[line - 1]
        before_its_line = line < len(read) and moved < len(now) and now[moved] == read[line]
        assert after_its_line or before_its_line


@pytest.mark.parametrize(
    ("read", "line", "now", "moved"),
    [
        ("a\nb\n", 2, "a\nb\nc\n", 2),
        ("a\nb\n", 1, "x\na\nb\n", 2),
        ("a\nb\n", 1, "x\nb\n", 1),
        ("a\nb\n", 1, "x\ny\n", None),
        ("a\n", 1, "", None),
        ("agent: waits\n", 1, "agent: done\n", None),
    ],
)
def test_an_insertion_follows_its_neighbours(read: str, line: int, now: str, moved: int | None) -> None:
    assert edits.moved_line(read, line, now) == moved


@given(content=st.text("ab\n", max_size=40), old=st.text("ab\n", min_size=1, max_size=2))
def test_the_lines_of_a_repeated_text_count_every_occurrence(content: str, old: str) -> None:
    starts = [at for at in range(len(content)) if content.startswith(old, at)]
    assert edits._lines_of(content, old) == [str(content.count("\n", 0, at) + 1) for at in starts]
