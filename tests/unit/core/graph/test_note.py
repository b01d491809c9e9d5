"""A memory as a note: titles, observations, relations and links, as Basic Memory 0.24.1 reads them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.graph import note as graph
from memolith.core.graph.grammar import Observation, Relation
from memolith.core.graph.markdown import inlines
from memolith.core.graph.note import parse
from memolith.core.times import parse_rfc3339

COFFEE = """---
title: Coffee Brewing
type: note
permalink: drinks/coffee-brewing
tags:
- coffee
- 'slow mornings'
---

# Coffee

- [method] Pour over gives clarity #brewing #slow (since 2021)
- relates_to [[Tea]]
- "inspired by" [[Café Zürich|the café]] (on Sundays)
- a sentence with [[Water#hot]] in it
- sugar is not needed #plain

Also see [the grinder](../tools/grinder%20one.md) and `[[not this]]`.
"""


def observed(text: str) -> list[tuple[str | None, str, tuple[str, ...], str | None]]:
    return [(one.category, one.text, one.tags, one.context) for one in parse("/a.md", text).observations]


def related(text: str) -> list[tuple[str, str, str | None]]:
    return [(one.type, one.target, one.context) for one in parse("/n/a.md", text).relations]


def test_a_note_has_a_title_tags_observations_and_relations_with_their_lines() -> None:
    found = parse("/drinks/Coffee Brewing.md", COFFEE)
    assert (found.title, found.type, found.permalink) == ("Coffee Brewing", "note", "drinks/coffee-brewing")
    assert found.tags == ("coffee", "slow mornings")
    assert found.observations == (
        Observation(12, "method", "Pour over gives clarity #brewing #slow", ("brewing", "slow"), "since 2021"),
        Observation(16, None, "sugar is not needed #plain", ("plain",)),
    )
    assert found.relations == (
        Relation(13, "relates_to", "Tea"),
        Relation(14, "inspired by", "Café Zürich|the café", "on Sundays"),
        Relation(15, "links_to", "Water#hot"),
        Relation(18, "links_to", "/tools/grinder one.md"),
    )
    assert not found.too_large


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: T\nname: N\n---\n# H\n", "T"),
        ("---\nname: N\n---\n# H\n", "N"),
        ("text\n\n# The heading #\n", "The heading"),
        ("text", "file name"),
        ("---\ntitle: ''\n---\n", "file name"),
    ],
)
def test_a_title_is_the_frontmatters_or_the_first_headings_or_the_files_name(text: str, title: str) -> None:
    assert parse("/a/file name.md", text).title == title


@pytest.mark.parametrize(
    "text",
    [
        "> [!info] a callout",
        "> - [fact] quoted #tag",
        "```\n- [fact] code #tag\n```",
        "    [fact] code #tag",
        "- [ ] a task #tag",
        "- [x] done #tag",
        "- [-] dropped",
        "- [/] under way",
        "- [00:00:11] said at a time",
        "- [text](http://example.com/#part)",
        "- [[Only a link]]",
        "- plain",
        "[ref]: http://example.com",
        "<div>\n[fact] markup #tag\n</div>",
        "- [fact] (all of it)",
    ],
)
def test_what_only_looks_like_an_observation_is_none(text: str) -> None:
    assert observed(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- [fact] one", ("fact", "one", (), None)),
        ("* [two words] one", ("two words", "one", (), None)),
        ("1. [fact] one\n", ("fact", "one", (), None)),
        ("[fact] in a paragraph", ("fact", "in a paragraph", (), None)),
        ("- [事実] 漢字は難しい #言語", ("事実", "漢字は難しい #言語", ("言語",), None)),
        ("- [fact] #a#b and #c", ("fact", "#a#b and #c", ("a", "b", "c"), None)),
        ("- [a] outer\n  - nested\n\n  [b] inner", ("a", "outer", (), None)),
        ("- [fact] one\r\n", ("fact", "one", (), None)),
        ("- [] one #t", (None, "one #t", ("t",), None)),
    ],
)
def test_an_observation_is_a_category_a_text_tags_and_a_context(
    text: str, found: tuple[str | None, str, tuple[str, ...], str | None]
) -> None:
    assert observed(text)[0] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- a [[B]]", [("a", "B", None)]),
        ("- a [[B]] (c (d) e)", [("a", "B", "c (d) e")]),
        ("- two words [[B]]", [("links_to", "B", None)]),
        ("- a [[B]] and [[C]]", [("links_to", "B", None), ("links_to", "C", None)]),
        ("- a [[B]] (c) and (d)", [("links_to", "B", None)]),
        ("a [[B]]", [("links_to", "B", None)]),
        ("> a [[B]]", [("links_to", "B", None)]),
        ("- a [[B]] #bm:links_to", [("links_to", "B", None)]),
        ("- a [[p::b]]", [("a", "p/b", None)]),
        ("- a [[]]", []),
        ("`[[B]]` and \\[[C]] and [[D]]", [("links_to", "D", None)]),
        ("[[A [[B]]", []),
        ("[l](x.md) [l](/y.md) [l](./z/../w.md#p)", [("links_to", f"/{one}.md", None) for one in ("n/x", "y", "n/w")]),
        ("[l](http://a/b) [l](mailto:a@b) [l](#part) [l](folder/) [l](../../../out.md) ![i](i.png)", []),
        ("`[l](x.md)`", []),
    ],
)
def test_a_relation_is_a_list_item_and_every_other_link_links_to(
    text: str, found: list[tuple[str, str, str | None]]
) -> None:
    assert related(text) == found


@pytest.mark.parametrize(
    ("text", "rest", "since", "until"),
    [
        ("@effective[2026-06-10,2026-07-27) Redis", "Redis", "2026-06-10", "2026-07-27"),
        ("@effective(2026-06-10,2026-07-27] Redis", "Redis", "2026-06-11", "2026-07-28"),
        ("@valid[,2026-07-27) Redis", "Redis", None, "2026-07-27"),
        ('@occurred:"June 10, 2026" met', "met", "2026-06-10", "2026-06-11"),
        ('@"June 2026" met', "met", "2026-06-01", "2026-07-01"),
        ("@2026-07-27 met", "met", "2026-07-27", "2026-07-28"),
        ("@due:2026-07-27 pay", "pay", "2026-07-27", "2026-07-28"),
        ("@alice is here", "@alice is here", None, None),
        ("@1 is here", "@1 is here", None, None),
        ("@asserted:2026-06-10 x", "@asserted:2026-06-10 x", None, None),
        ("@effective[2026-07-27,2026-06-10) x", "@effective[2026-07-27,2026-06-10) x", None, None),
        ("mail a@2026-07-27 x", "mail a@2026-07-27 x", None, None),
    ],
)
def test_an_observation_may_begin_with_when_it_holds(
    text: str, rest: str, since: str | None, until: str | None
) -> None:
    [found] = parse("/a.md", f"- [fact] {text}").observations
    bounds = tuple(None if day is None else parse_rfc3339(f"{day}T00:00:00Z") for day in (since, until))
    assert (found.text, found.valid or (None, None)) == (rest, bounds)


def test_a_note_may_say_in_its_frontmatter_when_it_holds() -> None:
    found = parse("/a.md", "---\nvalid_from: 2026-06-10\nvalid_until: 2026-07-01\n---\n")
    assert found.valid == (parse_rfc3339("2026-06-10T00:00:00Z"), parse_rfc3339("2026-07-01T00:00:00Z"))


def test_a_note_that_opts_out_has_no_observations_and_no_relations() -> None:
    found = parse("/a.md", "---\nbm_parse_semantics: false\n---\n- [fact] x #t\n- a [[B]]\n")
    assert (found.observations, found.relations) == ((), ())


def test_what_is_beyond_the_limits_is_left_out_and_that_is_said() -> None:
    many = parse("/a.md", "- [fact] x\n" * 501 + "- a [[B]]\n" * 501 + "- two words [[B]]\n" * 2_001)
    assert many.too_large
    assert len(many.observations) == graph.OBSERVATIONS_MAX
    assert len(many.relations) == graph.RELATIONS_MAX + graph.LINKS_MAX


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# A title", "A title"),
        ("#\tA title \t", "A title"),
        ("# A title ##", "A title"),
        ("# A # title # # ", "A # title"),
        ("# C#", "C"),
        ("# #", "#"),
        ("# # A", "# A"),
    ],
)
def test_a_note_is_called_by_its_heading_without_what_closes_it(heading: str, title: str) -> None:
    assert parse("/a.md", f"text\n{heading}\nmore\n").title == title


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("# [[A]] ##", "[[A]]"),
        ("## [[A]] \t# ", "[[A]]"),
        ("# [[A]]#", "[[A]]#"),
        ("# [[A]] # b", "[[A]] # b"),
        ("# [[A]]\u00a0#", "[[A]]\u00a0#"),
        ("# #", None),
        ("# ", None),
    ],
)
def test_the_text_of_a_heading_ends_before_what_closes_it(heading: str, text: str | None) -> None:
    assert [one.text for one in inlines(heading)] == ([] if text is None else [text])


@pytest.mark.slow
@pytest.mark.parametrize("run", [" ", "\t", "#", " #"])
@pytest.mark.parametrize("mark", ["# ", "## ", "- # "])
def test_a_heading_with_a_million_blanks_or_marks_in_it_is_parsed(mark: str, run: str) -> None:
    long = f"a{run * (1_000_000 // len(run))}b"
    assert parse("/a.md", f"{mark}{long}\n\n[[B]]\n").relations == (Relation(3, "links_to", "B"),)


PIECES = (  # noqa: SIM905 - a list of marks is read as one text
    "- |* |1. |> |  |    |\t|# |```|~~~|[|]|[[|]]|(|)|`|\\|\n|\n\n|---\n|[cat] |[x] |#tag |word |<div>|<!--|-->|[l](u)"
    '|@2026-01-02 |@"|\r'
).split("|")
MARKDOWN = st.lists(st.sampled_from(PIECES)).map("".join)


@given(st.one_of(st.text(), MARKDOWN))
def test_any_text_is_a_note_whose_lines_exist(text: str) -> None:
    found = parse("/a.md", text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    numbers = [one.line for one in found.observations] + [one.line for one in found.relations]
    assert all(1 <= number <= lines for number in numbers)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [
        "- [fact] x #t\n",
        "[[",
        "]]",
        "[[a]] ",
        "[a",
        ">",
        "- ",
        "(",
        "[a](",
        "<a b\n",
        "# ",
        "[a]: b\n",
        "```\n",
        "` `` ",
        "- - a\n",
    ],
)
def test_a_text_that_is_eight_times_as_long_takes_about_eight_times_as_long(pattern: str) -> None:
    def seconds(size: int) -> float:
        text = pattern * (size // len(pattern))
        times = []
        for _ in range(3):
            begin = time.process_time()
            parse("/a.md", text)
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(160_000) < 24 * max(seconds(20_000), 0.001)
