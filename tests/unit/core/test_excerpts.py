"""The excerpt of a text: what it costs to find the words that were asked for."""

from __future__ import annotations

import pytest

from memolith.core.search.excerpts import excerpt


@pytest.mark.parametrize("unit", ["a(", "a-", "aB"])
def test_each_word_of_a_text_without_blanks_is_stemmed_once(unit: str) -> None:
    stemmed = []

    def stem(word: str) -> str:
        stemmed.append(word)
        return word

    text = unit * 1_000
    assert text.startswith(excerpt(text, (), 0, {"a"}, stem, 300))
    assert 0 < len(stemmed) <= 2_001
