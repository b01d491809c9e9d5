"""Watermarks: following the homes' checkpoints, and saying up to when this region is complete.

A region holds everything that a home acknowledged before T once it has folded every object that is named in the home's
checkpoints up to the one that speaks of T. Checkpoints are followed in order, without holes; one that does not arrive,
like a named object that does not, is fetched from its home after a while.

What is said is said of the tables that serve. Each of them carries a mark, put there when their watermark began, and
the watermark moves in one transaction with a check of every mark: so no table is emptied unnoticed. Where a mark is
gone, the index declares itself incomplete, and waits to be rebuilt; what is rebuilt is followed anew, from the first
checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memolith.app.homes.epoch_sweep import EpochSweep
from memolith.app.kernel.port_calls import commit_or_busy, find
from memolith.app.kernel.region import Region, View
from memolith.app.log.copy import copy_object
from memolith.app.replication.missing_objects import MissingObjects, RepairOutcome
from memolith.app.replication.witnesses import Witnesses
from memolith.core.errors import Busy
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, Named, part_from_json, sha256_of
from memolith.core.rows.base import Attributes, RowKey, mark_key
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.rows.journal import SHARDS_MIN, OpenPeriod
from memolith.core.tables import TABLES
from memolith.ports import errors as port_errors
from memolith.ports.index import Change

FETCH_AFTER_US = 300_000_000
"""When what has not been replicated counts as missing."""
BATCH_MAX_US = 5_000_000
"""Between two writings of the row: longer than any batch that reads it takes."""

_MARKS = tuple(mark_key(table.name) for table in TABLES if table.generational)


@dataclass(slots=True)
class _Followed:
    """How far one home's checkpoints are folded here."""

    home: str
    period: int = 0
    parts: int = 0
    until: int | None = None
    sha256: str | None = None

    @property
    def text(self) -> str:
        return f"{self.period}/{self.parts}" if self.parts else str(self.period)

    @classmethod
    def of(cls, home: str, row: CompletenessRow) -> _Followed:
        period, _, parts = row.folded.get(home, "0").partition("/")
        until = row.until.get(home)
        last, _, sha256 = (row.sealed or {}).get(home, "").partition(":")
        known = sha256 if last == period else None
        return cls(home, int(period), int(parts or 0), None if until is None else int(until), known)


@dataclass(slots=True)
class _Tables:
    """The tables that serve, as one advance found them."""

    view: View
    control: Attributes
    row: CompletenessRow | None
    marks: Mapping[RowKey, Attributes] = field(default_factory=dict)

    @property
    def key(self) -> RowKey:
        return CompletenessRow.key(self.view.index.generation)


class Watermark:
    """What this region knows of each other home's writes."""

    def __init__(
        self,
        region: Region,
        missing_objects: MissingObjects,
        epoch_sweep: EpochSweep,
        witnesses: Witnesses,
        batch_max_us: int = BATCH_MAX_US,
    ) -> None:
        self._region = region
        self._witnesses = witnesses
        self._batch_max_us = batch_max_us
        self._missing_objects = missing_objects
        self._epoch_sweep = epoch_sweep

    def advance(self, period: OpenPeriod | None, deadline_us: int) -> None:
        """Follow every home as far as possible, until `deadline_us` at most, and write that to the row that calls read.

        `period` is the acknowledgement log's open one, which that row hints at. Of each checkpoint a GET, and a read
        for a hundred of its names; then one transaction.

        Raises:
            Busy: another reconciler is at it. Unavailable, OutcomeUnknown: to be repeated.
        """
        tables = self._tables()
        if tables is None:
            return
        if tables.row is None:
            self._begin(tables, period)
            return
        row = tables.row
        if not _marked(tables.marks, row):
            self._declare_emptied(tables, row)
            return
        if 0 <= self._region.clock.now_us() - row.written_at < self._batch_max_us:
            return
        homes = [home for home in self._region.regions if home != self._region.name]
        followed = [_Followed.of(home, row) for home in homes]
        for one in followed:
            self._follow(tables.view, one, deadline_us)
            if one.until is not None:
                age_us = max(self._region.clock.now_us() - one.until, 0)
                self._region.metrics.milliseconds("watermark_age_ms", age_us / 1000, home=one.home)
        self._write(tables, row, followed, period)

    def _tables(self) -> _Tables | None:
        """Return the tables; None while they are not complete anyway: then nothing is claimed."""
        view = self._region.view()
        key = CompletenessRow.key(view.index.generation)
        rows = self._region.read(view.index, [ControlRow.KEY, key, *_MARKS])
        control = rows.get(ControlRow.KEY)
        if control is None or ControlRow.from_attributes(control).serving != view.index.generation:
            return None
        row = CompletenessRow.from_attributes(rows[key]) if key in rows else None
        if not ControlRow.from_attributes(control).complete:
            if row is not None:
                self._commit([Change(key, rows[key], None)])
            return None
        return _Tables(view, control, row, {mark: rows[mark] for mark in _MARKS if mark in rows})

    def _begin(self, tables: _Tables, period: OpenPeriod | None) -> None:
        """Mark the tables. Nothing is known of any home yet."""
        mark = self._region.new_id("mark")
        now_us = self._region.clock.now_us()
        row = _hinting(CompletenessRow(mark=mark, until={}, before={}, folded={}, written_at=now_us), period)
        changes = [Change(tables.key, None, row.to_attributes())]
        changes += [Change(key, None, {"mark": mark}, unconditional=True) for key in _MARKS]
        self._commit([*changes, Change(ControlRow.KEY, tables.control, tables.control)])

    def _declare_emptied(self, tables: _Tables, row: CompletenessRow) -> None:
        """Declare a table without its mark emptied: nothing is complete until it has been rebuilt.

        Unless the marks were read just before another reconciler put them, and the row just after: a batch is not one
        moment. Marks come with the row, so that those which are read after it, while it stays as it is, are missing.
        """
        if _marked(self._region.read(tables.view.index, list(_MARKS)), row):
            return
        incomplete = replace(ControlRow.from_attributes(tables.control), complete=False).to_attributes()
        unchanged = row.to_attributes()
        # Counted first: where the reply to the commit is lost, no later tick looks at the marks again.
        self._region.metrics.count("tables_emptied")
        self._commit([Change(ControlRow.KEY, tables.control, incomplete), Change(tables.key, unchanged, unchanged)])

    def _write(
        self, tables: _Tables, row: CompletenessRow, followed: list[_Followed], period: OpenPeriod | None
    ) -> None:
        until = {one.home: str(one.until) for one in followed if one.until is not None}
        after = replace(
            row,
            until=until,
            before={home: said for home, said in row.until.items() if home in until},
            folded={one.home: one.text for one in followed if one.period or one.parts},
            written_at=self._region.clock.now_us(),
            sealed={one.home: f"{one.period}:{one.sha256}" for one in followed if one.sha256 is not None} or None,
        )
        after = _hinting(after, period)
        if replace(after, written_at=row.written_at) == row:
            return
        marks = [Change(key, {"mark": row.mark}, {"mark": row.mark}) for key in _MARKS]
        self._commit([Change(tables.key, row.to_attributes(), after.to_attributes()), *marks])

    # ---- following one home -------------------------------------------------------------------------------------

    def _follow(self, view: View, one: _Followed, deadline_us: int) -> None:
        """Follow a home's checkpoints as far as they are projected here whole. Stops at a hole, or the deadline.

        What cannot be read stops this home alone, and rings.

        A checkpoint of a future time was made while its home's clock was ahead. What that home will acknowledge until
        then is in no checkpoint yet: it counts up to now.
        """
        while self._region.clock.now_us() <= deadline_us:
            key = CheckpointKey(one.home, one.period + 1)
            try:
                body = self._body(str(key), one.home, self._is_late(one.until))
                checkpoint = None if body is None else Checkpoint.from_json(body)
                if body is None or checkpoint is None or not self._witnesses.accept(key, checkpoint, one.sha256):
                    return
                if not self._fold_all(view, one, checkpoint, deadline_us):
                    return
                if not self._witnesses.keep(checkpoint, sha256_of(body)):
                    return
            except (*port_errors.PORT_FAILURES, Busy):
                return
            except ValueError as error:
                self._witnesses.reject(key, f"it, a part or a witness of it cannot be read: {error}")
                return
            until = min(checkpoint.until, self._region.clock.now_us())
            one.period, one.parts, one.until = checkpoint.period, 0, max(until, one.until or 0)
            one.sha256 = sha256_of(body)

    def _fold_all(self, view: View, one: _Followed, checkpoint: Checkpoint, deadline_us: int) -> bool:
        """Project what it names, as many parts as there is time for; return whether the tables have everything."""
        late = self._is_late(checkpoint.until)
        if not self._fold_names(view, checkpoint.names, one.home, late):
            return False
        while one.parts < checkpoint.parts:
            if self._region.clock.now_us() > deadline_us:
                return False
            body = self._body(str(checkpoint.part_key(one.parts)), one.home, late)
            if body is None or not self._fold_names(view, part_from_json(body), one.home, late):
                return False
            one.parts += 1
        return True

    def _fold_names(self, view: View, names: tuple[Named, ...], home: str, late: bool) -> bool:
        missing = self._missing_objects.missing(view, names)
        brought = self._missing_objects.repair(view, missing, home, fetch=late) if missing else {}
        self._epoch_sweep.note(names)
        return RepairOutcome.WAITING not in brought.values()

    def _is_late(self, until: int | None) -> bool:
        return until is None or self._region.clock.now_us() - until > FETCH_AFTER_US

    def _body(self, key: str, home: str, late: bool) -> bytes | None:
        """Read a checkpoint, or a part of one: from this bucket, or, once it is late, copied from the home's."""
        here = find(self._region.objects, key)
        if here is not None or not late:
            return None if here is None else here.body
        copied = copy_object(self._region, key, home)
        return None if copied is None else copied.found.body

    def _commit(self, changes: list[Change]) -> None:
        others = "another reconciler is at it, or the tables are no longer what they were"
        commit_or_busy(self._region.index, changes, others)


def _hinting(row: CompletenessRow, period: OpenPeriod | None) -> CompletenessRow:
    """Return the row with the open period in it; as it was where that is not known."""
    if period is None:
        return row
    return replace(row, period=period.number, shards=period.shards if period.shards > SHARDS_MIN else None)


def _marked(marks: Mapping[RowKey, Attributes], row: CompletenessRow) -> bool:
    """Tell whether every table has the mark of this row."""
    return all(marks.get(key) == {"mark": row.mark} for key in _MARKS)
