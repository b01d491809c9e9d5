"""Decisions about transcripts: how far an event is believed, in which order events stand, and when a part may go. Pure.

The order of events is (when they happened, region, part, place in the part). Every region has the same, whatever
arrives there first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from memolith.core.limits import TRANSCRIPT_DAYS_DEFAULT
from memolith.core.objects.transcript import Event
from memolith.core.retention import DAY_US
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.trust import AGENT, TOOL_EXTERNAL, least

SENT = frozenset(
    (
        "user.message",
        "user.interrupt",
        "user.tool_confirmation",
        "user.custom_tool_result",
        "user.tool_result",
        "user.define_outcome",
        "system.message",
    )
)
"""The types that a client sends; every other one is reported by what runs the agent."""

NEEDED = {
    "user.message": ("content",),
    "user.tool_confirmation": ("tool_use_id", "result"),
    "user.custom_tool_result": ("custom_tool_use_id",),
    "user.tool_result": ("tool_use_id",),
    "user.define_outcome": ("description", "rubric"),
    "system.message": ("content",),
}
"""Fields without which a type that a client sends says nothing."""

_SAID = frozenset(("user.message", "user.tool_confirmation", "user.interrupt", "user.define_outcome", "system.message"))

_PLACE_END = "~"
"""Above every character that a place has."""


def trust_of(type: str, writer: str | None, *, suspicious: bool) -> str | None:
    """Return the class of an event: what was said is believed as its writer is, and what a tool gave as a stranger.

    `writer` is the class of what the caller writes. `suspicious`: the scanner found an instruction planted in it.
    """
    if type in _SAID:
        most = writer
    elif type.startswith("agent.") and not type.endswith("_result"):
        most = least([AGENT], writer)
    else:
        most = least([TOOL_EXTERNAL], writer)
    return least([TOOL_EXTERNAL], most) if suspicious else most


def text_of(event: Event) -> str:
    """Return what an event says, as text: its content, or a tool's name and input."""
    content = event.fields.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    said = "\n".join(text for text in texts if isinstance(text, str))
    if "input" in event.fields:
        said = f"{event.fields.get('name', '')} {json.dumps(event.fields['input'], ensure_ascii=False)}\n{said}"
    return said.strip()


def place(at: int, region: str, sequence: int, number: int) -> str:
    """Return where an event stands among its session's, as a text whose order is theirs."""
    return f"{at:020d}#{region}#{sequence:010d}#{number:05d}"


def before(at: int, region: str, sequence: int) -> str:
    """Return the place before every event that a part has of that time, and after what earlier parts have of it."""
    return f"{at:020d}#{region}#{sequence:010d}"


def after(at: int, region: str, sequence: int) -> str:
    """Return the place after every event that a part has of that time, and before what later parts have of it."""
    return before(at, region, sequence) + _PLACE_END


def counting(rows: Iterable[TranscriptRow]) -> dict[str, tuple[str, int]]:
    """Return for each event's id the part in which it counts: the same event may have been sent to two regions."""
    parts: dict[str, tuple[str, int]] = {}
    for row in sorted(rows, key=lambda row: (row.recorded_at, row.region, row.sequence)):
        for end in row.ids:
            parts.setdefault(end, (row.region, row.sequence))
    return parts


def unrecorded(events: Sequence[Event], recorded: Iterable[str]) -> list[Event]:
    """Return the events that are not recorded yet, each once. `recorded` are ends of ids."""
    seen, new = set(recorded), []
    for event in events:
        if event.id_end not in seen:
            seen.add(event.id_end)
            new.append(event)
    return new


def days_kept(stores: Iterable[int | None]) -> int:
    """Return for how many days the transcript of a session is kept, by what each of its stores says; the least."""
    return min((TRANSCRIPT_DAYS_DEFAULT if days is None else days for days in stores), default=TRANSCRIPT_DAYS_DEFAULT)


def is_over(row: TranscriptRow, days: int, now_us: int, day_us: int = DAY_US) -> bool:
    """Tell whether the time of a part that is not erased yet is over."""
    return row.erased_at is None and row.recorded_at + days * day_us <= now_us
