"""What a memory's frontmatter says that a search can use: its type and tags to filter by, and the names in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from memolith.core.limits import SEARCH_FILTER_MAX_CHARS, TAGS_MAX
from memolith.core.memory_conventions import FRONTMATTER_MAX_LINES, frontmatter
from memolith.core.search.words import words

NAMING_FIELDS = ("name", "title", "permalink")
NAMING_LISTS = ("people", "person", "aliases", "tags")

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):\s*(.*)")
_ITEM = re.compile(r"\s*-\s+(.+)")
_QUOTES = "\"'"


def properties_of(text: str) -> frozenset[tuple[str, str]]:
    """Return a text's ``type`` and each of its ``tags``, as `filter_value` writes them. Nothing without frontmatter."""
    said = frontmatter(text)
    type = filter_value(said.type or "")
    tags = filter(None, map(filter_value, _list_of(text, ("tags",)) if said.given else ()))
    return frozenset([("type", type)] * bool(type) + [("tag", tag) for tag in islice(dict.fromkeys(tags), TAGS_MAX)])


def names_in(text: str) -> frozenset[str]:
    """Return the words of a text's title, people, aliases and tags, each of which counts as a name."""
    said = frontmatter(text)
    if not said.given:
        return frozenset()
    values = [said.fields.get(field, "") for field in NAMING_FIELDS] + list(_list_of(text, NAMING_LISTS))
    return frozenset(word.lower for value in values for word in words(value))


def filter_value(value: str) -> str:
    """Write a type or a tag as it is compared: in lower case, without ``#``, cut to what a filter may be."""
    return value.strip().lstrip("#").casefold()[:SEARCH_FILTER_MAX_CHARS]


def _list_of(text: str, fields: tuple[str, ...]) -> Iterator[str]:
    """Yield the items of these fields, whether they stand in brackets, in one line with commas, or each in its own."""
    within = False
    for line in text.removeprefix("\ufeff").split("\n", FRONTMATTER_MAX_LINES + 1)[1 : FRONTMATTER_MAX_LINES + 1]:
        if line.rstrip() == "---":
            return
        item, key = _ITEM.fullmatch(line.rstrip()), _KEY.fullmatch(line.rstrip())
        if key is not None:
            within = key[1].lower() in fields
            values = key[2].strip().removeprefix("[").removesuffix("]").split(",") if within else []
        else:
            values = [item[1]] if within and item is not None else []
        yield from filter(None, (value.strip().strip(_QUOTES) for value in values))
