"""What of a text is searched, which time a query names, and in which order memories answer it. All of it is ours."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.objects.search_pack import Manifest, PackKey, text_max_bytes
from memolith.core.search import words as word_rules
from memolith.core.search.analysis import (
    PASSAGE_WORDS,
    STOP_WORDS,
    analysed,
    length,
    passage,
    path_names,
    query_words,
)
from memolith.core.search.excerpts import excerpt
from memolith.core.search.ranking import REORDERED_MAX, Candidate, Corpus, Ranked, alike, rank, reordered
from memolith.core.search.words import words


def as_it_is(word: str) -> str:
    return word


@given(st.text(max_size=400))
def test_every_word_stands_where_it_says_and_none_has_a_blank_or_a_quote_in_it(text: str) -> None:
    for word in words(text):
        assert word.extra or text[word.start : word.end].startswith(word.text)
        assert 0 <= word.start < word.end <= len(text)
        assert word.lower
        assert not any(character.isspace() or character == '"' for character in word.lower)


@given(st.text(st.sampled_from("aZ9é_ '’-猫กʼ\u0301\u064bبक्\n.กำ가ßﬁA"), max_size=40))
def test_plain_words_are_those_that_the_general_rule_finds(text: str) -> None:
    general = re.compile(f"{word_rules._RUN}|{word_rules._LETTERS}(?:['’ʼʻ]{word_rules._LETTERS})*")
    found = [match.span() for match in word_rules._WORD.finditer(text)]
    assert found == [match.span() for match in general.finditer(text)]


@given(st.text(max_size=400))
def test_a_text_finds_itself(text: str) -> None:
    """What a query of the same words asks for is in the text's own passages, but for words that carry nothing."""
    stems = {stem for one in analysed(text, as_it_is).passages for stem in one.split()}
    assert set(query_words(text, as_it_is).stems) - STOP_WORDS <= stems


@given(st.lists(st.sampled_from(["alpha", "the", "Ünder", "東京", "don't", "x1", "api-gateway"]), max_size=300))
def test_the_passages_are_all_of_a_text_and_each_begins_where_it_says(parts: list[str]) -> None:
    text = " ".join(parts)
    found = analysed(text, as_it_is)
    every = list(words(text))
    stems = [word.lower for word in every if word.lower not in STOP_WORDS]
    assert [stem for one in found.passages for stem in one.split()] == stems
    assert length(found.passages) == len(stems)
    assert list(found.starts) == [word.start for word in every if not word.extra][::PASSAGE_WORDS]


@given(st.lists(st.sampled_from(["red", "door", "doorred"]), max_size=20), st.sampled_from(["red", "door", "doorred"]))
def test_a_stem_is_found_in_a_passage_as_often_as_it_is_there(stems: list[str], stem: str) -> None:
    assert passage(stems).count(f" {stem} ") == stems.count(stem)


FILLER = "Filler words here. " * 25
PIECES = (
    "red",
    "door ",
    "Doors, ",
    "l'équipe ",
    "don't ",
    "東京タワー",
    "getRedDoor() ",
    "Zu\u0308rich ",
    "— ",
    "\n",
    "x_y ",
)


@given(st.lists(st.sampled_from(PIECES), max_size=120), st.integers(8, 80))
def test_an_excerpt_is_a_part_of_the_text_that_begins_and_ends_with_a_word(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    for number in range(len(analysed(text, as_it_is).starts) or 1):
        found = excerpt(text, analysed(text, as_it_is).starts, number, {"door", "red"}, as_it_is, size)
        assert found in text
        assert len(found) <= size


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=120))
def test_an_excerpt_has_a_word_that_was_asked_for_where_its_passage_has_one(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = analysed(text, as_it_is)
    for wanted in ("red", "door", "equipe", "zurich", "東京"):
        for number, has in enumerate(found.passages):
            shown = excerpt(text, found.starts, number, {wanted}, as_it_is, 120)
            assert (f" {wanted} " not in has) or wanted in {word.lower for word in words(shown)}


def test_an_excerpt_is_where_most_of_the_wanted_words_stand_together() -> None:
    text = f"A red herring. {FILLER}Then the red door opened at noon. {'More filler. ' * 30}"
    found = excerpt(text, (0,), 0, {"red", "door", "noon"}, as_it_is, 120)
    assert "the red door opened at noon" in found
    assert re.search(rf"(?<!\w){re.escape(found)}(?!\w)", text)


@pytest.mark.parametrize("size", [40, 77, 120, 200])
def test_an_excerpt_of_running_text_cuts_no_word_at_either_end(size: int) -> None:
    text = f"{FILLER}The gatekeeper's caravan crossed Zu\u0308rich's bridge, didn't it? {FILLER}"
    found = excerpt(text, (0,), 0, {"bridge"}, as_it_is, size)
    assert "bridge" in found
    assert re.search(rf"(?<![\w'\u0308]){re.escape(found)}(?![\w'\u0308])", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Caroline: hi! We met in Paris.", {"caroline", "paris"}),
        ("Then Bob left. Soon it rained.", {"bob"}),
        ("NASA and ESA", set()),
        ("Meeting notes", set()),
    ],
)
def test_names_are_capitals_where_no_sentence_begins(text: str, found: set[str]) -> None:
    assert analysed(text, as_it_is).names == found


def test_a_paths_words_name_what_it_is_about() -> None:
    assert path_names("/people/caroline-smith.md") == {"people", "caroline", "smith", "carolinesmith"}
    assert path_names("/v1.2/notes") == {"v1", "2", "notes"}


def test_words_that_only_ask_look_for_nothing_unless_nothing_else_is_left() -> None:
    asked = query_words("When did Caroline mention the marathon?", as_it_is)
    assert (tuple(asked.stems), asked.telling) == (("caroline", "mention", "marathon"), ("caroline", "marathon"))
    assert query_words("remember?", as_it_is).telling == ("remember",)
    assert tuple(query_words("what is it", as_it_is).stems) == ("what", "is", "it")
    assert query_words("Deploys, deploy!", lambda word: word.rstrip("s")).stems == {"deploy": "deploys"}


def candidate(id: str, *passages: str, names: str = "", at: int = 0) -> Candidate:
    stems = tuple(passage(one.split()) for one in passages)
    return Candidate(id, stems, length(stems), frozenset(names.split()), at, at)


def order(
    candidates: list[Candidate], query: str, names: str = "", when: tuple[tuple[int, int], ...] = ()
) -> list[str]:
    stems = query.split()
    frequencies = {stem: sum(any(stem in part for part in one.passages) for one in candidates) for stem in stems}
    corpus = Corpus(len(candidates), 3.0, frequencies)
    asked = dict.fromkeys(stems, 1.0)
    return [one.memory_id for one in rank(candidates, asked, frozenset(names.split()), when, corpus)]


def test_rare_words_weigh_more_and_words_that_stand_together_more_than_words_that_do_not() -> None:
    common = [candidate(f"c{number}", "the team met") for number in range(5)]
    assert order([*common, candidate("x", "the zebra met")], "team zebra")[0] == "x"
    apart, together = candidate("a", "red", "filler", "door"), candidate("b", "red door", "filler")
    assert order([apart, together], "red door") == ["b", "a"]
    parted, side_by_side = candidate("a", "red old wooden door"), candidate("b", "old wooden red door")
    assert order([parted, side_by_side], "red door") == ["b", "a"]


def test_names_and_times_draw() -> None:
    plain, named = candidate("a", "red door"), candidate("b", "red door", names="caroline")
    assert order([plain, named], "red door", "caroline") == ["b", "a"]
    old, new = candidate("a", "red door", at=0), candidate("b", "red door", at=50 * 86_400_000_000)
    assert order([old, new], "red door", when=((50 * 86_400_000_000, 51 * 86_400_000_000),)) == ["b", "a"]
    assert order([old, new], "red door") == ["a", "b"], "nothing is drawn for being new"


@pytest.mark.parametrize(
    ("word", "other", "are"),
    [
        ("anchovi", "anchov", True),
        ("migraton", "migration", True),
        ("recieve", "receive", True),
        ("house", "mouse", True),
        ("house", "horses", False),
        ("abc", "abc", True),
        ("abcd", "badc", False),
    ],
)
def test_words_are_alike_that_differ_by_one_slip(word: str, other: str, are: bool) -> None:
    assert alike(word, other) is alike(other, word) is are


@given(st.lists(st.integers(0, 1_000), max_size=50), st.integers(0, 20_000))
def test_texts_are_taken_as_far_as_the_budget_goes_and_short_ones_whole(sizes: list[int], budget: int) -> None:
    bound = text_max_bytes(sizes, budget)
    assert sum(min(size, bound) for size in sizes) <= budget
    assert sum(sizes) > budget or bound >= max(sizes, default=0)


@given(
    st.integers(0, 10**16),
    st.one_of(st.none(), st.integers(0, 10**16)),
    st.integers(0, 10**6),
    st.sampled_from([None, "0002:eu-west-1:1 cut_1"]),
)
def test_a_manifest_comes_back_as_it_was(began_at: int, until: int | None, count: int, term: str | None) -> None:
    manifest = Manifest(began_at, until, count, "0" * 64, term)
    assert Manifest.from_metadata(manifest.to_metadata()) == manifest


def test_a_packs_key_comes_back_and_the_next_one_sorts_after_it() -> None:
    key = PackKey("memstore_a", 9)
    assert PackKey.parse(str(key)) == key
    assert str(key.following) > str(key)
    with pytest.raises(ValueError, match="not a key"):
        PackKey.parse("us-east-1/log/memstore_a/0000000001")


# ---- meanings --------------------------------------------------------------------------------------------------------


def test_what_means_the_same_comes_before_what_has_slightly_better_words() -> None:
    found = [Ranked("a", 10.0, 1), Ranked("b", 9.5, 1), Ranked("c", 2.0, 1)]
    assert [one.memory_id for one in reordered(found, {"a": 0.1, "b": 0.4, "c": 0.5})] == ["b", "a", "c"]
    assert reordered(found, {}) == found, "without a vector nothing changes"


def test_a_memory_without_a_vector_keeps_its_place_among_those_that_have_one() -> None:
    found = [Ranked("a", 10.0, 1), Ranked("new", 9.0, 1), Ranked("b", 8.0, 1)]
    assert [one.memory_id for one in reordered(found, {"a": 0.3, "b": 0.3})] == ["a", "new", "b"]


def test_only_the_first_memories_are_ordered_by_their_meaning() -> None:
    found = [Ranked(f"{number:03d}", 100.0 - number, 1) for number in range(REORDERED_MAX + 2)]
    last = found[-1].memory_id
    assert reordered(found, {found[0].memory_id: 0.2, last: 1.0})[-1].memory_id == last
