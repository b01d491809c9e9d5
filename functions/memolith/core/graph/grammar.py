"""What one paragraph says: an observation, a relation, or text with links in it, as Basic Memory 0.24.1 reads it.

    - [category] text #tag (context)          an observation
    - relation_type [[Target]] (context)      a relation; a type of several words is quoted
    … [[Target]] …                            a relation of the type ``links_to``

    … [text](path.md) …                     the same, to a path of the store

An observation's text may begin with when it holds (`valid_time`). Links in code are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from memolith.core.graph.valid_time import Interval, peeled

LINKS_TO = "links_to"

_TIME = r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?"
_TIME_CATEGORY = re.compile(rf"{_TIME}(?:\s+-\s+{_TIME})?$")
_CATEGORY = re.compile(r"\[([^\[\]()]+)\]\s+(.+)")
_EMPTY_CATEGORY = re.compile(r"\[\]\s+(.+)")
_DIRECTIVE = re.compile(r"\s#bm:links_to\s*$")
_BRACKETS = re.compile(r"\\.|\[\[|\]\]", re.DOTALL)
_BACKTICKS = re.compile(r"\\?`+")
_LINK = re.compile(
    r"(?<![!\\])\[[^\[\]\n]{0,500}\]\(\s*(?:<([^<>\n]{1,1024})>|([^()\s<>]{1,1024}))(?:\s+\"[^\"\n]{0,500}\")?\s*\)"
)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


@dataclass(frozen=True, slots=True)
class Observation:
    """A statement of a note. `line` counts from 1; `valid` is when it says that it holds."""

    line: int
    category: str | None
    text: str
    tags: tuple[str, ...] = ()
    context: str | None = None
    valid: Interval | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A directed edge from a note to whatever `target` names, as the note writes it. `line` counts from 1."""

    line: int
    type: str
    target: str
    context: str | None = None


def observation(line: int, text: str) -> Observation | None:
    """Return what a paragraph outside of block quotes states; None where it is none."""
    content = _without_directive(text.strip())[0]
    if not content or content.startswith(("[ ]", "[x]", "[-]")) or _is_link(content):
        return None
    match = _category(content)
    if match is None and not any(part.startswith("#") for part in content.split()):
        return None
    category = None
    if match is not None:
        category, content = match[1].strip(), match[2].strip()
    elif (empty := _EMPTY_CATEGORY.match(content)) is not None:
        content = empty[1].strip()
    content, valid = peeled(content)
    context = None
    if content.endswith(")") and (start := content.rfind("(")) != -1:
        content, context = content[:start].strip(), content[start + 1 : -1].strip()
    if not content:
        return None
    return Observation(line, category, content, tuple(_tags(content)), context, valid)


def relations(line: int, text: str, in_item: bool, path: str) -> Iterator[Relation]:
    """Yield the relations of a paragraph: the one that a list item is, or its links. `path` is the note's own."""
    if "[[" not in text and "](" not in text:
        return
    masked = _without_code(text) if "`" in text else text
    content, directed = _without_directive(masked)
    stated = _stated(line, text, masked) if in_item and not directed and "[[" in masked else None
    if stated is not None:
        yield stated
    else:
        for start, end in _wiki_links(content):
            if target := _project_path(text[start:end].strip()):
                yield Relation(line, LINKS_TO, target)
    for match in _LINK.finditer(masked):
        target = match[1] if match[1] is not None else match[2]
        if found := _path_of(path, target):
            yield Relation(line, LINKS_TO, found)


def _path_of(source: str, target: str) -> str | None:
    """Return the path that a link of Markdown in a note leads to; None if it leads elsewhere, or out of the store."""
    named = unquote(re.split(r"[?#]", target, maxsplit=1)[0])
    if not named or _ELSEWHERE.match(target) or named.endswith("/") or "\\" in named or "\x00" in named:
        return None
    parts = [] if named.startswith("/") else source.split("/")[1:-1]
    for part in named.split("/"):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return f"/{'/'.join(parts)}" if parts else None


def _without_code(text: str) -> str:
    """Blank out brackets in code spans; lengths stay. Linear: each run of backticks is looked at once."""
    runs = [(match.start() + (match[0][0] == "\\"), match.end()) for match in _BACKTICKS.finditer(text)]
    last = {end - start: number for number, (start, end) in enumerate(runs)}
    shown: list[str] = []
    at = number = 0
    while number < len(runs):
        start, end = runs[number]
        length, number = end - start, number + 1
        if last[length] < number:
            continue
        closing = next(other for other in range(number, len(runs)) if runs[other][1] - runs[other][0] == length)
        shown += (text[at:start], text[start : runs[closing][1]].replace("[", " ").replace("]", " "))
        at, number = runs[closing][1], closing + 1
    return "".join((*shown, text[at:]))


def _without_directive(text: str) -> tuple[str, bool]:
    match = _DIRECTIVE.search(text) if "#bm:links_to" in text else None
    return (text, False) if match is None else (text[: match.start()].rstrip(), True)


def _is_link(content: str) -> bool:
    """Tell whether a line begins with a link and ends with one; these are left to `relations`."""
    if not content.startswith("[") or "\n" in content:
        return False
    if content.startswith("[[") and content.endswith("]]"):
        return True
    return content.endswith(")") and "](" in content


def _category(content: str) -> re.Match[str] | None:
    match = _CATEGORY.match(content) if content.startswith("[") else None
    if match is None:
        return None
    category = match[1].strip()
    if _TIME_CATEGORY.match(category) or (len(category) == 1 and (category in "xX" or not category.isalnum())):
        return None
    return match


def _tags(content: str) -> Iterator[str]:
    if "#" not in content:
        return
    for part in content.split():
        if part.startswith("#"):
            yield from (tag for tag in part.split("#") if tag) if "#" in part[1:] else (part[1:],)


def _stated(line: int, text: str, masked: str) -> Relation | None:
    """Return the relation ``type [[Target]] (context)``; None where the paragraph is prose."""
    start = masked.find("[[")
    end = masked.find("]]", start + 2)
    type = _type(masked[:start].strip())
    if type is None or end == -1:
        return None
    target, after = _project_path(text[start + 2 : end].strip()), masked[end + 2 :].strip()
    if not target or (after and not _is_parenthesized(after)):
        return None
    return Relation(line, type, target, text[end + 2 :].strip()[1:-1].strip() or None)


def _type(label: str) -> str | None:
    if label and label[0] in "'\"" and label.endswith(label[0]):
        return label[1:-1].strip() or None
    return None if not label or any(char.isspace() for char in label) else label


def _is_parenthesized(text: str) -> bool:
    """Tell whether a text is one balanced pair of parentheses and what is in it."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return char == ")" and at == len(text) - 1
    return False


def _wiki_links(content: str) -> Iterator[tuple[int, int]]:
    """Yield where the targets of the outermost ``[[links]]`` are. Linear: one that never closes ends the search."""
    depth = start = 0
    for match in _BRACKETS.finditer(content):
        if match[0] == "[[":
            start = match.end() if depth == 0 else start
            depth += 1
        elif match[0] == "]]" and depth:
            depth -= 1
            if depth == 0:
                yield start, match.start()


def _project_path(target: str) -> str:
    """Return ``project/note`` for ``project::note``."""
    project, mark, rest = target.partition("::")
    return f"{project}/{rest.lstrip('/')}" if mark else target
