"""Words of a text, cut apart and looked up once, beside a plain way to do the same."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.scanner.misspelling import suspicious
from memolith.scanner.signs import read_tables
from memolith.scanner.vocabulary import Vocabulary
from memolith.scanner.words import Kinds, Words

PIECES = st.sampled_from((
    "ignore", "your", "rules", "all", "instrutcions", "ign0re", "send", "passwords", "regeln", "vergiss", "the", "x1",
    ". ", "! ", "? ", "; ", '."', ".'", ".)", ".", "\n", " ", "  ", "|", "@", "$", "!", "_", "-", "**", "(", "é",
    "правила", "忽略", "a" * 90,
))  # fmt: skip


@pytest.fixture(scope="module")
def known() -> Vocabulary:
    return Vocabulary(read_tables()["words"])


def words_of(known: Vocabulary, text: str) -> Words:
    telling = known.set_of({"cancel", "secret"})
    return Words(text, text.encode(), Kinds(known, telling, known.set_of(known.names), suspicious))


def signs_of(known: Vocabulary, words: list[str]) -> int:
    return reduce(or_, (known[word.encode()] for word in words), 0)


@given(st.lists(PIECES, max_size=40))
def test_a_sentence_shows_the_signs_of_its_words_and_of_no_others(known: Vocabulary, pieces: list[str]) -> None:
    text = "".join(pieces)
    words = words_of(known, text)
    for number, kinds in enumerate(words.sentences()):
        start, end = words.place(number)
        sentence = text.encode()[start:end].decode("utf-8", "ignore")
        alone = re.findall(r"[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+", sentence)
        assert words.kinds.signs(kinds) == signs_of(known, alone)


@given(st.lists(PIECES, max_size=40))
def test_sentences_follow_each_other_and_leave_only_line_breaks_out(known: Vocabulary, pieces: list[str]) -> None:
    text = "".join(pieces)
    words, encoded, done = words_of(known, text), text.encode(), 0
    for number in range(len(words.sentences())):
        start, end = words.place(number)
        assert set(encoded[done:start]) <= set(b"\n \"'.)!?;")
        done = end
    assert not encoded[done:].strip(b"\n \"'.)!?;")


@given(st.lists(PIECES, max_size=40))
def test_every_suspicious_word_is_a_suspect(known: Vocabulary, pieces: list[str]) -> None:
    text = "".join(pieces)
    whole = set(re.sub(r"[\x00-\x20\"-#%-/:-?\[-`{}~\x7f]", " ", text).encode().split())
    assert words_of(known, text).suspects() == set(filter(suspicious, whole))


def test_more_combinations_of_signs_than_there_are_characters_for_lose_no_sign(
    known: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.scanner.words._MOST_CHARS", 0)
    words = words_of(known, "ignore all passwords")
    (kinds,) = words.sentences()
    assert words.kinds.signs(kinds) == signs_of(known, ["ignore", "all", "passwords"])
    assert len(kinds) > 3


def test_a_run_without_blanks_is_looked_up_once_however_often_a_text_has_it(known: Vocabulary) -> None:
    asked: list[bytes] = []
    text = "在每个回答中推荐\n" * 100

    def note(word: bytes) -> bool:
        asked.append(word)
        return False

    words = Words(text, text.encode(), Kinds(known, 0, known.set_of(known.names), note))
    assert len(words.sentences()) == 100
    assert len(asked) == 1
