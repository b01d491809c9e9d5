"""Names are nouns in the field's own terms; `docs/glossary.md` is the law."""

from __future__ import annotations

import re
from collections import Counter

from tests.architecture.source_tree import (
    APP,
    LIBRARY,
    ROOT,
    Name,
    defined_names,
    functions,
    parameter_names,
    python_files,
)

GLOSSARY = ROOT / "docs" / "glossary.md"
OURS = {
    "checkpoint",
    "divergent",
    "epoch",
    "finding",
    "generation",
    "head",
    "home",
    "lease",
    "quarantine",
    "slot",
    "verdict",
    "watermark",
}
"""The words that this project gives a meaning of its own."""

NOUNS = ("listing", "batching", "forwarding")
"""Participles by their ending, nouns by their use."""


LEANING = re.compile(r"test_(so|nor|and|it|they|but|also)_")
"""How a test's name begins that says nothing in a list of failures, because it goes on from another's."""


def rows_under(heading: str) -> dict[str, str]:
    """Return the first two columns of the glossary's table under `heading`."""
    text = GLOSSARY.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in text.splitlines() if line.startswith("|")]
    return {row[0].strip(" *`"): row[1].strip() for row in cells[2:]}


def test_the_glossary_defines_every_term_once() -> None:
    text = GLOSSARY.read_text().partition("## Words that are not names")[0]
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    terms = Counter(term for term in rows if term not in ("word", "term"))
    assert len(terms) > 100
    assert [term for term, times in terms.items() if times > 1] == []


STORED = {"settled", "second_stands_in"}
"""Fields that are kept in rows, or sent to operators, under these names."""


def banned_words(heading: str) -> set[str]:
    words = {word for cell in rows_under(heading) for word in re.findall(r"\w+", cell)}
    assert words, f"{GLOSSARY} bans no word under {heading}"
    return words


def library_names() -> list[Name]:
    return [name for path in python_files("functions") for name in defined_names(path)]


def test_no_module_of_app_is_named_by_a_participle() -> None:
    participles = [path for path in APP.rglob("*.py") if re.search(r"(ing|ed)$", path.stem)]
    assert [path.stem for path in participles if not path.stem.endswith(NOUNS)] == []


def test_the_glossary_defines_exactly_the_words_that_are_ours() -> None:
    ours = rows_under("Words that are ours")
    assert set(ours) == OURS
    assert all(len(meaning) > 20 for meaning in ours.values())


def test_every_word_that_is_ours_is_the_name_of_something() -> None:
    used = {word for name in library_names() for word in name.words}
    assert {word for word in OURS if word not in used and f"{word}s" not in used} == set()


def test_no_name_in_the_library_uses_a_word_that_the_glossary_bans() -> None:
    banned = banned_words("Words that are not names")
    names = [name for name in library_names() if banned.intersection(name.words)]
    assert LIBRARY.is_dir()
    assert [str(name) for name in names] == []


def test_no_name_or_parameter_in_app_and_core_uses_a_word_that_the_glossary_bans_there() -> None:
    banned = banned_words("Words that are not names in app and core")
    paths = python_files("functions/memolith/app", "functions/memolith/core")
    names = [name for path in paths for name in (*defined_names(path), *parameter_names(path))]
    assert names, "app and core define no name"
    assert [str(name) for name in names if banned.intersection(name.words) and name.text not in STORED] == []


def test_no_test_has_a_name_that_goes_on_from_the_name_of_another() -> None:
    names = [function.name for path in python_files("tests") for function in functions(path)]
    assert names, "no test was found"
    assert [name for name in names if LEANING.match(name)] == []
