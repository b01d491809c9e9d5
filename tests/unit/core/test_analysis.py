"""What of a text is searched, which time a query names, and in which order memories answer it. All of it is ours."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.objects.search_pack import Manifest, PackKey, text_max_bytes
from memolith.core.search.analysis import PASSAGE_WORDS, STOP_WORDS, analysed, path_names, place, query_words, words
from memolith.core.search.query_dates import named_intervals
from memolith.core.search.ranking import Candidate, Corpus, alike, rank


def as_it_is(word: str) -> str:
    return word


@given(st.text(max_size=400))
def test_every_word_stands_where_it_says_and_none_has_a_blank_or_a_quote_in_it(text: str) -> None:
    for word in words(text):
        assert text[word.start : word.end].startswith(word.text)
        assert word.lower
        assert not any(character.isspace() or character == '"' for character in word.lower)


@given(st.text(max_size=400))
def test_a_text_finds_itself(text: str) -> None:
    """What a query of the same words asks for is in the text's own passages."""
    stems = {stem for passage in analysed(text, as_it_is).passages for stem in passage}
    assert set(query_words(text, as_it_is).stems) <= stems


@given(st.lists(st.sampled_from(["alpha", "the", "Ünder", "東京", "don't", "x1"]), max_size=300))
def test_the_passages_are_all_of_a_text_and_a_place_lies_in_its_own(parts: list[str]) -> None:
    text = " ".join(parts)
    passages = analysed(text, as_it_is).passages
    found = [word.lower for word in words(text)]
    assert [stem for passage in passages for stem in passage] == [word for word in found if word not in STOP_WORDS]
    for number in range(len(passages)):
        start, first = place(text, number, lambda word: word == "alpha")
        assert start <= first <= len(text)
        assert list(words(text))[number * PASSAGE_WORDS].start == start


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
    assert path_names("/people/caroline-smith.md") == {"people", "caroline", "smith"}
    assert path_names("/v1.2/notes") == {"v1", "2", "notes"}


def test_words_that_only_ask_are_left_out_unless_nothing_else_is_left() -> None:
    assert query_words("When did Caroline mention the marathon?", as_it_is).stems == ("caroline", "marathon")
    assert query_words("remember?", as_it_is).stems == ("remember",)
    assert query_words("what is it", as_it_is).stems == ()


NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "since", "until"),
    [
        ("on 2026-05-03", "2026-05-03", "2026-05-04"),
        ("on 3 May", "2026-05-03", "2026-05-04"),
        ("on the 3rd of May 2025", "2025-05-03", "2025-05-04"),
        ("May 3rd, 2025", "2025-05-03", "2025-05-04"),
        ("on December 24", "2025-12-24", "2025-12-25"),
        ("in May 2026", "2026-05-01", "2026-06-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("yesterday", "2026-11-21", "2026-11-22"),
        ("today", "2026-11-22", "2026-11-23"),
        ("three days ago", "2026-11-19", "2026-11-20"),
    ],
)
def test_a_query_names_a_time(query: str, since: str, until: str) -> None:
    [interval] = named_intervals(f"What happened {query}?", us(NOW))
    assert interval == (us(datetime.fromisoformat(f"{since}T00:00Z")), us(datetime.fromisoformat(f"{until}T00:00Z")))


@pytest.mark.parametrize("query", ["", "may I ask", "the 31st of June", "2026-13-01", "99 bottles", "section 3.4"])
def test_what_can_be_no_time_is_none(query: str) -> None:
    assert named_intervals(query, us(NOW)) == ()


@given(st.text(max_size=80), st.integers(0, 4_102_444_800_000_000))
def test_any_text_may_be_asked(query: str, now_us: int) -> None:
    assert all(since < until for since, until in named_intervals(query, now_us))


def us(instant: datetime) -> int:
    return round(instant.timestamp() * 1_000_000)


def candidate(id: str, *passages: str, names: str = "", at: int = 0) -> Candidate:
    return Candidate(id, tuple(tuple(passage.split()) for passage in passages), frozenset(names.split()), at, at)


def order(
    candidates: list[Candidate], query: str, names: str = "", when: tuple[tuple[int, int], ...] = ()
) -> list[str]:
    stems = query.split()
    frequencies = {stem: sum(any(stem in part for part in one.passages) for one in candidates) for stem in stems}
    named = {name: sum(name in one.names for one in candidates) for name in names.split()}
    corpus = Corpus(len(candidates), 3.0, frequencies, named)
    return [one.memory_id for one in rank(candidates, stems, frozenset(named), when, corpus)]


def test_rare_words_weigh_more_and_words_that_stand_together_more_than_words_that_do_not() -> None:
    common = [candidate(f"c{number}", "the team met") for number in range(5)]
    assert order([*common, candidate("x", "the zebra met")], "team zebra")[0] == "x"
    apart, together = candidate("a", "red", "filler", "door"), candidate("b", "red door", "filler")
    assert order([apart, together], "red door") == ["b", "a"]


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


@given(st.integers(0, 10**16), st.one_of(st.none(), st.integers(0, 10**16)), st.integers(0, 10**6))
def test_a_manifest_comes_back_as_it_was(began_at: int, until: int | None, count: int) -> None:
    manifest = Manifest(began_at, until, count, "0" * 64)
    assert Manifest.from_metadata(manifest.to_metadata()) == manifest


def test_a_packs_key_comes_back_and_the_next_one_sorts_after_it() -> None:
    key = PackKey("memstore_a", 9)
    assert PackKey.parse(str(key)) == key
    assert str(key.following) > str(key)
    with pytest.raises(ValueError, match="not a key"):
        PackKey.parse("us-east-1/log/memstore_a/0000000001")
