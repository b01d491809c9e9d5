"""Remarks: what an agent wants kept, as one entry of a day's log, and what a dream makes of it. Pure.

The log of a day is an ordinary memory, ``/logs/2026/11/2026-11-23.md``. What does not fit goes to ``….2.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memolith.core.errors import InvalidRequest
from memolith.core.limits import REMARK_MAX_CHARS, REMARKS_PER_DREAM
from memolith.core.times import parse_rfc3339, rfc3339

FOLDER = "/logs/"

_PATH = re.compile(r"/logs/\d{4}/\d\d/(?P<day>\d{4}-\d\d-\d\d)(?:\.[1-9]\d?)?\.md")
_BEGINS = re.compile(r"- (?P<minute>(?:[01]\d|2[0-3]):[0-5]\d)(?::(?P<second>[0-5]\d))?Z? (?P<text>.*)")
_NAME_CHARS = 80
_DESCRIPTION_CHARS = 160


REMARKS_AGAIN_US = 60_000_000
"""What was said so shortly before a dream began may have been written after it was read."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One entry of a log: which, when, and what it says."""

    path: str
    number: int
    at: str
    text: str


def log_path(now_us: int, part: int = 1) -> str:
    """Return the path of the log of a day in UTC; `part` from 1."""
    day = rfc3339(now_us)[:10]
    return f"{FOLDER}{day[:4]}/{day[5:7]}/{day}{'' if part == 1 else f'.{part}'}.md"


def is_log(path: str) -> bool:
    """Tell whether a memory at this path is a day's log."""
    return _PATH.fullmatch(path) is not None


def check_remark(text: str) -> None:
    """Raise InvalidRequest for a text that is no remark."""
    if not text.strip() or len(text) > REMARK_MAX_CHARS:
        raise InvalidRequest("text", f"must have 1 to {REMARK_MAX_CHARS:,} characters")


def entry(now_us: int, text: str) -> str:
    """Return a remark as an entry: its first line stamped, the others indented, so that none looks like another."""
    first, *rest = [line.rstrip() for line in text.strip().splitlines()]
    stamp = rfc3339(now_us)[11:19]
    return "\n".join([f"- {stamp}Z {first}", *(f"  {line}" for line in rest)]) + "\n"


def remarks_of(path: str, content: str) -> list[Remark]:
    """Return the remarks of a log, in their order; what no one stamped, and is no line of a remark, is passed over."""
    found = _PATH.fullmatch(path)
    if found is None:
        return []
    remarks: list[Remark] = []
    for line in content.splitlines():
        begins = _BEGINS.fullmatch(line)
        if begins is not None:
            at = f"{found['day']}T{begins['minute']}:{begins['second'] or '00'}.000000Z"
            remarks.append(Remark(path, len(remarks) + 1, at, begins["text"]))
        elif remarks and line.startswith("  "):
            last = remarks[-1]
            remarks[-1] = Remark(last.path, last.number, last.at, f"{last.text}\n{line[2:]}")
    return remarks


def notes_of(
    logs: Mapping[str, str], since_us: int, before: Callable[[str], str]
) -> tuple[list[dict[str, Any]], int | None]:
    """Return the oldest remarks that were made since an instant, as a dream takes notes, in the order of time.

    Also since when the others were made, and None where these are all: the next dream is handed those. Among the notes
    are remarks with an earlier time that came into their log since, because they were approved late, or a person added
    them. Of more of these than there is room for, or of more that were made in one second than a dream is handed, the
    last are passed over.

    Args:
        logs: the text of each, by its path.
        before: returns the text that the log at a path had before the instant.
    """
    since = f"{rfc3339(since_us)[:19]}.000000Z"
    made, late = list[Remark](), list[Remark]()
    for path, content in logs.items():
        remarks = remarks_of(path, content)
        earlier = [one for one in remarks if one.at < since]
        made += [one for one in remarks if one.at >= since]
        late += _added(earlier, before(path)) if earlier else []
    made.sort(key=_order)
    left = made[REMARKS_PER_DREAM:]
    handed = [*made[:REMARKS_PER_DREAM], *sorted(late, key=_order)][:REMARKS_PER_DREAM]
    notes = [_note(one) for one in sorted(handed, key=_order)]
    if not left:
        return notes, None
    return notes, parse_rfc3339(left[0].at) + (1_000_000 if left[0].at == made[0].at else 0)


def _order(one: Remark) -> tuple[str, str, int]:
    return one.at, one.path, one.number


def _added(remarks: Sequence[Remark], before: str) -> list[Remark]:
    """Return those of a log's remarks that its text before does not have."""
    had = Counter((one.at, one.text) for one in remarks_of(remarks[0].path, before))
    added = []
    for one in remarks:
        had[one.at, one.text] -= 1
        if had[one.at, one.text] < 0:
            added.append(one)
    return added


def taken_until(data: Mapping[str, Any], notes: Sequence[Mapping[str, Any]]) -> int | None:
    """Return up to when an answer that is not done takes remarks; None where it takes none.

    Remarks after that are the next dream's. `notes` are those that the answer is about.
    """
    sources = {source for edit in data["edits"] for source in edit["sources"]}
    taken = [str(one["at"]) for one in notes if one["id"] in sources and is_log(str(one["id"]).partition("#")[0])]
    return parse_rfc3339(max(taken)) if taken else None


def _note(remark: Remark) -> dict[str, Any]:
    line = " ".join(remark.text.split())
    return {
        "type": "project",
        "name": line[:_NAME_CHARS],
        "description": line[:_DESCRIPTION_CHARS],
        "body": remark.text,
        "why": None,
        "how_to_apply": None,
        "evidence": [],
        "update_of": None,
        "id": f"{remark.path}#{remark.number}",
        "session": remark.path,
        "at": remark.at,
    }
