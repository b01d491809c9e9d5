"""The journal: what this home has acknowledged, period by period. Writers fill it, the reconciler publishes it.

    a fold's transaction = the rows of the index + the journal's rows + "their period is still open"

The three stand or fall together, and the caller is answered after. So a row that stands was put while its period was
open, whatever clocks and stalled calls do, and a checkpoint that is made once the period is closed names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from memolith.app.kernel.region import Region
from memolith.core.errors import OutcomeUnknown
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.journal import JOURNAL_LIFETIME_US, JournalRow, JournalStateRow, PeriodRow
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Index

JOIN_ATTEMPTS = 10


_OPEN = PeriodRow(open=True).to_attributes()


class AckJournal:
    """The journal as one fold uses it.

    Args:
        region: the home.
        period: the one that was open when the call began, if it knows.
    """

    def __init__(self, region: Region, period: int | None) -> None:
        self._region = region
        self._period = period

    def look_again(self) -> None:
        """Forget the period after a transaction that failed: it may have been closed meanwhile."""
        self._period = None

    def changes(self, names: Sequence[Named]) -> list[Change]:
        """Return the changes to commit with the rows of these objects, at most a few, all of this home.

        No call while the period is known; otherwise one read. Without an acknowledgement log, because the reconciler
        has not begun one yet or its table was emptied, the change checks that: the next log begins with a listing.

        Raises:
            Unavailable: the acknowledgement log does not answer.
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


def commit_joined(
    region: Region,
    index: Index,
    work_out: Callable[[], list[Change]],
    journal: AckJournal | None,
    names: Sequence[Named],
    *,
    own: bool,
    contended: str,
    attempts: int = JOIN_ATTEMPTS,
) -> None:
    """Join into a few rows until it succeeds: read and compute again whenever another writer was faster.

    Args:
        region: pauses between two attempts.
        index: which generation.
        work_out: reads the rows, and says what is to change; nothing, where they have it already.
        journal: the acknowledgement log for the same transaction, if any: it gets `names` where rows change.
        names: the objects that are projected.
        own: the caller is about to acknowledge them: logged even where no row changes.
        contended: the message once the attempts have run out.
        attempts: how many.

    Raises:
        Unavailable: the index does not answer. OutcomeUnknown: it stayed contended.
    """
    for attempt in range(attempts):
        changes = work_out()
        if journal is not None and (own or changes):
            changes += journal.changes(names)
        if not changes:
            return
        try:
            index.commit(changes)
            return
        except (port_errors.Contended, port_errors.OutcomeUnknown):
            region.back_off(attempt)
        if journal is not None:
            journal.look_again()
    raise OutcomeUnknown(contended)


def from_listing(state: JournalStateRow, run: str) -> JournalStateRow:
    """Make the state whose next checkpoint is to be made from a listing that has not begun yet.

    `run` is a new name, so that no part that was made before is taken for one of that checkpoint.
    """
    if state.closing is None:
        return replace(state, listed=True)
    return replace(state, run=run, listed=True, parts=0, cursor=None)
