"""Watermarks: up to when a region holds everything that was acknowledged, for each home.

A watermark speaks of acknowledged writes, by the clock of their home at the acknowledgement. It may be late; it never
claims what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memolith.core.rows.control import CompletenessRow

Watermarks = Mapping[str, int]
"""By home: microseconds since 1970. A home that is not in it is one of which nothing is known."""


def claimable(row: CompletenessRow | None, earlier: CompletenessRow | None) -> dict[str, int]:
    """Return what may be claimed for rows that were read in the same batch as `row`. A batch is not one moment.

    A batch may have read a memory's row before a version was projected, and this one after its watermark had passed
    that version. So it claims no more than what held before the batch began: what the row said before it was last
    written, a minute ago, or what an earlier batch of the same process (`earlier`) had read.
    """
    if row is None:
        return {}
    claimed = {home: int(until) for home, until in row.before.items()}
    if earlier is not None and earlier.mark == row.mark:
        for home, until in earlier.until.items():
            claimed[home] = max(claimed.get(home, 0), int(until))
    return claimed


def least(watermarks: Watermarks, homes: Iterable[str]) -> int | None:
    """Return up to when all of these homes is known in full; None when one of them is not known at all."""
    found = [watermarks.get(home) for home in homes]
    known = [until for until in found if until is not None]
    return min(known) if found and len(known) == len(found) else None
