"""A memory as a note of the graph: what it is called, what it states and what it links to. Never raises."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from memolith.core.graph import grammar
from memolith.core.graph.grammar import LINKS_TO, Observation, Relation
from memolith.core.graph.markdown import Inline, inlines
from memolith.core.graph.valid_time import Interval, of_fields
from memolith.core.limits import TAGS_MAX
from memolith.core.memory_conventions import FRONTMATTER_MAX_LINES, frontmatter

OBSERVATIONS_MAX = 500
RELATIONS_MAX = 500
LINKS_MAX = 2_000
"""Of one note; what is beyond is in no graph, and lint says so."""

NAME_MAX_CHARS = 255
TEXT_MAX_CHARS = 2_000
"""Of an observation's text, a context or a target, in the graph: the whole is in the note."""

SEMANTICS_FIELD = "bm_parse_semantics"
"""Frontmatter by which Basic Memory marks a text in which nothing is an observation or a relation."""

_HEADING = re.compile(r"^#[ \t]+(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Note:
    """A memory in the graph.

    Attributes:
        title: of its frontmatter (``title``, ``name``), or its first heading, or its file's name.
        valid: when its frontmatter says that it holds.
        too_large: it has more observations, relations or links than are kept.
    """

    title: str
    type: str
    permalink: str | None
    tags: tuple[str, ...]
    observations: tuple[Observation, ...]
    relations: tuple[Relation, ...]
    valid: Interval | None = None
    too_large: bool = False


def is_note(path: str) -> bool:
    """Tell whether a memory is read as Markdown: ``.md``, ``.markdown``, ``.txt``, or a name without an ending."""
    ending = posixpath.splitext(path)[1].lower()
    return ending in ("", ".md", ".markdown", ".txt")


def parse(path: str, text: str) -> Note:
    """Parse a memory. The time is linear in its text."""
    text = text.removeprefix("\ufeff").replace("\x00", "")
    said = frontmatter(text)
    fields = said.fields
    first_line, body = _body(text)
    if fields.get(SEMANTICS_FIELD, "").lower() == "false":
        body = ""
    blocks = [one for one in inlines(body, first_line) if "[" in one.text or "#" in one.text]
    heading = _HEADING.search(body) if not (fields.get("title") or fields.get("name")) else None
    title = fields.get("title") or fields.get("name") or (_without_closing_marks(heading[1]) if heading else "")
    observations = list(islice(_observations(blocks), OBSERVATIONS_MAX + 1))
    stated, links = _relations(blocks, path)
    kept = sorted([*stated[:RELATIONS_MAX], *links[:LINKS_MAX]], key=lambda one: one.line)
    return Note(
        title=" ".join(title.split())[:NAME_MAX_CHARS] or posixpath.basename(path).removesuffix(".md"),
        type=(said.type or "note")[:NAME_MAX_CHARS],
        permalink=(fields.get("permalink") or "")[:NAME_MAX_CHARS] or None,
        tags=tuple(islice(dict.fromkeys(_tags(text, fields.get("tags", ""))), TAGS_MAX)),
        observations=tuple(observations[:OBSERVATIONS_MAX]),
        relations=tuple(kept),
        valid=of_fields(fields),
        too_large=len(observations) > OBSERVATIONS_MAX or len(kept) < len(stated) + len(links),
    )


def _observations(blocks: list[Inline]) -> Iterator[Observation]:
    for block in blocks:
        found = None if block.quoted else grammar.observation(block.line, block.text)
        if found is not None:
            yield found


def _relations(blocks: list[Inline], path: str) -> tuple[list[Relation], list[Relation]]:
    stated: list[Relation] = []
    links: list[Relation] = []
    for block in blocks:
        for one in grammar.relations(block.line, block.text, block.in_item, path):
            (links if one.type == LINKS_TO else stated).append(one)
    return stated, links


def _body(text: str) -> tuple[int, str]:
    """Return the text behind the frontmatter, and the number of its first line."""
    if not text.startswith("---"):
        return 1, text
    lines = text.split("\n", FRONTMATTER_MAX_LINES + 1)
    if lines[0].rstrip() != "---":
        return 1, text
    for number, line in enumerate(lines[1 : FRONTMATTER_MAX_LINES + 1], 1):
        if line.rstrip() == "---":
            return number + 2, "\n".join(lines[number + 1 :])
    return 1, text


def _tags(text: str, field: str) -> Iterator[str]:
    """Yield the tags of the frontmatter: ``[a, b]``, ``a, b``, or a list of lines ``- a``."""
    if field:
        yield from filter(None, (_tag(one) for one in field.strip("[]").split(",")))
        return
    if not text.startswith("---"):
        return
    listed = False
    for line in text.split("\n", FRONTMATTER_MAX_LINES)[1:FRONTMATTER_MAX_LINES]:
        if line.rstrip() == "---":
            return
        if listed and line.lstrip().startswith("- "):
            yield from filter(None, (_tag(line.lstrip()[2:]),))
        else:
            listed = line.rstrip() == "tags:"


def _without_closing_marks(heading: str) -> str:
    """Strip what closes a heading. The pattern does not: it would look at a run of blanks once for each of them."""
    return heading[:1] + heading[1:].rstrip(" \t#")


def _tag(text: str) -> str:
    return text.strip().strip("'\"").strip().lstrip("#")[:NAME_MAX_CHARS]
