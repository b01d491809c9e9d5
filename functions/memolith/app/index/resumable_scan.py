"""A comparison made once a day and in pieces: when it began, and where it goes on, stand in the control table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memolith.app.kernel.port_calls import commit_or_busy
from memolith.app.kernel.region import Region, View
from memolith.core.rows.base import RowKey
from memolith.core.rows.control import ReconcileRow
from memolith.core.times import is_due
from memolith.ports.index import Change

EVERY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """What one invocation of one comparison saw: what it looked at, and what of that it had mended."""

    looked_at: int = 0
    repaired: int = 0
    finished: bool = False


Step = Callable[[View, str | None], tuple[ScanProgress, str | None]]
"""Compares one page after a place: what it saw, and the place to go on after; None at the end."""


def resume_scan(
    region: Region, name: str, step: Step, deadline_us: int, key: RowKey | None = None, begins: bool = True
) -> ScanProgress:
    """Go on with the comparison called `name`, or begin one if the last is a day old; until `deadline_us` at most.

    Of each page one write to the control table, besides what `step` does. The row written is the comparison's own, or
    the one at `key`, for a function that may not write there. Without `begins`, only go on: another begins it.

    Raises:
        Busy: another scan is at it. Unavailable, OutcomeUnknown: to be repeated.
    """
    key = key or ReconcileRow.key_of(name)
    view = region.view([key])
    attributes = view.rows.get(key)
    row = ReconcileRow() if attributes is None else ReconcileRow.from_attributes(attributes)
    now_us = region.clock.now_us()
    may_begin = begins and is_due(row.began_at, now_us, EVERY_US)
    if not view.complete or (row.after is None and not may_begin):
        return ScanProgress(finished=True)
    row = replace(row, began_at=now_us) if row.after is None else row
    scanned = ScanProgress()
    while True:
        seen, after = step(view, row.after)
        scanned = ScanProgress(scanned.looked_at + seen.looked_at, scanned.repaired + seen.repaired, after is None)
        row = replace(row, after=after)
        _note(region, Change(key, attributes, row.to_attributes()))
        attributes = row.to_attributes()
        if seen.repaired:
            region.metrics.count("reconcile_repaired", seen.repaired, kind=name)
        if after is None or region.clock.now_us() > deadline_us:
            return scanned


def _note(region: Region, change: Change) -> None:
    commit_or_busy(region.index, [change], "another comparison is under way")
