"""Which notes a link means, and what lint says of links."""

from __future__ import annotations

import pytest

from memolith.core.graph.names import target_key
from memolith.core.graph.note import parse
from memolith.core.graph.resolution import Names, lint

NOTES = {
    path: parse(path, text)
    for path, text in {
        "/drinks/Coffee Brewing.md": "---\ntitle: Coffee\npermalink: drinks/coffee-brewing\n---\n",
        "/tea.md": "# Green Tea\n",
        "/old/tea.md": "# Black Tea\n",
        "/people/ada.md": "---\ntitle: Ada Lovelace\n---\n",
        "/x/Ada Lovelace.md": "# A biography",
    }.items()
}


@pytest.mark.parametrize(
    ("target", "paths"),
    [
        ("drinks/Coffee Brewing", ["/drinks/Coffee Brewing.md"]),
        ("drinks/coffee-brewing", ["/drinks/Coffee Brewing.md"]),
        ("/drinks/Coffee Brewing.md", ["/drinks/Coffee Brewing.md"]),
        ("memory://drinks/coffee-brewing", ["/drinks/Coffee Brewing.md"]),
        ("COFFEE", ["/drinks/Coffee Brewing.md"]),
        ("coffee brewing|the drink", ["/drinks/Coffee Brewing.md"]),
        ("Green Tea#how", ["/tea.md"]),
        ("tea", ["/tea.md"]),
        ("/old/tea.md", ["/old/tea.md"]),
        ("Ada Lovelace", ["/people/ada.md"]),
        ("/tea", ["/tea.md"]),
        ("/Green Tea", []),
        ("Water", []),
        ("", []),
    ],
)
def test_a_path_comes_before_a_permalink_before_a_title_before_a_file_name(target: str, paths: list[str]) -> None:
    assert Names(NOTES).meant(target) == paths


def test_accents_that_are_composed_differently_are_one_name() -> None:
    assert target_key("Cafe\u0301") == target_key("café")


def test_two_notes_of_one_title_are_ambiguous_and_the_path_is_not() -> None:
    notes = {"/a/x.md": parse("/a/x.md", "# Same"), "/b/y.md": parse("/b/y.md", "# Same")}
    assert Names(notes).meant("same") == ["/a/x.md", "/b/y.md"]
    assert Names(notes).meant("a/x") == ["/a/x.md"]


def test_lint_names_links_that_lead_nowhere_or_to_several_and_observations_without_category() -> None:
    texts = {
        "/a.md": "# Same\n\n- knows [[Nobody]]\n- knows [[Same]]\n- plain #tag\n- [fact] fine\n[l](gone.md)\n",
        "/b.md": "# Same\n\n- knows [[a]]\n",
    }
    remarks = list(lint({path: parse(path, text) for path, text in texts.items()}))
    assert [(one.path, one.line, one.rule) for one in remarks] == [
        ("/a.md", 5, "observation-no-category"),
        ("/a.md", 3, "relation-unresolved"),
        ("/a.md", 4, "relation-ambiguous"),
    ]
    assert "/a.md, /b.md" in remarks[-1].message
