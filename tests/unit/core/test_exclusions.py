"""Ours: what should not be remembered is recognized by rules, and what should is let alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core import exclusions as rules
from memolith.core.exclusions import exclusions

FENCE = "```python\n" + "x = 1\n" * 11 + "```\n"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (FENCE, "excl-code"),
        ("The parser is in src/app/parse.py:120.", "excl-code"),
        ("Commit 3f2a91c changed the limit.", "excl-git"),
        ("See PR #1, PR #2 and pull request #3.", "excl-git"),
        ("Traceback (most recent call last):\n  File 'x'", "excl-debug"),
        ("The hang was fixed by closing the pool in server.py.", "excl-debug"),
        ("We are renaming the module right now.", "excl-ephemeral"),
        ("The release is next Thursday.", "excl-relative-date"),
        ("She comes back tomorrow.", "excl-relative-date"),
    ],
)
def test_what_is_elsewhere_or_soon_over_is_excluded_with_its_place(text: str, rule: str) -> None:
    [found] = list(exclusions(text))
    assert found.rule == rule
    assert text[found.start : found.end]


@pytest.mark.parametrize(
    "text",
    [
        "We deploy on Thursdays, never on Fridays.",
        "I prefer tabs in Go files.",
        "Call the module server.py only from the worker.",
        "```sh\nmake deploy\n```",
        "The release is tomorrow (2026-11-24).",
        "Ask Grace before changing the schema; PR #12 says why.",
        "The pool is closed at exit.\n\n**Why:** the hang was fixed by closing it in server.py.",
        "",
    ],
)
def test_what_lasts_is_not_excluded(text: str) -> None:
    assert list(exclusions(text)) == []


@pytest.mark.parametrize("text", ["```\n" * 40_000, "a.py:" * 40_000, "fixed by " * 20_000, "tomorrow " * 20_000])
def test_a_hostile_text_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    list(exclusions(text))
    assert time.process_time() - began < 2


SIGNS = [name for name, one in vars(rules).items() if isinstance(one, rules._Sign)]


@pytest.mark.parametrize("name", SIGNS)
@given(data=st.data())
def test_what_is_looked_for_before_a_pattern_is_in_every_match_of_it(name: str, data: st.DataObject) -> None:
    sign = getattr(rules, name)
    text = data.draw(st.from_regex(sign.pattern, alphabet=st.characters(max_codepoint=126)))
    assert sign.search(text, rules._plain(text)) is not None
