"""Which memories a session used: what it cites, and what it read, by what its events say. Pure.

A citation says that a memory helped, and rests on the agent that says so. A read says that it was looked at. Either
keeps a memory from being taken for unused; nothing is ever deleted for not being used.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memolith.core.limits import USED_MEMORIES_MAX
from memolith.core.objects.transcript import Event
from memolith.core.objects.usage_record import MemoryUse, UsageRecord
from memolith.core.retention import DAY_US
from memolith.core.transcripts import text_of

CITED = "agent.memory_citation"
"""The type of the event by which a session cites a memory; `path` says which."""

USES_PER_EVENT_MAX = 100

_TOOL_USES = frozenset(("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use"))
_READERS = {
    "memory": ("path",),
    "read_note": ("path", "identifier"),
    "build_context": ("url", "uri", "memory_url"),
}
"""Tools that show one memory, by the last part of their names, and the fields of their input that may say which.

``identifier`` is Basic Memory's; the others are in `memolith.wire.mcp.schemas`.
"""

_BLOCK = re.compile(r"<oai-mem-citation>(.*?)</oai-mem-citation>", re.S)
_CITATION = re.compile(r"^\s*(?P<path>[^\s|<>][^|<>\n]*?):\d+-\d+\|note=", re.M)
"""A line of `<citation_entries>` in a citation of Codex."""


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a memory, whose path is one of `places`, the likeliest first; `store_id` where the event says it."""

    places: tuple[str, ...]
    is_cited: bool
    at: int
    store_id: str | None = None


def uses(event: Event) -> Iterator[Use]:
    """Yield what an event says was used, at most `USES_PER_EVENT_MAX`."""
    if event.type == CITED:
        store_id = event.fields.get("memory_store_id")
        named = store_id if isinstance(store_id, str) else None
        yield from (Use(places, True, event.at, named) for places in _places(event.fields.get("path")))
    elif event.type in _TOOL_USES:
        yield from (Use(places, False, event.at) for places in _places(_target(event.fields)))
    elif event.type == "agent.message":
        blocks = "\n".join(_BLOCK.findall(text_of(event)))
        found = list(dict.fromkeys(one["path"] for one in _CITATION.finditer(blocks)))[:USES_PER_EVENT_MAX]
        yield from (Use(places, True, event.at) for path in found for places in _places(path))


def _target(fields: Mapping[str, Any]) -> object:
    """Return what a use of a tool shows, if it is one of those that show a memory."""
    name, given = fields.get("name"), fields.get("input")
    tool = re.split(r"__|[./]", name)[-1] if isinstance(name, str) else ""
    if tool not in _READERS or not isinstance(given, Mapping) or given.get("command", "view") != "view":
        return None
    return next((given[field] for field in _READERS[tool] if field in given), None)


def _places(path: object) -> list[tuple[str, ...]]:
    """Return the paths that an agent may mean: with the tools' own root or without it, with ``.md`` or without it."""
    if not isinstance(path, str) or not path or len(path) > 1_024:
        return []
    below = posixpath.normpath("/" + path.removeprefix("memory://").lstrip("/"))
    roots = [below.removeprefix("/memories")] if below.startswith("/memories/") else []
    found = [*roots, below]
    return [tuple(dict.fromkeys([*found, *(f"{one}.md" for one in found if not one.endswith(".md"))]))]


def counted(before: UsageRecord, found: Iterable[tuple[str, Use]], **others: Any) -> UsageRecord:
    """Return the record after these uses, each of a memory's id; `others` are its further fields."""
    memories = dict(before.memories)
    for memory_id, use in found:
        was, day = memories.get(memory_id, MemoryUse()), use.at // DAY_US
        memories[memory_id] = (
            replace(was, cited=was.cited + 1, cited_day=max(was.cited_day, day))
            if use.is_cited
            else replace(was, read=was.read + 1, read_day=max(was.read_day, day))
        )
    newest = sorted(memories.items(), key=lambda one: (-one[1].last_day, one[0]))[:USED_MEMORIES_MAX]
    return replace(before, memories=dict(sorted(newest)), **others)


def is_unused(usage: UsageRecord | None, memory_id: str, changed_at: int, days: int, now_us: int) -> bool:
    """Tell whether a memory was neither used nor changed for so many days, in all of which uses were counted."""
    if usage is None:
        return False
    since = max(usage.began_at, changed_at)
    use = usage.memories.get(memory_id)
    if use is not None:
        since = max(since, (use.last_day + 1) * DAY_US)
    return since + days * DAY_US <= now_us
