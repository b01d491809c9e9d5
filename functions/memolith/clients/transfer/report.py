"""What became of each thing that was to be moved: one row a file, folder, link or memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from memolith.clients.transfer.discovery import LeftOut

Result = Literal[
    "created",
    "changed",
    "written",
    "unchanged",
    "sent",
    "moved",
    "deleted",
    "fetched",
    "removed",
    "kept",
    "conflict",
    "refused",
    "staged",
    "left out",
    "withheld",
    "damaged",
    "noted",
    "local",
]
"""The first nine are done. ``sent``, ``moved`` and ``deleted`` is what became of memories, ``fetched`` and ``removed``
of files. ``conflict``: both sides had changed, and both texts are there. ``kept``: the other side has another text,
which was not written over. ``refused``: by the API, or its scanner. ``staged``: the write
waits for a person's approval. ``left out``: cannot be a memory, or a file.
``withheld``: it is there, and the scanner does not let it be read. ``damaged``: its stored text is not what was
acknowledged, in any region. ``noted``: lost with it is only what a memory does not have: a mode, the name of an empty
folder. ``local``: by its name it is a program's temporary file, and stays."""

LOSSES: frozenset[Result] = frozenset({"kept", "conflict", "refused", "staged", "left out", "damaged"})
"""Results after which one side lacks a text of the other."""

NOT_CARRIED = ("time", "mode", "owner", "extended attributes")
"""What no file's memory has. It is said of a whole import, once; of a mode that matters, in a row of its own."""

MOVED: frozenset[Result] = frozenset({"created", "changed", "written", "unchanged"})


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one path, and why, where it is not there."""

    path: str
    result: Result
    reason: str | None = None


Tell = Callable[[Row], None]


def told(left_out: Iterable[LeftOut]) -> list[Row]:
    """Make the rows of what a source cannot give."""
    return [Row(one.path, "left out" if one.lossy else "noted", one.reason) for one in left_out]


def as_json(rows: Iterable[Row], **also: object) -> dict[str, Any]:
    """Make the report for programs: how often each result came, and every row."""
    listed = sorted(rows, key=lambda row: row.path)
    return {**also, "results": dict(Counter(row.result for row in listed)), "rows": [asdict(row) for row in listed]}


def complete(rows: Iterable[Row]) -> bool:
    """Tell whether every text is on the other side."""
    return not any(row.result in LOSSES for row in rows)
