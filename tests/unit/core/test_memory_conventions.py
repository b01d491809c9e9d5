"""Frontmatter, index lines, the cut of an index, and the remarks of the lint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core import memory_conventions

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
LONG = st.lists(st.text(st.sampled_from("aé記\U0001f600 -[]()"), max_size=300), max_size=400).map("\n".join)
WORDS = st.text(st.sampled_from("abcé記 '\"#:\\"), min_size=1, max_size=40).map(str.strip).filter(bool)


def memory(type: str = "project", body: str = "**Why:** because\n**How to apply:** so\n") -> str:
    return f"---\nname: n\ndescription: d\ntype: {type}\n---\n{body}"


@given(TEXTS)
def test_any_text_has_some_frontmatter_or_none_and_any_lint_ends(text: str) -> None:
    for given_text in (text, f"---\n{text}\n---\n", f"---\n{text}"):
        said = memory_conventions.frontmatter(given_text)
        assert said.given or not said.fields
        assert all(line >= 1 for line, _ in said.faults)
        memory_conventions.lint("/a.md", given_text, {"/a.md"})
        memory_conventions.lint("/MEMORY.md", given_text, {"/a.md"})


@given(WORDS, WORDS, st.sampled_from(memory_conventions.TYPES))
def test_quoted_fields_are_read_back(name: str, description: str, type: str) -> None:
    single = name.replace("'", "''")
    double = description.replace("\\", "\\\\").replace('"', '\\"')
    said = memory_conventions.frontmatter(f"---\nname: '{single}'\ndescription: \"{double}\"\ntype: {type}\n---\nbody")
    assert (said.name, said.description, said.type, said.faults) == (name, description, type, ())


def test_a_type_may_stand_below_metadata_and_a_description_be_folded() -> None:
    text = "---\nname: n # the name\ndescription: >\n  one\n  two\nmetadata:\n  type: user\n  tags:\n    - a\n---\n"
    said = memory_conventions.frontmatter(text)
    assert (said.name, said.description, said.type, said.faults) == ("n", "one two", "user", ())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("---\nname: n\n", (1, "has no closing --- within 100 lines")),
        ("---\nname: n\ndescription: d\n---\n", (1, "has no type")),
        (
            "---\nname: n\ndescription: d\ntype: diary\n---\n",
            (1, "has a type that is none of " + ", ".join(memory_conventions.TYPES)),
        ),
        ("---\ndescription: d\ntype: user\n---\n", (1, "has no name")),
        ("---\nname: n\ndescription: d\ntype: user\nname: m\n---\n", (5, "gives name a second time")),
        ("---\nname: n\ndescription: d\ntype: user\nwhat\n---\n", (5, "is not a line of the form key: value")),
    ],
)
def test_frontmatter_at_fault_says_where_and_why(text: str, fault: tuple[int, str]) -> None:
    assert fault in memory_conventions.frontmatter(text).faults


@given(LONG)
def test_a_cut_keeps_a_beginning_within_both_limits_and_tells_what_is_missing(text: str) -> None:
    loaded = memory_conventions.load(text)
    assert text.startswith(loaded.text)
    assert loaded.lines <= memory_conventions.INDEX_MAX_LINES
    assert len(loaded.text.encode()) <= memory_conventions.INDEX_MAX_BYTES
    assert loaded.truncated == (loaded.text != text)
    assert (loaded.warning("MEMORY.md") is None) == (loaded.text == text)
    if loaded.truncated and "\n" in loaded.text:
        assert text[len(loaded.text)] == "\n"


@given(LONG)
def test_no_more_whole_lines_would_have_fitted(text: str) -> None:
    loaded = memory_conventions.load(text)
    if not loaded.truncated:
        return
    end = text.find("\n", len(loaded.text) + 1)
    longer = text if end < 0 else text[:end]
    lines = longer.count("\n") + 1
    assert lines > memory_conventions.INDEX_MAX_LINES or len(longer.encode()) > memory_conventions.INDEX_MAX_BYTES


def test_a_note_of_basic_memory_is_known_by_its_title_and_needs_neither_name_nor_description() -> None:
    note = "---\ntitle: Café Zürich\ntype: note\npermalink: places/cafe-zurich\n---\n\n# Café Zürich\n"
    assert memory_conventions.index_line("/places/cafe.md", note) == "- [Café Zürich](places/cafe.md)"
    assert memory_conventions.lint("/places/cafe.md", note, {"/places/cafe.md"}) == []
    untyped = note.replace("type: note\n", "")
    (remark,) = memory_conventions.lint("/places/cafe.md", untyped, {"/places/cafe.md"})
    assert (remark.rule, remark.message) == ("frontmatter-invalid", "its frontmatter has no type")


def test_five_hundred_lines_are_cut_at_two_hundred_with_a_warning() -> None:
    loaded = memory_conventions.load("".join(f"- [m{n}](m{n}.md): what\n" for n in range(500)))
    assert loaded.text.endswith("- [m199](m199.md): what")
    assert loaded.warning("MEMORY.md") == (
        "WARNING: MEMORY.md is 500 lines and 11,780 bytes (limits: 200 lines, 25,000 bytes). "
        "Only the first 200 lines were loaded; 300 lines and 300 entries are missing. "
        "Keep each entry of the index to one line of under about 200 characters, and move detail into the memory that "
        "it links to."
    )


def test_two_hundred_lines_are_not_cut_and_long_ones_are_at_a_line_end() -> None:
    assert memory_conventions.load("x\n" * 200).warning("MEMORY.md") is None
    long = memory_conventions.load(("y" * 999 + "\n") * 30)
    assert (long.lines, len(long.text)) == (25, 24_999)
    exact = memory_conventions.load("z" * 25_000 + "\nmore")
    assert exact.text == "z" * 25_000
    one = memory_conventions.load("記" * 10_000)
    assert (one.text, one.lines) == ("記" * 8_333, 1)
    assert "the rest of the last line is missing" in str(one.warning("MEMORY.md"))


@given(st.text(st.sampled_from("abc ()<>é[]%2"), min_size=1, max_size=60), TEXTS, TEXTS)
def test_a_made_line_is_one_line_and_its_link_leads_to_its_memory(name: str, title: str, description: str) -> None:
    path = f"/n/{name}.md"
    line = memory_conventions.index_line(path, f"---\nname: {title}\ndescription: {description}\n---\n")
    assert len(line.splitlines()) == 1
    assert len(line) <= memory_conventions.INDEX_LINE_MAX_CHARS
    assert memory_conventions.lint("/MEMORY.md", line, {path}) == []


def test_an_index_line_has_title_path_and_description() -> None:
    assert memory_conventions.index_line("/notes/todo.md", memory()) == "- [n](notes/todo.md): d"
    assert memory_conventions.index_line("/notes/todo.md", "no frontmatter") == "- [todo](notes/todo.md)"
    linking = "---\ndescription: see [b](b.md)\n---\n"
    assert memory_conventions.index_line("/notes/todo.md", linking) == "- [todo](notes/todo.md): see [b] (b.md)"


@pytest.mark.parametrize(
    ("path", "text", "rules"),
    [
        ("/a.md", memory(), []),
        ("/a.md", memory("user", "body"), []),
        ("/a.txt", "anything", []),
        ("/a.md", "anything", ["frontmatter-missing"]),
        ("/a.md", memory("diary"), ["frontmatter-invalid"]),
        ("/a.md", memory(body="Why: x"), ["how-to-apply-missing"]),
        ("/a.md", memory("feedback", "**How to apply:** x"), ["why-missing"]),
        ("/a.md", memory("feedback", "It says why: x"), ["how-to-apply-missing", "why-missing"]),
        ("/a.md", memory(body="Why: x\nHow to apply: [y](b.md)"), ["dead-link"]),
        ("/MEMORY.md", "- [a](a.md): x\n- [h](https://x.y/z) [f](#f) [d](n/) [e](/n/e.md#f)", []),
        ("/MEMORY.md", "- [b](b.md): x", ["dead-link"]),
        ("/MEMORY.md", "- [up](../../a.md)", []),
        ("/n/MEMORY.md", "- [a](../a.md) [e](e.md) [g](g.md)", ["dead-link"]),
        ("/MEMORY.md", "- [a](a.md): " + "x" * 200, ["index-line-too-long"]),
        ("/MEMORY.md", "x\n" * 201, ["index-too-long"]),
    ],
)
def test_the_lint_tells_what_is_amiss_and_nothing_else(path: str, text: str, rules: list[str]) -> None:
    assert [remark.rule for remark in memory_conventions.lint(path, text, {"/a.md", "/n/e.md", "/MEMORY.md"})] == rules


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["[" * 1_000_000, f"[]({' ' * 1_000_000}b", "\n" * 1_000_000, f"at a(b:1){chr(10) * 1_000_000}"],
    ids=["open brackets", "blanks in a link", "empty lines", "empty lines and a sign of a stack trace"],
)
def test_a_hostile_memory_of_a_million_characters_is_checked(text: str) -> None:
    found = memory_conventions.lint("/a.md", memory("feedback", text), {"/a.md"})
    assert [remark.rule for remark in found] == ["how-to-apply-missing", "why-missing"]


def test_checking_a_memory_does_not_go_through_the_paths_of_all_others() -> None:
    class Asked(frozenset[str]):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError("ten thousand memories would take minutes")

    paths = ["/a.md", "/n/b.md"]
    text = "---\nname: a\ndescription: a\ntype: user\n---\n[b](n/b.md) [n](n/) [gone](gone.md)\n"
    folders = Asked(memory_conventions.folders_of(paths))
    (remark,) = memory_conventions.lint("/a.md", text, Asked(paths), folders)
    assert remark.message == "no memory is at gone.md"
