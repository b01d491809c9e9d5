"""Every namespace and key has one legal path of its own, from which both can be read again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith.clients.sdk.langgraph_places import folder_of, item_at, place_of
from memolith.core.paths import check_path, check_path_prefix
from memolith.scanner.path_policy import hits
from tests.support.examples import examples

AWKWARD = st.one_of(
    st.sampled_from(
        ["/", "%", "=", "=2F", "%2F", "..", ".", ".json", " ", "\x00", "\x7f", "\u200b", "\u2028", "\ud800", "\udc00"]
    ),
    st.sampled_from(
        ["é", "e\u0301", "C", "\u0327", "\u200d", "\u0301", "\u212b", "가", "\u1100\u1161", "😀", "\\", "*"]
    ),
)
TEXTS = st.lists(st.one_of(AWKWARD, st.characters()), max_size=8).map("".join)
LABELS = TEXTS.map(lambda text: text.replace(".", "")).filter(bool)
NAMESPACES = st.lists(LABELS, max_size=3).map(tuple)


@settings(deadline=None, max_examples=examples(150))
@given(NAMESPACES, TEXTS)
def test_a_place_is_a_legal_path_and_says_which_item_it_is(namespace: tuple[str, ...], key: str) -> None:
    path = place_of(namespace, key)
    assert check_path(path) == path
    assert item_at(path) == (namespace, key)
    assert path.startswith(check_path_prefix(folder_of(namespace)))


@settings(deadline=None, max_examples=examples(150))
@given(st.tuples(NAMESPACES, TEXTS), st.tuples(NAMESPACES, TEXTS))
def test_no_item_stands_above_another_nor_at_its_place(
    one: tuple[tuple[str, ...], str], other: tuple[tuple[str, ...], str]
) -> None:
    first, second = place_of(*one), place_of(*other)
    assert (first == second) == (one == other)
    assert not second.startswith(f"{first}/")


@pytest.mark.parametrize(
    ("namespace", "key", "path"),
    [
        (("users", "ada lovelace"), "prefs", "/users/ada lovelace/prefs.json"),
        ((), "a/b", "/a=2Fb.json"),
        (("100%",), "", "/100=25/.json"),
        (("a=b",), ".hidden", "/a=3Db/=2Ehidden.json"),
        (("naïve", "日本"), "été", "/naïve/日本/été.json"),
        (("a",), "e\u0301", "/a/e=CC=81.json"),
        (("a",), "..", "/a/=2E=2E.json"),
        (("a",), "x.json", "/a/x.json.json"),
    ],
)
def test_a_place_reads_as_itself_wherever_it_can(namespace: tuple[str, ...], key: str, path: str) -> None:
    assert place_of(namespace, key) == path


@pytest.mark.parametrize(
    "name", ["a/b", "100%", "%2e%2e", "..", ".", "../x", " ..", "~ada", "a\\b", "&#46;", "\x00", "\u202e"]
)
def test_the_scanner_lets_every_place_pass_whatever_the_name(name: str) -> None:
    places = [place_of((), name), place_of((name.replace(".", "") or "x", "y"), name)]
    assert {place: hits(place) for place in places} == {place: [] for place in places}


@settings(deadline=None, max_examples=examples(150))
@given(
    st.lists(st.one_of(AWKWARD, st.text(max_size=3)), min_size=1, max_size=6).map(lambda parts: "/" + "".join(parts))
)
def test_a_path_is_an_items_place_or_nobodys(path: str) -> None:
    for candidate in (path, f"{path}.json"):
        found = item_at(candidate)
        assert found is None or place_of(*found) == candidate


@pytest.mark.parametrize(
    "path",
    [
        "/a.md",
        "/notes.d/a.json",
        "/a=41.json",
        "/a=2f.json",
        "/a=C3.json",
        "/=FF/a.json",
        "/a=zz.json",
        "/a=.json",
        "/a%2F.json",
        "/..json",
        "/json",
    ],
)
def test_what_only_somebody_else_can_have_put_is_no_item(path: str) -> None:
    assert item_at(path) is None
