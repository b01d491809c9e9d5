"""Memories as agents write them: frontmatter, the index ``MEMORY.md``, how much of it is loaded, and what is amiss.

A memory may begin with frontmatter that says what it is: ``name``, ``description`` and ``type``, one of `TYPES`. Notes
of Basic Memory say ``title`` and any ``type`` instead, which is read as well. An index is a list of lines
``- [title](path): description``, of which the first 200 lines, and of these the first 25,000 bytes, are put before a
model. What is left out is always told.

Frontmatter here is the small part of YAML that such memories use: ``key: value`` lines, quoted or not, folded blocks,
and one level of keys below a key without value (``metadata:`` with ``type:`` in it). A whole YAML parser would expand
aliases and make dates and booleans of texts that strangers wrote; none of that is wanted here.
Source: the convention of Claude Code's memory, https://code.claude.com/docs/en/memory.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from urllib.parse import unquote

from memolith.core.exclusions import exclusions

INDEX_PATH = "/MEMORY.md"
INDEX_MAX_LINES = 200
INDEX_MAX_BYTES = 25_000
INDEX_LINE_MAX_CHARS = 200
TYPES = ("user", "feedback", "project", "reference")
FRONTMATTER_MAX_LINES = 100
FIELD_MAX_CHARS = 1_024
EXCERPT_MAX_CHARS = 80

_SHORTEN = (
    f"Keep each entry of the index to one line of under about {INDEX_LINE_MAX_CHARS} characters, and move detail into "
    "the memory that it links to."
)
_FENCE = "---"
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(.*))?")
_BLOCKS = frozenset((">", ">-", "|", "|-"))
_ENTRY = re.compile(r"\s*[-*]\s+\[")
_LINK = re.compile(r"\[[^\[\]]*\]\(\s*+(?:<([^<>\n]*)>|([^()\s]*(?:\([^()\s]*\)[^()\s]*)*))(?:\s+\"[^\"]*\")?\s*\)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")
_WHY = re.compile(r"^(?:[^\S\n]|[>*_#-])*why\b[^:\n]{0,40}:", re.IGNORECASE | re.MULTILINE)
_HOW = re.compile(r"^(?:[^\S\n]|[>*_#-])*how to apply\b[^:\n]{0,40}:", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What a memory says of itself. Fields that it does not give are None.

    `faults` are rules that it breaks, each with the line (from 1) at which it does; `given` is False where the text has
    no frontmatter at all, which is no fault by itself.
    """

    given: bool
    fields: Mapping[str, str]
    faults: tuple[tuple[int, str], ...] = ()

    @property
    def name(self) -> str | None:
        """The memory's title: its ``name``, or else its ``title``, as Basic Memory calls it."""
        return self.fields.get("name") or self.fields.get("title")

    @property
    def description(self) -> str | None:
        """One line that says when the memory matters."""
        return self.fields.get("description")

    @property
    def type(self) -> str | None:
        """One of `TYPES`, or whatever else stands there; also where it stands below ``metadata``."""
        return self.fields.get("type", self.fields.get("metadata.type"))


def frontmatter(text: str) -> Frontmatter:
    """Parse the frontmatter that a text begins with. Never raises; what cannot be read is among the faults."""
    lines = text.removeprefix("\ufeff").split("\n", FRONTMATTER_MAX_LINES + 1)
    if lines[0].rstrip() != _FENCE:
        return Frontmatter(False, {})
    within = [line.rstrip() for line in lines[1 : FRONTMATTER_MAX_LINES + 1]]
    if _FENCE not in within:
        return Frontmatter(True, {}, ((1, f"has no closing --- within {FRONTMATTER_MAX_LINES} lines"),))
    return _fields(within[: within.index(_FENCE)])


def _fields(lines: list[str]) -> Frontmatter:
    fields: dict[str, str] = {}
    faults: list[tuple[int, str]] = []
    parent, block = "", False
    for number, line in enumerate(lines, 2):
        indented = line[:1] in (" ", "\t")
        if not line.strip() or (line.lstrip().startswith("#") and not block):
            continue
        if indented and block:
            fields[parent] = f"{fields[parent]} {line.strip()}".strip()
            continue
        match = _FIELD.fullmatch(line.strip() if indented and parent else line)
        if match is None:
            if not (indented or line.startswith("- ")) or not parent:
                faults.append((number, "is not a line of the form key: value"))
            continue
        key, value = match[1], (match[2] or "").strip()
        if indented and parent:
            key = f"{parent}.{key}"
        else:
            parent, block = key, value in _BLOCKS
        if key in fields:
            faults.append((number, f"gives {key} a second time"))
        elif block and key == parent:
            fields[key] = ""
        elif value:
            fields[key] = _scalar(value)
    known = {key: value[:FIELD_MAX_CHARS] for key, value in fields.items()}
    return Frontmatter(True, known, (*faults, *_missing(known)))


def _missing(fields: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield what is not given. A note with a ``title`` and no ``name`` is Basic Memory's: it needs a type, any type."""
    if fields.get("title") and not fields.get("name"):
        if not fields.get("type"):
            yield 1, "has no type"
        return
    for key in ("name", "description"):
        if not fields.get(key):
            yield 1, f"has no {key}"
    type = fields.get("type", fields.get("metadata.type"))
    if not type:
        yield 1, "has no type"
    elif type not in TYPES:
        yield 1, f"has a type that is none of {', '.join(TYPES)}"


def _scalar(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\([\"\\/])", r"\1", value[1:-1])
    return value.split(" #", 1)[0].rstrip()


# ---- the index ------------------------------------------------------------------------------------------------------


def index_line(path: str, text: str) -> str:
    """Format one memory's line of a generated index: at most `INDEX_LINE_MAX_CHARS`, except for a very long path.

    Args:
        path: the memory's, ``/notes/todo.md``; the line links to it from the store's root.
        text: the memory's; without frontmatter, or a name in it, the file's name is the title.
    """
    said = frontmatter(text)
    stem = posixpath.basename(path).removesuffix(".md")
    link = re.sub(r"%(?=[0-9A-Fa-f]{2})", "%25", path.lstrip("/"))
    if re.search(r"[\s()<>]", link):
        link = f"<{link.translate({60: '%3C', 62: '%3E', 10: '%0A', 13: '%0D'})}>"
    title = _one_line(said.name or stem, 80).translate({91: "(", 93: ")"})
    line = f"- [{title}]({link})"
    described = (said.description or "").replace("](", "] (")  # a link in it would be one of the index
    description = _one_line(described, max(0, INDEX_LINE_MAX_CHARS - len(line) - 2))
    return f"{line}: {description}" if description else line


def _one_line(text: str, most_chars: int) -> str:
    flat = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(flat) <= most_chars:
        return flat
    return flat[: most_chars - 1].rstrip() + "…" if most_chars > 1 else ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """As much of an index as is put before a model; `lines` of `lines_total` lines, `entries` of `entries_total` links.

    A last line end is no line of its own.
    """

    text: str
    lines: int
    lines_total: int
    entries: int
    entries_total: int
    size_total_bytes: int

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return len(self.text.encode()) < self.size_total_bytes

    def warning(self, name: str) -> str | None:
        """Describe what the index called `name` lost to the limits; None if it lost nothing."""
        if not self.truncated:
            return None
        lines, entries = self.lines_total - self.lines, self.entries_total - self.entries
        missing = f"{_count(lines, 'line')} and {_count(entries, 'entry', 'entries')} are missing"
        if lines <= 0:
            missing = "the rest of the last line is missing"
        return (
            f"WARNING: {name} is {_count(self.lines_total, 'line')} and {self.size_total_bytes:,} bytes "
            f"(limits: {INDEX_MAX_LINES} lines, {INDEX_MAX_BYTES:,} bytes). "
            f"Only the first {_count(self.lines, 'line')} were loaded; {missing}. {_SHORTEN}"
        )


def load(text: str) -> Loaded:
    """Return the first `INDEX_MAX_LINES` lines of an index, and of these as many whole ones as fit `INDEX_MAX_BYTES`.

    A first line that is longer than that by itself is cut between two characters.
    """
    whole = text.encode()
    kept = "\n".join(text.split("\n")[:INDEX_MAX_LINES])
    if _line_count(text) <= INDEX_MAX_LINES:
        kept = text
    encoded = kept.encode()
    if len(encoded) > INDEX_MAX_BYTES:
        head = encoded[:INDEX_MAX_BYTES]
        end = len(head) if encoded[INDEX_MAX_BYTES : INDEX_MAX_BYTES + 1] == b"\n" else head.rfind(b"\n")
        kept = head[: end if end > 0 else INDEX_MAX_BYTES].decode(errors="ignore")
    return Loaded(kept, _line_count(kept), _line_count(text), _entry_count(kept), _entry_count(text), len(whole))


def _line_count(text: str) -> int:
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def _entry_count(text: str) -> int:
    return sum(1 for line in text.split("\n") if _ENTRY.match(line))


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


# ---- what is amiss --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remark:
    """Something amiss in one memory. `line` counts from 1; `rule` is the remark's name, for programs."""

    path: str
    line: int
    rule: str
    message: str

    @property
    def is_warning(self) -> bool:
        """Whether it says that something had better not be remembered, and not that something is wrong."""
        return self.rule.startswith("excl-")


def folders_of(paths: Iterable[str]) -> frozenset[str]:
    """Return every folder that one of these paths is in, each with a slash at its end."""
    return frozenset(path[: end + 1] for path in paths for end in range(len(path)) if path[end] == "/")


def lint(path: str, text: str, paths: Set[str], folders: Set[str] | None = None) -> list[Remark]:
    """List everything amiss in one memory, in order of its lines.

    Args:
        path: the memory's.
        text: the memory's.
        paths: of all memories of its store, to which links may lead.
        folders: `folders_of` these paths; who checks many memories of a store makes them once.
    """
    remarks = list(_dead_links(path, text, paths, folders_of(paths) if folders is None else folders))
    if posixpath.basename(path) == posixpath.basename(INDEX_PATH):
        remarks += _index_remarks(path, text)
    elif path.endswith(".md"):
        remarks += _memory_remarks(path, text)
        remarks += _exclusion_remarks(path, text)
    return sorted(remarks, key=lambda remark: (remark.line, remark.rule, remark.message))


def _index_remarks(path: str, text: str) -> Iterator[Remark]:
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > INDEX_LINE_MAX_CHARS:
            yield Remark(path, number, "index-line-too-long", f"{len(line)} characters; at most {INDEX_LINE_MAX_CHARS}")
    loaded = load(text)
    if loaded.truncated:
        told = f"only the first {_count(loaded.lines, 'line')} of {loaded.lines_total:,} are loaded"
        yield Remark(path, loaded.lines + 1, "index-too-long", told)


def _memory_remarks(path: str, text: str) -> Iterator[Remark]:
    said = frontmatter(text)
    if not said.given:
        yield Remark(path, 1, "frontmatter-missing", "does not begin with frontmatter (name, description, type)")
        return
    for line, fault in said.faults:
        yield Remark(path, line, "frontmatter-invalid", f"its frontmatter {fault}")
    if said.type in ("feedback", "project"):
        if _WHY.search(text) is None:
            yield Remark(path, 1, "why-missing", f"a {said.type} memory needs a line that begins with Why:")
        if _HOW.search(text) is None:
            yield Remark(
                path, 1, "how-to-apply-missing", f"a {said.type} memory needs a line that begins How to apply:"
            )


def _exclusion_remarks(path: str, text: str) -> Iterator[Remark]:
    for one in exclusions(text):
        shown = text[one.start : one.end].strip().partition("\n")[0][:EXCERPT_MAX_CHARS]
        yield Remark(path, text.count("\n", 0, one.start) + 1, one.rule, f"{shown!r} {one.reason}")


def _dead_links(path: str, text: str, paths: Set[str], folders: Set[str]) -> Iterator[Remark]:
    for number, line in enumerate(text.split("\n"), 1):
        for match in _LINK.finditer(line):
            target = match[1] if match[1] is not None else match[2]
            if not target or _ELSEWHERE.match(target):
                continue
            if not _leads_to(path, unquote(target.split("#", 1)[0]), paths, folders):
                yield Remark(path, number, "dead-link", f"no memory is at {target}")


def _leads_to(path: str, target: str, paths: Set[str], folders: Set[str]) -> bool:
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return found in paths or f"{found.rstrip('/')}/" in folders
