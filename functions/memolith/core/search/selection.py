"""The few memories that matter now, or none: which of what a search finds is worth a place before a model.

A search answers with the best that there is, however bad. What is recalled unasked has to be good by itself: enough of
what the query says has to be in the memory, weighed by how rare each word is among the store's memories. A word that no
memory has weighs most: a query that is mostly about something else finds nothing.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

SEVERAL_FLOOR = 0.3
"""How much of the query's weight a memory must have that has two of its words or more."""

SINGLE_FLOOR = 0.5
"""The same of a memory that has one of them. Both were set on one half of `tests/unit/app/api/recall_questions.py`, and
`tests/unit/app/api/test_recall.py` measures the other half."""

LINKED_SHARE = 0.5
"""A memory that is linked with one that was selected needs only this share of its floor."""

CAUTIONS = ("warning", "gotcha", "known issue", "fails", "never", "must not", "careful", "caution")
"""What makes notes on a tool worth reading for one that is using it already."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a query one memory has: a share of its weight, and which of its words, as stems."""

    memory_id: str
    share: float
    matched: tuple[str, ...]


def coverage(
    memory_id: str, stems: Collection[str], asked: Sequence[str], frequencies: Mapping[str, int], count: int
) -> Coverage:
    """Weigh what a memory has of a query.

    Args:
        stems: the memory's.
        asked: the query's that tell something.
        frequencies: in how many of the `count` memories each is; those that are left out are in none.
    """
    weights = {stem: _rarity(frequencies.get(stem, 0), count) for stem in asked}
    matched = tuple(stem for stem in weights if stem in stems)
    total = sum(weights.values())
    return Coverage(memory_id, sum(weights[stem] for stem in matched) / total if total else 0.0, matched)


def suffices(found: Coverage, *, linked: bool = False) -> bool:
    """Tell whether a memory matters enough to be recalled."""
    floor = SEVERAL_FLOOR if len(found.matched) > 1 else SINGLE_FLOOR
    return bool(found.matched) and found.share >= floor * (LINKED_SHARE if linked else 1.0)


def is_recallable(path: str) -> bool:
    """Tell whether a memory may be recalled at all: an index is in the context already, and logs are not knowledge."""
    return posixpath.basename(path) != "MEMORY.md" and not path.startswith("/logs/")


def is_known_tool(path: str, title: str, type: str, text: str, tools: Collection[str]) -> bool:
    """Tell whether a memory only explains a tool that is in use: a reference about it without a caution."""
    named = f"{path} {title}".lower()
    if type != "reference" or not any(tool.lower() in named for tool in tools if tool):
        return False
    lowered = text.lower()
    return not any(caution in lowered for caution in CAUTIONS)


def _rarity(frequency: int, count: int) -> float:
    """Return BM25's weight of a word. Source: Robertson, Zaragoza (2009), as `ranking`."""
    return math.log(1 + (max(count, frequency) - frequency + 0.5) / (frequency + 0.5))
