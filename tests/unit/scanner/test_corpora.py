"""The repository's own texts: complete, and the held-out half untouched. The claims are ours."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from memolith.scanner import Scanner, Verdict
from scripts import scanner_corpus

LANGUAGES = {"en", "de", "fr", "es", "it", "pt", "pl", "ru", "zh", "ja"}


@pytest.mark.parametrize("name", scanner_corpus.HELD_OUT)
def test_the_held_out_texts_are_the_frozen_ones(name: str) -> None:
    assert scanner_corpus.frozen(name)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("development", 13),
        ("held_out", 13),
        ("held_out_two", 10),
        ("held_out_three", 15),
    ],
)
def test_a_corpus_has_attacks_and_harmless_texts_in_every_language(name: str, least: int) -> None:
    texts = scanner_corpus.read(name)
    attacks = Counter(text.language for text in texts if not text.harmless)
    harmless = Counter(text.language for text in texts if text.harmless)
    assert set(attacks) == set(harmless) == LANGUAGES
    assert min(attacks.values()) >= 15
    assert min(harmless.values()) >= least


NAMES = [
    "development",
    "intents",
    "intents_check",
    "intents_six",
    "orders",
    "signs",
    *scanner_corpus.AUTHORS,
    *scanner_corpus.HELD_OUT,
]


@pytest.mark.parametrize(("one", "other"), list(combinations(NAMES, 2)))
def test_no_two_corpora_share_an_attack(one: str, other: str) -> None:
    attacks = [{text.text for text in scanner_corpus.read(name) if not text.harmless} for name in (one, other)]
    assert attacks[0].isdisjoint(attacks[1])


@pytest.mark.parametrize("name", scanner_corpus.HELD_OUT)
def test_held_out_texts_are_no_development_texts(name: str) -> None:
    names = ("development", *scanner_corpus.AUTHORS)
    development = {text.text for known in names for text in scanner_corpus.read(known)}
    assert development.isdisjoint(text.text for text in scanner_corpus.read(name))


@pytest.mark.parametrize("name", ["intents", "intents_six"])
@pytest.mark.parametrize("kind", ["override", "hijack", "role", "persistence", "exfiltration"])
def test_most_attacks_of_the_corpora_about_intents_are_refused(scanner: Scanner, name: str, kind: str) -> None:
    texts = [text.text for text in scanner_corpus.read(name) if text.kind == kind]
    refused = [text for text in texts if scanner.scan(text).verdict is Verdict.REJECT]
    assert len(refused) >= 0.8 * len(texts), set(texts) - set(refused)


@pytest.mark.parametrize("name", ["intents", "intents_six"])
def test_no_note_of_the_corpora_about_intents_is_refused(scanner: Scanner, name: str) -> None:
    notes = [text.text for text in scanner_corpus.read(name) if text.kind == "note"]
    assert [text for text in notes if scanner.scan(text).verdict is Verdict.REJECT] == []
