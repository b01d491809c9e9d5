"""Building the index anew from the region's own bucket, beside live traffic.

    make the next generation's tables -> every fold goes to both -> list the bucket, fold each key -> switch
    -> have redactions carried out again -> replay what came late -> drop

Where the tables are gone that stand outside the generations, they are made first, empty: then nothing is known of what
served, and the generation that the region was configured with counts as that.

From the start until the switch the serving generation says that it is not complete: what it knows it serves, what it
does not know it answers with 503. Every step can be repeated. How far it is stands in a row of the control table, so
that another run, from any machine, goes on there (`memolith.app.indexer.rebuild_pages`); the later of
two who run it at once goes on, the earlier is told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memolith.app.index.ack_journal import from_listing
from memolith.app.indexer.indexer import Indexer, Malformed, store_of
from memolith.app.indexer.rebuild_pages import Pages, Progress, batch_partition, commit_run
from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.object_events import send_object_events
from memolith.app.kernel.port_calls import commit_as_owner
from memolith.app.kernel.region import Region, View
from memolith.core import ids
from memolith.core.errors import Busy, MemolithError, Unavailable
from memolith.core.rows.base import Attributes, RowKey, mark_key
from memolith.core.rows.control import CompletenessRow, ControlRow, RebuildRow, SweepRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.journal import JournalStateRow
from memolith.core.tables import TABLES
from memolith.ports.index import Change, Query, Tables
from memolith.ports.queue import Queue

SWITCH_ATTEMPTS = 20
ORDERS_AT_ONCE = 100

CLOCKS_APART = 2.0
"""How much faster the ticks of this process may be than another's."""

_log = logging.getLogger(__name__)
_MARKS = tuple(mark_key(table.name) for table in TABLES if table.generational)


class Rebuild:
    """Drives a rebuild of one region's index; run by an operator, or by a function on demand."""

    def __init__(self, region: Region, indexer: Indexer, tables: Tables, queue: Queue, longest_life_s: float) -> None:
        self._region = region
        self._indexer = indexer
        self._tables = tables
        self._queue = queue
        self._longest_life_s = longest_life_s

    def run(self, report: Callable[[Progress], None]) -> int:
        """Rebuild the index; return the number of the generation that serves afterwards.

        A run that died goes on where it stopped: before the switch with the first page that was not projected whole,
        after it with the old tables. It starts over only where the new tables were emptied meanwhile.

        Raises:
            Unavailable: a port does not answer; run it again. Busy: another run has taken the rebuild over.
        """
        self._tables.make_lasting()
        rows = self._rows()
        control = self._control(rows)
        if control.retired is not None:
            self._repeat_orders(report)
            control = self._retire(control, report)
            if control.complete:
                return control.serving
            rows = self._rows()
        building, progress = self._resume(control, rows, report)
        Pages(self._region, self._queue, building, report).fold_all(progress)
        self._repair_stores(building, report)
        switched = self._switch(building)
        self._repeat_orders(report)
        return self._retire(switched, report).serving

    # ---- before the switch --------------------------------------------------------------------------------------

    def _resume(
        self, control: ControlRow, rows: Mapping[RowKey, Attributes], report: Callable[[Progress], None]
    ) -> tuple[ControlRow, RebuildRow]:
        """Project every change into the new tables too; from here on, an earlier driver of this rebuild cannot go on.

        Uses a new run's name, so that the batches which the last run sent count for nothing.
        """
        report(Progress("making tables"))
        generation = control.building or control.serving + 1
        if control.run is not None:
            self._forget(control.run)
        self._tables.make(generation)
        building = replace(control, building=generation, complete=False, run=self._region.new_id("run"))
        before = rows.get(RebuildRow.KEY)
        progress = self._begun(control, before)
        if progress is None:
            progress = RebuildRow(generation=generation, run=building.run or "", mark=self._region.new_id("mark"))
            marks = [Change(key, None, {"mark": progress.mark}, unconditional=True) for key in _MARKS]
        else:
            progress = replace(progress, run=building.run or "")
            marks = self._marks_of(progress)
        self._commit(
            generation,
            [
                Change(ControlRow.KEY, rows.get(ControlRow.KEY), building.to_attributes()),
                Change(RebuildRow.KEY, before, progress.to_attributes()),
                *marks,
            ],
        )
        # Where they were deleted, every fold would fail on them; empty, they say that they know nothing.
        self._tables.make(control.serving)
        if not progress.settled:
            report(Progress("waiting for calls under way to end"))
            self._region.clock.pause(self._settling_s)
            settled = replace(progress, settled=True)
            change = Change(RebuildRow.KEY, progress.to_attributes(), settled.to_attributes())
            self._commit(generation, [change])
            progress = settled
        return building, progress

    def _begun(self, control: ControlRow, attributes: Attributes | None) -> RebuildRow | None:
        """Return the progress of the rebuild to go on with; None where there is none, or its tables were emptied."""
        if attributes is None or control.building is None:
            return None
        progress = RebuildRow.from_attributes(attributes)
        if progress.generation != control.building or progress.run != control.run:
            return None
        found = self._region.read(self._region.index.at(control.building), _MARKS)
        return progress if all(found.get(key) == {"mark": progress.mark} for key in _MARKS) else None

    def _repair_stores(self, building: ControlRow, report: Callable[[Progress], None]) -> None:
        """Repair stores whose home has changed: the rebuild projected stragglers in the order of the listing.

        A LIST for each such store and region, and what `EpochRepair.sweep` costs.
        """
        report(Progress("judging what came late"))
        view = View(self._region.index.at(building.building or 0), {}, complete=False, building=None)
        for store_id in self._moved_stores():
            self._indexer.repair(store_id, view=view)

    def _moved_stores(self) -> Iterator[str]:
        seen: set[str] = set()
        for home in self._region.origins:
            prefix, after = f"{home}/cut/", None
            while keys := self._region.objects.list(prefix, after, 1).keys:
                store_id = keys[0].removeprefix(prefix).partition("/")[0]
                after = f"{prefix}{store_id}/~"
                if store_id not in seen and ids.STORE.fullmatch(store_id) is not None:
                    seen.add(store_id)
                    yield store_id

    def _switch(self, building: ControlRow) -> ControlRow:
        """Let the new tables serve, and have the home's next checkpoint made from a listing.

        For writers may build from now on on what these tables have without an acknowledgement: a version whose writer
        died, and whose event has not come yet.
        """
        generation = building.building or 0
        switched = ControlRow(serving=generation, complete=True, run=building.run, retired=building.serving)
        journal_key = JournalStateRow.key(self._region.name)
        for attempt in range(SWITCH_ATTEMPTS):
            rows = self._rows(journal_key)
            if self._control(rows) != building or RebuildRow.KEY not in rows:
                raise Busy("another rebuild is under way in this region")
            progress = RebuildRow.from_attributes(rows[RebuildRow.KEY])
            if self._begun(building, rows[RebuildRow.KEY]) is None:
                raise Unavailable("a table that was being built has been emptied; run the rebuild again")
            journal = rows.get(journal_key)
            relisted = journal
            if journal is not None:
                state = JournalStateRow.from_attributes(journal)
                relisted = from_listing(state, self._region.new_id("run")).to_attributes()
            changes = [
                Change(ControlRow.KEY, building.to_attributes(), switched.to_attributes()),
                Change(RebuildRow.KEY, rows[RebuildRow.KEY], None),
                Change(journal_key, journal, relisted),
                Change(CompletenessRow.key(generation), None, self._initial_completeness(progress), unconditional=True),
                *self._marks_of(progress),
            ]
            try:
                commit_run(self._region.index.at(generation), changes)
                return switched
            except Busy:
                self._region.back_off(attempt)
        raise Unavailable("the journal stayed contended; run the rebuild again")

    # ---- after the switch ---------------------------------------------------------------------------------------

    def _repeat_orders(self, report: Callable[[Progress], None]) -> None:
        """Have every order of redaction carried out again: an event for each.

        An order erases what the rows name, and while these were gone a copy of the text may have been made: a new home
        replays what came late, and looks in the rows for an order. A LIST for a thousand orders.

        Raises:
            Unavailable: some were sent; run the rebuild again.
        """
        report(Progress("carrying out orders of redaction again"))
        for origin in self._region.origins:
            for some in batches(keys_under(self._region.objects, f"{origin}/redaction/"), ORDERS_AT_ONCE):
                send_object_events(self._queue, some)

    def _replay_stragglers(self, control: ControlRow, report: Callable[[Progress], None]) -> None:
        """Have what came late while the tables were incomplete replayed, in stores at home here.

        Incomplete tables cannot say whether a late version may be replayed, so its event had left it divergent. A store
        in which that fails, as while a region that has to hold its writes is gone, is noted for the region's reconciler
        (`SweepRow`), which repeats it: the old tables know nothing that it needs. A LIST for each store whose home has
        changed, and region; of those at home here what `Indexer.repair_rows` costs.

        Raises:
            Unavailable: some were replayed or noted; run the rebuild again.
        """
        report(Progress("replaying what came late"))
        for store_id in self._moved_stores():
            key = StoreRow.key(store_id)
            attributes = self._region.read(self._region.view().index, [key]).get(key)
            if attributes is not None and attributes["home"] == self._region.name:
                try:
                    self._indexer.repair_rows(store_id, None)
                except (MemolithError, ValueError) as error:
                    facts = {"store_id": store_id, "reason": str(error)}
                    _log.warning("what came late in a store is not replayed; the reconciler repeats it", extra=facts)
                    noted = SweepRow(noted_at=self._region.clock.now_us()).to_attributes()
                    note = Change(SweepRow.key(store_id), None, noted, unconditional=True)
                    self._commit(control.serving, [note])

    def _retire(self, control: ControlRow, report: Callable[[Progress], None]) -> ControlRow:
        """Drop the tables that served before, once no call can be reading them any more."""
        report(Progress("switched; waiting for calls under way to end"))
        self._region.clock.pause(self._settling_s)
        self._replay_stragglers(control, report)
        report(Progress("dropping the old tables"))
        if control.run is not None:
            self._forget(control.run)
        if control.retired is not None:
            self._tables.drop(control.retired)
            gone = CompletenessRow.key(control.retired)
            self._commit(control.serving, [Change(gone, None, None, unconditional=True)])
        alone = replace(control, run=None, retired=None)
        change = Change(ControlRow.KEY, control.to_attributes(), alone.to_attributes())
        self._commit(control.serving, [change])
        return alone

    # ---- rows ---------------------------------------------------------------------------------------------------

    def _rows(self, *also: RowKey) -> Mapping[RowKey, Attributes]:
        return self._region.read(self._region.index, [ControlRow.KEY, RebuildRow.KEY, *also])

    @property
    def _settling_s(self) -> float:
        """How long a call may live that began with what its process remembered of the tables; clocks may differ."""
        return self._longest_life_s + self._region.control_age_us * CLOCKS_APART / 1_000_000

    def _control(self, rows: Mapping[RowKey, Attributes]) -> ControlRow:
        attributes = rows.get(ControlRow.KEY)
        if attributes is None:
            return ControlRow(serving=self._region.index.generation, complete=False)
        return ControlRow.from_attributes(attributes)

    def _initial_completeness(self, progress: RebuildRow) -> Attributes:
        """Return what the tables claim as they begin to serve: their mark, and nothing of any other home yet."""
        now_us = self._region.clock.now_us()
        row = CompletenessRow(mark=progress.mark, until={}, before={}, folded={}, written_at=now_us)
        return row.to_attributes()

    def _marks_of(self, progress: RebuildRow) -> list[Change]:
        mark = {"mark": progress.mark}
        return [Change(key, mark, mark) for key in _MARKS]

    def _commit(self, generation: int, changes: list[Change]) -> None:
        commit_run(self._region.index.at(generation), changes)

    def _forget(self, run: str) -> None:
        while found := self._region.index.query(Query("control", batch_partition(run))):
            commit_run(self._region.index, [Change(one.key, None, None, unconditional=True) for one in found])


class BatchProjector:
    """Folds one batch of a rebuild: the indexer's part of it."""

    def __init__(self, region: Region, indexing: Indexer) -> None:
        self._region = region
        self._indexing = indexing

    def fold(self, payload: Mapping[str, Any]) -> list[Malformed]:
        """Project the batch's keys into the generation that is being built, and note that it is done. Repeatable.

        Returns what cannot be read, which never stops the others. A batch of a run that is over or given up is ignored.

        Raises:
            Unavailable, OutcomeUnknown: try the batch again.
        """
        generation, run = int(payload["generation"]), str(payload["run"])
        attributes = self._region.read(self._region.index, [ControlRow.KEY]).get(ControlRow.KEY)
        if attributes is None or ControlRow.from_attributes(attributes).run != run:
            return []
        view = self._view(generation, payload["keys"])
        malformed: list[Malformed] = []
        for key in payload["keys"]:
            try:
                self._indexing.fold_object(view, key, journal=False)
            except Malformed as error:
                malformed.append(error)
        key = RowKey("control", batch_partition(run), str(payload["batch"]))
        if not commit_as_owner(self._region.index, [Change(key, None, {"done": True}, unconditional=True)]):
            raise Unavailable("the note of a batch that is done stayed contended; try the batch again")
        return malformed

    def _view(self, generation: int, keys: Sequence[str]) -> View:
        """Make the view of the generation that is built, with the batch's stores as far as it has them. One read."""
        index = self._region.index.at(generation)
        stores = {key for one in keys for key in store_of(one)}
        rows = self._region.read(index, list(stores)) if stores else {}
        return View(index, rows, complete=False, building=None, asked=frozenset(stores))
