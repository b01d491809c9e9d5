"""The journal: what this home has acknowledged, period by period. Writers fill it, the reconciler publishes it.

    a fold's transaction = the rows of the index + the journal's rows + "their period is still open"

The three stand or fall together, and the caller is answered after. So a row that stands was put while its period was
open, whatever clocks and stalled calls do, and a checkpoint that is made once the period is closed names it.

A period is split into shards, because DynamoDB lets two transactions conflict even where both only check one row. A
writer that meets another goes on to another shard at once; if it meets others again, it splits the period further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from memolith.app.kernel.region import Region, View
from memolith.core.errors import OutcomeUnknown
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.base import Attributes
from memolith.core.rows.journal import (
    JOURNAL_LIFETIME_US,
    JournalRow,
    JournalStateRow,
    OpenPeriod,
    PeriodRow,
    split_further,
)
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Index

JOIN_ATTEMPTS = 10

SHARD_ATTEMPTS = 24
"""In how many shards a transaction is tried. With half of them held at every moment, one in ten million finds none."""

SPLIT_AFTER = 2
"""After how many shards that are held a writer splits the period further."""


JOURNAL = "journal"
_OPEN = PeriodRow(open=True).to_attributes()


class AckJournal:
    """The journal as one fold uses it.

    Args:
        region: the home.
        period: the one that was open when the call began, if it knows.
    """

    def __init__(self, region: Region, period: OpenPeriod | None) -> None:
        self._region = region
        self._period = period
        self._names: Sequence[Named] = ()
        self._met = 0

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
        self._names, home = names, self._region.name
        if self._period is None:
            self._period = self._open_period()
        if self._period is None:
            return [Change(JournalStateRow.key(home), None, None)]
        shard = self._shard(self._period.shards)
        expires_at = (self._region.clock.now_us() + JOURNAL_LIFETIME_US) // 1_000_000
        period = self._period.number
        changes = [Change(PeriodRow.key(home, period, shard), _OPEN, _OPEN)]
        for name in names:
            row = JournalRow(
                object_key=name.key,
                version_id=name.version_id,
                expires_at=expires_at,
                digest=name.digest,
                object_version=name.object_version,
            )
            key = JournalRow.key(home, period, shard, name.key)
            changes.append(Change(key, None, row.to_attributes(), unconditional=True))
        return changes

    def commit(self, index: Index, changes: Sequence[Change]) -> None:
        """Commit; where other transactions were at the shard alone, commit again at once in another one.

        One transaction. For each shard that is held another one, and a short pause; a read after the first, and a
        transaction that splits the period further after the second.

        Raises:
            Contended, Unavailable, OutcomeUnknown: as `Index.commit`.
        """
        for _ in range(SHARD_ATTEMPTS):
            try:
                index.commit(changes)
                return
            except port_errors.Contended as error:
                if not error.busy or any(key.table != JOURNAL for key in error.busy):
                    raise
            self._met += 1
            self._make_room()
            self._region.back_off(0)
            changes = [*(change for change in changes if change.key.table != JOURNAL), *self.changes(self._names)]
        index.commit(changes)

    def _shard(self, shards: int) -> int:
        """Choose the shard: by the name first, which makes a repetition harmless, then by chance."""
        if not self._met:
            return JournalRow.shard_of(self._names[0].key, shards)
        return int(self._region.randomness.fraction() * shards)

    def _make_room(self) -> None:
        """See into how many shards the period is split by now; split it further if that has not helped.

        Only together with the row that names it: so none is put beside a period that is closed, or a log that is lost.
        """
        state, attributes = self._state()
        if state is None:
            self._period = None
            return
        seen, self._period = self._period, state.open_period
        shards = split_further(self._period.shards)
        if self._met < SPLIT_AFTER or seen != self._period or shards == self._period.shards:
            return
        home, row = self._region.name, PeriodRow(open=True).to_attributes()
        changes = [Change(JournalStateRow.key(home), attributes, replace(state, shards=shards).to_attributes())]
        changes += [
            Change(PeriodRow.key(home, state.open, shard), None, row) for shard in range(self._period.shards, shards)
        ]
        try:
            self._region.index.commit(changes)
        except (port_errors.Contended, port_errors.OutcomeUnknown):
            self._period = None
            return
        self._region.metrics.count("journal_split")
        self._period = OpenPeriod(state.open, shards)

    def _open_period(self) -> OpenPeriod | None:
        state, _ = self._state()
        return None if state is None else state.open_period

    def _state(self) -> tuple[JournalStateRow | None, Attributes | None]:
        key = JournalStateRow.key(self._region.name)
        attributes = self._region.read(self._region.index, [key]).get(key)
        return (None if attributes is None else JournalStateRow.from_attributes(attributes)), attributes


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
            commit_logged(index, changes, journal)
            return
        except (port_errors.Contended, port_errors.OutcomeUnknown):
            region.back_off(attempt)
        if journal is not None:
            journal.look_again()
    raise OutcomeUnknown(contended)


def commit_joined_everywhere(
    region: Region,
    view: View,
    work_out: Callable[[Index], list[Change]],
    name: Named | None,
    *,
    own: bool,
    contended: str,
    attempts: int = JOIN_ATTEMPTS,
) -> None:
    """Join one object into a few rows of every generation of tables that is written, as `commit_joined` does.

    `name` is the object, if this home put it: it is logged with the rows of the tables that serve.
    """
    for index in view.indexes:
        serving = name is not None and index.generation == view.index.generation
        commit_joined(
            region,
            index,
            partial(work_out, index),
            AckJournal(region, view.period) if serving else None,
            [name] if serving and name is not None else [],
            own=own,
            contended=contended,
            attempts=attempts,
        )


def commit_logged(index: Index, changes: Sequence[Change], journal: AckJournal | None) -> None:
    """Commit changes that may have the journal's rows among them. Costs and raises as `AckJournal.commit`."""
    if journal is None:
        index.commit(changes)
    else:
        journal.commit(index, changes)


def from_listing(state: JournalStateRow, run: str) -> JournalStateRow:
    """Make the state whose next checkpoint is to be made from a listing that has not begun yet.

    `run` is a new name, so that no part that was made before is taken for one of that checkpoint.
    """
    if state.closing is None:
        return replace(state, listed=True)
    return replace(state, run=run, listed=True, parts=0, cursor=None, tree=None)
