"""The journal: what this home has acknowledged, period by period. Writers fill it, the reconciler publishes it.

    a fold's transaction = the rows of the index + the journal's rows + "their period is still open"

The three stand or fall together, and the caller is answered after. So a row that stands was put while its period was
open, whatever clocks and stalled calls do, and a checkpoint that is made once the period is closed names it.
"""

from __future__ import annotations

from collections.abc import Sequence

from cairn.app.region import Region
from cairn.core.checkpoint import Named
from cairn.core.rows import JOURNAL_LIFETIME_US, JournalRow, JournalStateRow, PeriodRow
from cairn.ports.index import Change

_OPEN = PeriodRow(open=True).to_attributes()


class Journal:
    """The journal as one fold uses it.

    Args:
        region: the home.
        period: the one that was open when the call began, if it knows.
    """

    def __init__(self, region: Region, period: int | None) -> None:
        self._region = region
        self._period = period

    def look_again(self) -> None:
        """After a transaction that failed: its period may have been closed meanwhile."""
        self._period = None

    def changes(self, names: Sequence[Named]) -> list[Change]:
        """What is to stand in the same transaction as the rows of these objects, at most a few, all of this home.

        No call while the period is known; otherwise one read. Where there is no journal, because the reconciler has
        not begun one yet or its table has been emptied, that is what is checked: the next one begins with a listing.

        Raises:
            Unavailable: the journal does not answer.
        """
        if not names:
            return []
        home = self._region.name
        if self._period is None:
            self._period = self._open_period()
        if self._period is None:
            return [Change(JournalStateRow.key(home), None, None)]
        shard = JournalRow.shard_of(names[0].key)
        expires_at = (self._region.clock.now_us() + JOURNAL_LIFETIME_US) // 1_000_000
        changes = [Change(PeriodRow.key(home, self._period, shard), _OPEN, _OPEN)]
        for name in names:
            row = JournalRow(object_key=name.key, version_id=name.version_id, expires_at=expires_at)
            key = JournalRow.key(home, self._period, shard, name.key)
            changes.append(Change(key, None, row.to_attributes(), unconditional=True))
        return changes

    def _open_period(self) -> int | None:
        key = JournalStateRow.key(self._region.name)
        attributes = self._region.read(self._region.index, [key]).get(key)
        return None if attributes is None else JournalStateRow.from_attributes(attributes).open
