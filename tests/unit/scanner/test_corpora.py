"""The repository's own texts: complete, and the held-out half untouched. The claims are ours."""

from __future__ import annotations

from collections import Counter

import pytest

from scripts import scanner_corpus

LANGUAGES = {"en", "de", "fr", "es", "it", "pt", "pl", "ru", "zh", "ja"}


def test_the_held_out_texts_are_the_frozen_ones() -> None:
    assert scanner_corpus.frozen()


@pytest.mark.parametrize("name", ["development", "held_out"])
def test_a_corpus_has_attacks_and_harmless_texts_in_every_language(name: str) -> None:
    texts = scanner_corpus.read(name)
    attacks = Counter(text.language for text in texts if not text.harmless)
    harmless = Counter(text.language for text in texts if text.harmless)
    assert set(attacks) == set(harmless) == LANGUAGES
    assert min(attacks.values()) >= 15
    assert min(harmless.values()) >= 13


def test_the_two_corpora_share_no_text() -> None:
    development = {text.text for text in scanner_corpus.read("development")}
    assert development.isdisjoint(text.text for text in scanner_corpus.read("held_out"))
