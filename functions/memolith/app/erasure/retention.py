"""Retention: versions that need not be kept any more are blanked, a store at a time, by each region for itself.

There is no order to wait for. What may go is told by facts that never change (`memolith.core.retention`), so that every
region comes to the same by its own rows, and a region that is behind keeps a version longer, never less long. The
region that wrote an object goes first, and its blank replicates; the others, a day later, find only what did not
arrive.

    list the stores' records -> of each store, its old versions that still have text -> blank what is due
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from memolith.app.index.projector import Projector
from memolith.app.kernel.damage_report import report_damage
from memolith.app.kernel.port_calls import commit_as_owner
from memolith.app.kernel.region import Region, View
from memolith.app.log.log_reader import LogReader
from memolith.core import ids
from memolith.core.errors import Damaged
from memolith.core.integrity import Damage
from memolith.core.log_position import LogKey, LogRef
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.entry import Entry
from memolith.core.objects.store_record import StoreState
from memolith.core.retention import DAY_US, Retention, retired_at
from memolith.core.rows.base import Row, RowKey
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.tables import BY_MEMORY, BY_TIME
from memolith.core.times import is_due
from memolith.ports.index import Change, Query

VERSIONS_PER_PAGE = 100
STORES_PER_PAGE = 1_000
GRACE_DAYS = 1
"""How much longer a region keeps what another wrote: the writer's own blank is then here by replication."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRow(Row):
    """How far a pass over the region's stores is: the last record looked at, and where in the store after it.

    Stands in the control table, where a rebuild leaves it alone.
    """

    started_at: int
    number: int = 0
    after: str | None = None
    within: str | None = None
    done: bool = False

    KEY: ClassVar[RowKey] = RowKey("control", "erasure#retention", "pass")


@dataclass(frozen=True, slots=True)
class _Due:
    """A version that may go, and where it stands."""

    row: VersionRow
    key: LogKey


@dataclass(frozen=True, slots=True)
class RetentionCallbacks:
    """What a pass does with what it comes by: blanks an entry that is due; tells a store that was deleted, and one
    with a policy of pipelines.
    """

    blank: Callable[[Entry], None]
    ended: Callable[[str], None]
    counted: Callable[[StoreRow], object]
    is_time_up: Callable[[], bool]


class RetentionPass:
    """Judges, and blanks, versions that were superseded long ago.

    Args:
        region: whose rows are judged by.
        day_us: how long a day is; a simulation has shorter ones.
    """

    def __init__(self, region: Region, logs: LogReader, projector: Projector, day_us: int = DAY_US) -> None:
        self._region = region
        self._day_us = day_us
        self._logs = logs
        self._folder = projector

    # ---- one entry ----------------------------------------------------------------------------------------------

    def is_over(self, entry: Entry) -> bool:
        """Tell whether retention took this version already, and its text came, or came back, afterwards.

        Its row is blank then, though no redaction order exists. That alone is believed only of a version whose time is
        over, give or take a day for clocks. One index read, and a query if need be. Raises Unavailable.
        """
        key = VersionRow.key(entry.key.store_id, entry.version_id)
        memory_key = MemoryRow.key(entry.key.store_id, entry.memory_id or "-")
        view = self._region.view([key, memory_key, StoreRow.key(entry.key.store_id)])
        version, head, store = (view.rows.get(one) for one in (key, memory_key, StoreRow.key(entry.key.store_id)))
        if version is None or head is None or store is None:
            return False
        row = VersionRow.from_attributes(version)
        if not row.blank or row.memory_id is None:
            return False
        now_us = self._region.clock.now_us() + self._day_us
        return self._due(
            view, Retention.of(StoreRow.from_attributes(store)), row, MemoryRow.from_attributes(head), now_us
        )

    def _due(self, view: View, retention: Retention, row: VersionRow, head: MemoryRow, now_us: int) -> bool:
        if not retention.outlived(row, head):
            return False
        before_us = now_us - retention.days * self._day_us
        at = retired_at(row, head)
        if at is None or at > before_us:
            at = self._superseded_at(view, row)
        return at is not None and at <= before_us

    def _superseded_at(self, view: View, row: VersionRow) -> int | None:
        """Return when the version after this one was written; None for the last. If unseen here, a later moment."""
        partition = f"{row.store_id}#{row.memory_id}"
        after = f"{row.generation or 0:010d}"
        query = Query("versions", partition, after=after, index=BY_MEMORY.name, limit=1)
        found = view.index.query(query)
        return None if not found else VersionRow.from_attributes(found[0].attributes).created_at

    # ---- a pass over every store ----------------------------------------------------------------------------------

    def work(self, on_pass: RetentionCallbacks) -> int:
        """Go on with the pass under way, or begin one if a day has gone by; return how many versions it blanked.

        An interrupted pass goes on where it stopped. One LIST for a thousand records; one query for a hundred versions,
        and a read for those of them that have text; then what a blank costs.

        Raises:
            Unavailable: a port does not answer; the next call goes on.
        """
        view = self._region.view([PassRow.KEY])
        before = view.rows.get(PassRow.KEY)
        now_us = self._region.clock.now_us()
        row = PassRow(started_at=now_us) if before is None else PassRow.from_attributes(before)
        if row.done and not is_due(row.started_at, now_us, self._day_us):
            return 0
        if row.done:
            row = PassRow(started_at=now_us)
        blanked = 0
        for next_row, count in self._steps(view, row, on_pass):
            blanked += count
            before = self._save(before, next_row)
            if before is None:
                break
        if blanked:
            self._region.metrics.count("retention_blanked", blanked)
        return blanked

    def _save(self, before: Mapping[str, object] | None, row: PassRow) -> Mapping[str, object] | None:
        """Save the pass; return the stored row, or None when another sweep is running, which then goes on alone."""
        after = row.to_attributes()
        return after if commit_as_owner(self._region.index, [Change(PassRow.KEY, before, after)]) else None

    def _steps(self, view: View, row: PassRow, on_pass: RetentionCallbacks) -> Iterator[tuple[PassRow, int]]:
        regions = sorted(self._region.origins)  # the same before and after a region is removed: `number` counts them
        while row.number < len(regions):
            prefix = f"{regions[row.number]}/store/"
            page = self._region.objects.list(prefix, row.after, STORES_PER_PAGE)
            blanked = 0
            for store_id, last in _stores(page.keys):
                try:
                    within, count = self._store(view, store_id, row.within, on_pass)
                except (ValueError, Damaged) as error:
                    facts = {"store_id": store_id, "reason": str(error)}
                    _log.error("the retention of a store is left out: a record cannot be read", extra=facts)
                    within, count = None, 0
                blanked += count
                if within is not None:
                    yield replace(row, within=within), blanked
                    return
                row = replace(row, after=last, within=None)
            if page.next_after is None:
                row = replace(row, number=row.number + 1, after=None, within=None)
            yield replace(row, done=row.number == len(regions)), blanked
            if on_pass.is_time_up():
                return

    def _store(
        self, view: View, store_id: str, after: str | None, on_pass: RetentionCallbacks
    ) -> tuple[str | None, int]:
        """Blank what is due of one store; return where to go on if the time is up, and how many it blanked.

        A deleted store that can still be restored keeps nothing for longer than it would have otherwise.
        """
        attributes = self._region.read(view.index, [StoreRow.key(store_id)]).get(StoreRow.key(store_id))
        if attributes is None or attributes["state"] == StoreState.DELETED:
            on_pass.ended(store_id)
            return None, 0
        store = StoreRow.from_attributes(attributes)
        if store.is_deleted:
            on_pass.ended(store_id)
        if after is None and store.pipelines is not None:
            on_pass.counted(store)
        retention = Retention.of(store)
        oldest_kept = f"{self._region.clock.now_us() - retention.days * self._day_us:020d}~"
        blanked = 0
        while True:
            query = Query("versions", store_id, after=after, limit=VERSIONS_PER_PAGE, index=BY_TIME.name)
            found = view.index.query(query)
            old = [one for one in found if one.sort_key <= oldest_kept]
            due = self._due_of(view, retention, [VersionRow.from_attributes(one.attributes) for one in old])
            blanked += self._blank(view, due, on_pass.blank)
            if len(old) < VERSIONS_PER_PAGE:
                return None, blanked
            after = old[-1].sort_key
            if on_pass.is_time_up():
                return after, blanked

    def _due_of(self, view: View, retention: Retention, rows: Sequence[VersionRow]) -> list[_Due]:
        """Return versions that are due: with text, in a log (some rows are known only from redactions), and expired."""
        rows = [row for row in rows if row.path is not None and row.memory_id is not None and row.position is not None]
        keys = list(dict.fromkeys(MemoryRow.key(row.store_id, row.memory_id or "") for row in rows))
        heads = self._region.read(view.index, keys) if keys else {}
        due = []
        for row in rows:
            attributes = heads.get(MemoryRow.key(row.store_id, row.memory_id or ""))
            ref = LogRef.parse(row.position or "")
            grace = 0 if ref.slot.epoch.home == self._region.name else GRACE_DAYS
            now_us = self._region.clock.now_us() - grace * self._day_us
            if attributes is not None and self._due(
                view, retention, row, MemoryRow.from_attributes(attributes), now_us
            ):
                due.append(_Due(row, ref.key_in(row.store_id)))
        return due

    def _blank(self, view: View, due: Sequence[_Due], blank: Callable[[Entry], None]) -> int:
        """Blank the objects first, then the rows; a version whose object has not arrived here waits for it.

        Of what another region wrote, a copy may arrive in between: its event finds the row with text, and leaves it.
        So those objects are looked at once more; what arrives later meets the blank row.
        """
        blanked = self._blank_objects(due, blank)
        self._folder.fold_erasure(view, [VersionRow.key(one.row.store_id, one.row.version_id) for one in blanked])
        copies = [one for one in blanked if one.key.slot.epoch.home != self._region.name]
        self._blank_objects(copies, lambda entry: None if entry.blank else blank(entry))
        return len(blanked)

    def _blank_objects(self, due: Sequence[_Due], blank: Callable[[Entry], None]) -> list[_Due]:
        """Return those whose objects are here, once each was blanked. A HEAD for each, and what a blank costs."""

        def one(version: _Due) -> bool:
            try:
                entry = self._logs.entry(version.key)
                if entry is None or entry.version_id != version.row.version_id:
                    return False
                blank(entry)
            except (ValueError, Damaged):
                report_damage(self._region, {(version.key, self._region.name): Damage.UNREADABLE})
                return False
            return True

        found = self._region.parallel.run([partial(one, version) for version in due])
        return [version for version, is_here in zip(due, found, strict=True) if is_here]


def _stores(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each store of a page of records, with the last of its keys there."""
    last: dict[str, str] = {}
    for key in keys:
        try:
            name = parse_key(key)
        except ValueError:
            _log.error("an object among the records of stores is not Memolith's, and is left", extra={"key": key})
            continue
        if isinstance(name, StoreKey) and ids.STORE.fullmatch(name.store_id) is not None:
            last[name.store_id] = key
    yield from last.items()
