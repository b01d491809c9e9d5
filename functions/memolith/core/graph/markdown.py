"""The paragraphs and headings of a Markdown text, with where they are: the blocks of CommonMark that hold inline text.

One pass over the lines; each is looked at once for every container that is open, of which there are at most
`NESTING_MAX`. So the time is linear in the text. Nothing raises. Code, HTML and link reference definitions are skipped.
Source: https://spec.commonmark.org/0.31.2/, "Container blocks and leaf blocks" and appendix "A parsing strategy".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

NESTING_MAX = 20
"""Containers in each other. What is deeper is skipped, as markdown-it does."""

_FRONT = re.compile(r"[ \t>*+\-0-9.)]*")
_HR = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_BULLET = re.compile(r"([-+*])(?=[ \t]|$)")
_ORDERED = re.compile(r"(\d{1,9})[.)](?=[ \t]|$)", re.ASCII)
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_HEADING = re.compile(r"#{1,6}(?=[ \t]|$)")
_UNDERLINE = re.compile(r"(?:-+|=+)[ \t]*$")
_REFERENCE = re.compile(
    r"\[(?:[^\[\]\\]|\\.){1,999}\]:[ \t]*(?:<[^<>]*>|[^\s<]\S*)(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_BLOCK_TAGS = (  # noqa: SIM905 - a list of words is read as prose
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
).split()
_TAG = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w:.-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*\s*/?"
    r"|/[A-Za-z][A-Za-z0-9-]*\s*)>\s*$"
)
_RAW = "script|pre|style|textarea"
_HTML: tuple[tuple[re.Pattern[str], re.Pattern[str] | None, bool], ...] = (
    (re.compile(rf"<(?:{_RAW})(?=\s|>|$)", re.I), re.compile(rf"</(?:{_RAW})>", re.I), True),
    (re.compile(r"<!--"), re.compile(r"-->"), True),
    (re.compile(r"<\?"), re.compile(r"\?>"), True),
    (re.compile(r"<![A-Za-z]"), re.compile(r">"), True),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>"), True),
    (re.compile(rf"</?(?:{'|'.join(_BLOCK_TAGS)})(?=\s|/?>|$)", re.I), None, True),
    (_TAG, None, False),
)  # fmt: skip
"""How a block of HTML begins, how it ends (None: with a blank line), and whether it may end a paragraph."""

_QUOTE = -1
"""A block quote among the containers; a list item is the columns by which its lines are indented."""


@dataclass(frozen=True, slots=True)
class Inline:
    """A paragraph or a heading.

    Attributes:
        line: of its first line, from 1.
        text: without the marks of the blocks around it; lines are parted by ``\\n``.
        in_item: the last list item that began before it has not ended.
        quoted: it is in a block quote.
    """

    line: int
    text: str
    in_item: bool
    quoted: bool


def inlines(text: str, first_line: int = 1) -> Iterator[Inline]:
    """Yield the paragraphs and headings of a text in order. `first_line` is the number of its first line."""
    scan = _Scan()
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), first_line):
        if scan.takes_plain(line):
            continue
        scan.line(number, _with_spaces(line) if "\t" in line else line)
        if scan.found:
            yield from scan.found
            scan.found.clear()
    scan.close(0)
    yield from scan.found


def _with_spaces(line: str) -> str:
    """Expand the tabs in front of a line's text, where they count as columns."""
    front = _FRONT.match(line)
    end = front.end() if front else 0
    return line[:end].expandtabs(4) + line[end:]


class _Scan:
    """What is open at a line: containers, and in the innermost of them one leaf."""

    def __init__(self) -> None:
        self.found: list[Inline] = []
        self._containers: list[int] = []
        self._in_item = False
        self._paragraph: list[str] = []
        self._paragraph_line = 0
        self._fence: tuple[str, int] | None = None
        self._html: re.Pattern[str] | None = None
        self._in_html = False
        self._item_is_empty = False

    def takes_plain(self, line: str) -> bool:
        """Take a line that can only go on with the paragraph that is open, which most lines of prose are."""
        if self._paragraph and not self._containers and line[:1].isalpha():
            self._paragraph.append(line)
            return True
        return False

    def line(self, number: int, line: str) -> None:
        """Take a line, without its end and with tabs expanded."""
        rest, matched = self._matched(line)
        whole = matched == len(self._containers)
        if self._fence is not None or self._in_html:
            if whole and self._inside_leaf(rest):
                return
            self._fence, self._in_html = None, False
        blank = not rest.strip()
        if blank:
            self._blank(matched)
            return
        opened = False
        while True:
            indent = len(rest) - len(rest.lstrip(" "))
            going_on = bool(self._paragraph) and not opened
            if indent >= 4:
                break
            opening = self._container(rest[indent:], indent, going_on and whole)
            if opening is None or len(self._containers) >= NESTING_MAX:
                break
            self.close(len(self._containers) if opened else matched)
            opened = True
            kind, rest = opening
            self._containers.append(kind)
            self._in_item = self._in_item or kind != _QUOTE
            if not rest.strip():
                self._item_is_empty = kind != _QUOTE
                return
        self._item_is_empty = False
        self._leaf(number, rest, indent, matched, whole, opened)

    def close(self, keep: int) -> None:
        """End the leaf, and all containers but the outer ones."""
        self._flush()
        self._fence, self._in_html = None, False
        while len(self._containers) > keep:
            if self._containers.pop() != _QUOTE:
                self._in_item = False

    # ---- containers -----------------------------------------------------------------------------------------------

    def _matched(self, line: str) -> tuple[str, int]:
        """Strip the marks of the containers that go on; return what is left, and how many those are."""
        rest = line
        for count, container in enumerate(self._containers):
            stripped = rest.lstrip(" ")
            indent = len(rest) - len(stripped)
            if container == _QUOTE:
                if indent > 3 or not stripped.startswith(">"):
                    return rest, count
                rest = stripped[2:] if stripped.startswith("> ") else stripped[1:]
            elif indent >= container:
                rest = rest[container:]
            elif stripped:
                return rest, count
        return rest, len(self._containers)

    def _container(self, rest: str, indent: int, ends_paragraph: bool) -> tuple[int, str] | None:
        """Open what a line begins: return the container and the rest of the line; None if it begins none."""
        if rest[0] == ">":
            return _QUOTE, rest[2:] if rest.startswith("> ") else rest[1:]
        if _HR.match(rest):
            return None
        marker = _BULLET.match(rest) or _ORDERED.match(rest)
        if marker is None:
            return None
        after = rest[marker.end() :]
        if ends_paragraph and (not after.strip() or (marker[1].isdigit() and int(marker[1]) != 1)):
            return None
        spaces = len(after) - len(after.lstrip(" "))
        skipped = spaces if 1 <= spaces <= 4 and after.strip() else 1
        return indent + marker.end() + skipped, after[skipped:]

    def _blank(self, matched: int) -> None:
        self._flush()
        keep = matched
        if self._item_is_empty and self._containers and self._containers[-1] != _QUOTE:
            keep = min(keep, len(self._containers) - 1)
        self._item_is_empty = False
        self.close(keep)

    # ---- leaves ---------------------------------------------------------------------------------------------------

    def _inside_leaf(self, rest: str) -> bool:
        """Take a line into the code or the HTML that is open; False where a blank line has ended the HTML."""
        if self._fence is not None:
            mark, length = self._fence
            stripped = rest.strip()
            indent = len(rest) - len(rest.lstrip(" "))
            if indent < 4 and len(stripped) >= length and stripped == mark * len(stripped):
                self._fence = None
            return True
        if self._html is None:
            return bool(rest.strip())
        if self._html.search(rest):
            self._in_html = False
        return True

    def _leaf(self, number: int, rest: str, indent: int, matched: int, whole: bool, opened: bool) -> None:
        """Take what is left of a line into the paragraph that is open, or begin another leaf with it."""
        going_on = bool(self._paragraph) and not opened
        stripped = rest[indent:]
        if indent >= 4:
            if going_on:
                self._paragraph.append(self._outdented(rest, matched))
            elif not opened:
                self.close(matched)
            return
        if going_on and whole and _UNDERLINE.match(stripped):
            self._flush()
            return
        keep = len(self._containers) if opened else matched
        if self._begins_block(stripped, going_on):
            self.close(keep)
            self._begin(number, stripped)
            return
        if going_on:
            self._paragraph.append(self._outdented(rest, matched))
            return
        self.close(keep)
        self._paragraph_line = number
        self._paragraph.append(rest)

    def _outdented(self, rest: str, matched: int) -> str:
        """Strip what a line that goes on with a paragraph still has of the indentation of its list items."""
        unmatched = self._containers[matched:]
        columns = sum(one for one in unmatched if one != _QUOTE)
        return rest[min(columns, len(rest) - len(rest.lstrip(" "))) :]

    def _begins_block(self, rest: str, going_on: bool) -> bool:
        first = rest[0]
        if first in "`~":
            return _FENCE.match(rest) is not None
        if first == "#":
            return _HEADING.match(rest) is not None
        if first in "-*_":
            return _HR.match(rest) is not None
        return first == "<" and any(begin.match(rest) and (ends or not going_on) for begin, _, ends in _HTML)

    def _begin(self, number: int, rest: str) -> None:
        first = rest[0]
        if first in "`~":
            mark = _FENCE.match(rest)
            self._fence = (first, len((mark[1] or mark[2]) if mark else ""))
        elif first == "#":
            title = rest.lstrip("#").strip()
            bare = title.rstrip("#")
            self._add(number, title if bare and bare[-1] not in " \t" else bare.rstrip())
        elif first == "<":
            _, end, _ = next(one for one in _HTML if one[0].match(rest))
            self._in_html, self._html = end is None or not end.search(rest), end

    def _flush(self) -> None:
        """End the paragraph, without the link reference definitions that it begins with."""
        lines = self._paragraph
        if not lines:
            return
        start = 0
        while start < len(lines) and lines[start].lstrip().startswith("[") and _REFERENCE.match(lines[start].lstrip()):
            start += 1
        if start < len(lines):
            self._add(self._paragraph_line + start, "\n".join(lines[start:]).strip())
        self._paragraph = []

    def _add(self, line: int, text: str) -> None:
        if text:
            self.found.append(Inline(line, text, self._in_item, _QUOTE in self._containers))
