"""Logs of dreams: each record is put once, and the newest is in the index."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from memolith.app.index.ack_journal import commit_joined_everywhere
from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.app.pipelines.job_log import epoch_number
from memolith.core.epochs import homes_of
from memolith.core.errors import once_done
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.run_record import RunRecord
from memolith.core.rows.dreams import EVERY_OPEN_DREAM, DreamRow, join_dream
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change, Index, Query


class RunLog:
    """Puts, folds and finds."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def put(self, view: View, store: StoreRow, record: RunRecord) -> bool:
        """Put a record in the store's epoch, and project it; False where another stands at its sequence.

        One PUT, a read, a transaction.

        Raises:
            Unavailable, Busy: nothing was put. OutcomeUnknown: it may be there; read the dream again.
        """
        record = replace(record, home=self._region.name, epoch=epoch_number(store))
        key = str(record.key(self._region.name))
        is_mine = partial(self._is, key, record)
        if put_if_absent(self._region, key, record.to_json(), {}, is_mine=is_mine) is not Put.MINE:
            return False
        with once_done(f"a record of {record.run_id} was put, but is not indexed yet"):
            self.fold(view, record, self._region.name, Named(key), own=True)
        return True

    def _is(self, key: str, record: RunRecord) -> bool | None:
        found = find(self._region.objects, key)
        return None if found is None else RunRecord.from_json(found.body) == record

    def fold(self, view: View, record: RunRecord, region: str, name: Named | None = None, own: bool = False) -> None:
        """Join a record that `region` put into every generation of tables. See `SessionLog.fold`."""
        commit_joined_everywhere(
            self._region,
            view,
            partial(self._changes, row=DreamRow.of(record, region), record=record),
            name,
            own=own,
            contended="the dream's row stayed contended; read before trying again",
        )

    def _changes(self, index: Index, row: DreamRow, record: RunRecord) -> list[Change]:
        """Return the changes of the row and of its copies.

        They are conditional on the row, changed or not: a batch is no snapshot, and may have the row of before a
        record and the copies of after it.
        """
        key = DreamRow.key(record.run_id)
        listing_key = DreamRow.listing_key(record.workspace_id, record.run_id)
        open_key = DreamRow.listing_key(record.workspace_id, record.run_id, is_open=True)
        everywhere_key = DreamRow.open_everywhere(record.run_id)
        rows = self._region.read(index, [key, listing_key, open_key, everywhere_key])
        before = rows.get(key)
        joined = join_dream(None if before is None else DreamRow.from_attributes(before), row)
        after = joined.to_attributes()
        while_open = after if joined.parsed.status.is_open else None
        wanted = {key: after, listing_key: after, open_key: while_open, everywhere_key: while_open}
        changed = [one for one, state in wanted.items() if rows.get(one) != state]
        return [Change(one, rows.get(one), wanted[one]) for one in dict.fromkeys((key, *changed))] if changed else []

    def instructions(self, record: RunRecord) -> str | None:
        """Return what the dream's caller wrote; None too where the record has not arrived in this bucket. One GET."""
        return self.whole(record).instructions

    def whole(self, record: RunRecord) -> RunRecord:
        """Return a record with what no row has, unless it has not arrived in this bucket. One GET."""
        found = find(self._region.objects, str(record.key(record.home or self._region.name)))
        if found is None:
            return record
        kept = RunRecord.from_json(found.body)
        return replace(record, instructions=kept.instructions, sources=kept.sources)

    def read(self, view: View, run_id: str) -> RunRecord | None:
        """Return the newest record that is indexed here. One index read."""
        key = DreamRow.key(run_id)
        attributes = self._region.read(view.index, [key]).get(key)
        return None if attributes is None else DreamRow.from_attributes(attributes).parsed

    def caught_up(self, view: View, store: StoreRow, record: RunRecord) -> RunRecord:
        """Return the dream's newest record, after what the store's former homes put of it has been projected.

        Their events may come after the store did: by its rows a new home would do once more what is over. No call for a
        store that has not moved; otherwise a LIST, a GET and a `fold` for each former home, and an index read.

        Raises:
            Unavailable: the bucket or the index does not answer. OutcomeUnknown: as `fold`.
        """
        homes = sorted(set(homes_of(store)) - {self._region.name})
        for home in homes:
            self._fold_last(view, record, home)
        return (self.read(view, record.run_id) or record) if homes else record

    def overtaken(self, view: View, record: RunRecord) -> tuple[RunRecord, int]:
        """Return a dream's newest record, and the last number that is taken here, once what has that is projected.

        For who found a number taken: by a record that is not indexed yet, or by one of a former epoch, which does not
        stand. A LIST, a GET, a `fold`, and an index read. Raises as `caught_up`.
        """
        last = self._fold_last(view, record, self._region.name)
        return self.read(view, record.run_id) or record, last

    def _fold_last(self, view: View, record: RunRecord, home: str) -> int:
        """Project the last record that `home` put of a dream; return its number, or 0 where there is none."""
        prefix = str(record.key(home)).rpartition("/")[0] + "/"
        *_, last = [None, *keys_under(self._region.objects, prefix)]
        kept = None if last is None else find(self._region.objects, last)
        if kept is None:
            return 0
        newest = RunRecord.from_json(kept.body)
        self.fold(view, newest, home)
        return newest.sequence

    def open_runs(self, view: View, workspace_id: str, limit: int = 100) -> list[RunRecord]:
        """Return dreams that are not over, the oldest first. One query."""
        found = view.index.query(Query("keys", DreamRow.partition(workspace_id, is_open=True), limit=limit))
        return [DreamRow.from_attributes(one.attributes).parsed for one in found]

    def open_everywhere(self, view: View, limit: int) -> list[RunRecord]:
        """Return dreams of all workspaces that are not over, the oldest first. One query."""
        found = view.index.query(Query("keys", EVERY_OPEN_DREAM, limit=limit))
        return [DreamRow.from_attributes(one.attributes).parsed for one in found]

    def newest(self, view: View, workspace_id: str, after: str | None, limit: int) -> list[RunRecord]:
        """Return dreams, the newest first, after a position (`DreamRow.position`). One query."""
        partition = DreamRow.partition(workspace_id)
        found = view.index.query(Query("keys", partition, after=after, limit=limit, descending=True))
        return [DreamRow.from_attributes(one.attributes).parsed for one in found]
