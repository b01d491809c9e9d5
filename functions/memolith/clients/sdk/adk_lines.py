"""The documents in which ADK's memories stand: where they are, a line of JSON each, and which words they share."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from memolith.clients.sdk.segments import escaped

if TYPE_CHECKING:
    from google.adk.events.event import Event

PART_MAX_BYTES = 100_000
"""Of one part; a memory of the store has at most 102,400."""

_PART = re.compile(r"(\d{4,})\.jsonl")


@dataclass(frozen=True, slots=True)
class Line:
    """One memory. A text that was deleted leaves its id behind, so that it does not come back.

    Attributes:
        timestamp: as ISO 8601 where ADK gave a time, as it came where a caller gave a text.
    """

    id: str
    text: str
    author: str | None = None
    role: str | None = None
    timestamp: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    deleted: bool = False

    def to_json(self) -> str:
        """Write it in one line; text as it is, for people and for the scanner. Raises ValueError if it is not JSON."""
        if self.deleted:
            return json.dumps({"id": self.id, "deleted": True}, ensure_ascii=False)
        fields = {"id": self.id, "timestamp": self.timestamp, "author": self.author, "role": self.role}
        told = {name: value for name, value in fields.items() if value is not None}
        more = {"metadata": dict(self.metadata)} if self.metadata else {}
        try:
            document = json.dumps({**told, "text": self.text, **more}, ensure_ascii=False, allow_nan=False)
            document.encode()
        except (TypeError, ValueError) as error:
            raise ValueError(f"memory {self.id!r}: must be JSON, and Unicode: {error}") from error
        return document

    def entry(self, path: str) -> MemoryEntry:
        """Make the entry that a search returns; its id says where the line is."""
        return MemoryEntry(
            id=f"{path}#{quote(self.id, safe='')}",
            content=types.Content(role=self.role, parts=[types.Part(text=self.text)]),
            author=self.author,
            timestamp=self.timestamp,
            custom_metadata=dict(self.metadata),
        )


# ---- where they stand -------------------------------------------------------------------------------------------


def user_folder(app_name: str, user_id: str) -> str:
    """Return the folder of one user of an app. Raises ValueError for an empty name."""
    return f"/{_segment('app_name', app_name)}/{_segment('user_id', user_id)}/"


def session_folder(app_name: str, user_id: str, session_id: str | None) -> str:
    """Return the document of a session; events without one have a document together."""
    user = user_folder(app_name, user_id)
    return f"{user}sessions/{_segment('session_id', session_id)}/" if session_id else f"{user}events/"


def memories_folder(app_name: str, user_id: str) -> str:
    """Return the document of what was added explicitly."""
    return f"{user_folder(app_name, user_id)}memories/"


def part_path(folder: str, number: int) -> str:
    """Return the path of a part, the first being 1."""
    return f"{folder}{number:04d}.jsonl"


def part_number(folder: str, path: str) -> int | None:
    """Return the number of the part at a path; None for what is no part of the document."""
    found = _PART.fullmatch(path.removeprefix(folder))
    return int(found[1]) if found else None


def _segment(name: str, value: str) -> str:
    if not value:
        raise ValueError(f"{name}: must not be empty")
    return escaped(value)


# ---- what is asked for and cannot be had ------------------------------------------------------------------------

EXPIRY = ("ttl", "expire_time", "revision_ttl", "revision_expire_time")
"""The keys of `custom_metadata` by which ADK's service of Vertex AI has memories end."""


def refuse_expiry(*metadata: Mapping[str, object] | None) -> None:
    """Check that nothing asks for memories that end by themselves: kept as words, it would be believed.

    Raises:
        NotImplementedError: it does; the message names the key.
    """
    for asked in metadata:
        for key in EXPIRY:
            if asked and asked.get(key) is not None:
                raise NotImplementedError(f"{key}: memories of MemolithMemoryService do not expire; leave it out")


# ---- what a line holds ------------------------------------------------------------------------------------------


def line_of_event(event: Event, metadata: Mapping[str, object] | None) -> Line | None:
    """Make the line of what was said in an event; None if it says nothing (calls of tools, thoughts, files)."""
    text = _text(event.content)
    if text is None:
        return None
    said_at = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    author, role = event.author or None, event.content.role if event.content else None
    return Line(event.id or _hash(text, author, said_at), text, author, role, said_at, dict(metadata or {}))


def line_of_entry(entry: MemoryEntry, metadata: Mapping[str, object] | None) -> Line | None:
    """Make the line of a memory that a caller made; None for one without text."""
    text = _text(entry.content)
    if text is None:
        return None
    line_id = entry.id or _hash(text, entry.author, entry.timestamp)
    more = {**entry.custom_metadata, **(metadata or {})}
    return Line(line_id, text, entry.author, entry.content.role, entry.timestamp, more)


def lines_of(content: str | None) -> Iterator[Line]:
    """Yield the lines of a part; skip what another writer put into it, and withheld content."""
    for written in (content or "").split("\n"):
        line = _parsed(written)
        if line is not None:
            yield line


def without(content: str | None, line_id: str) -> str | None:
    """Return the part without the text of a line, every other byte as it was; None where the line is not there."""
    written = (content or "").split("\n")
    for number, one in enumerate(written):
        line = _parsed(one)
        if line is not None and line.id == line_id and not line.deleted:
            written[number] = Line(line_id, "", deleted=True).to_json()
            return "\n".join(written)
    return None


def packed(last: tuple[int, str] | None, lines: Iterable[Line]) -> Iterator[tuple[int, str]]:
    """Yield which parts become what when lines are appended.

    Args:
        last: number and content of the last part, if there is one.

    Raises:
        ValueError: a line that no part can hold, or that is no JSON; nothing is yielded.
    """
    written = [_fitting(line) for line in lines]
    number, text = last if last is not None else (1, "")
    changed = False
    for line in written:
        longer = f"{text}{'' if text == '' or text.endswith(chr(10)) else chr(10)}{line}"
        if len(longer.encode()) > PART_MAX_BYTES:
            if changed:
                yield number, text
            number, longer = number + 1, line
        text, changed = longer, True
    if changed:
        yield number, text


def _fitting(line: Line) -> str:
    written = f"{line.to_json()}\n"
    if len(written.encode()) > PART_MAX_BYTES:
        raise ValueError(f"memory {line.id!r}: has more than {PART_MAX_BYTES:,} bytes as JSON")
    return written


def _parsed(written: str) -> Line | None:
    """Read a line; None for what another writer put there: no object, other types, or text that is no Unicode."""
    try:
        found = json.loads(written)
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("id"), str):
        return None
    if found.get("deleted") is True:
        return Line(found["id"], "", deleted=True)
    author, role, timestamp = (found.get(name) for name in ("author", "role", "timestamp"))
    more = found.get("metadata") or {}
    if not isinstance(found.get("text"), str) or not isinstance(more, dict):
        return None
    if not all(one is None or isinstance(one, str) for one in (author, role, timestamp)):
        return None
    return Line(found["id"], found["text"], author, role, timestamp, more)


def _text(content: types.Content | None) -> str | None:
    parts = (content.parts if content else None) or []
    said = [part.text for part in parts if part.text and not part.thought]
    return "\n".join(said) or None


def _hash(*told: str | None) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


# ---- words ------------------------------------------------------------------------------------------------------


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case; a Latin word within a script that has no spaces is one too."""
    lowered = unicodedata.normalize("NFC", text).lower()
    return set(re.findall(r"\w+", lowered)) | set(re.findall(r"[0-9a-z_\u00c0-\u024f]+", lowered))


def shared_words(words: set[str], line: Line) -> int:
    """Count how many of these words a line has. A word that is not ASCII also counts within another, as in ADK."""
    own, lowered = words_of(line.text), unicodedata.normalize("NFC", line.text).lower()
    return sum(1 for word in words if word in own or (not word.isascii() and word in lowered))
