"""What a search takes from frontmatter: types and tags to filter by, and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.graph.note import parse
from memolith.core.limits import SEARCH_FILTER_MAX_CHARS, TAGS_MAX
from memolith.core.search.frontmatter_fields import names_in, properties_of


@pytest.mark.parametrize(
    "tags",
    ["tags: [deploy, Weekly]", "tags: deploy, weekly", "tags:\n  - deploy\n  - '#weekly'", "tags:\n- deploy\n- Weekly"],
)
def test_tags_are_read_however_yaml_writes_a_list(tags: str) -> None:
    text = f"---\ntitle: Release\ntype: Note\n{tags}\nother:\n  - no tag\n---\n- no tag either\ntags: none"
    assert properties_of(text) == {("type", "note"), ("tag", "deploy"), ("tag", "weekly")}


@pytest.mark.parametrize(("first", "between"), [(" ", ", "), ("\n- ", "\n- ")])
def test_a_search_and_the_graph_have_the_same_tags_of_a_memory(first: str, between: str) -> None:
    tags = [f"t{number}" for number in range(TAGS_MAX + 6)]
    text = f"---\ntags:{first}{between.join(['t0', *tags])}\n---\n"
    found = [tag for tag in tags if ("tag", tag) in properties_of(text)]
    assert found == list(parse("/a.md", text).tags) == tags[:TAGS_MAX]


def test_a_text_without_frontmatter_says_nothing_of_itself() -> None:
    for text in ("tags: a\ntype: note", "", "---\ntype: note", "text\n---\ntype: note\n---"):
        assert (properties_of(text), names_in(text)) == (frozenset(), frozenset())


def test_titles_people_and_aliases_are_names() -> None:
    text = "---\nname: Billing runbook\ndescription: What to do\npeople:\n  - Sean O'Brien\naliases: [SOB]\n---\nText."
    assert names_in(text) == {"billing", "runbook", "sean", "brien", "sob"}


@given(st.text(alphabet="ab,:[]-#\n '\"", max_size=300))
def test_any_frontmatter_may_be_read_and_what_is_taken_is_bounded(text: str) -> None:
    found = properties_of(f"---\ntags: {text}\n---\n")
    assert len(found) <= TAGS_MAX + 1
    assert all(value and len(value) <= SEARCH_FILTER_MAX_CHARS for _, value in found)
