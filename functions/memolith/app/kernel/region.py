"""One region as the use cases see it: its ports, its limits, and which tables serve."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from memolith.core import ids, watermark
from memolith.core.errors import Unavailable
from memolith.core.limits import DRAIN_S, ERASE_DELAY_DAYS_DEFAULT, LEASE_US, MEMORIES_PER_STORE_DEFAULT
from memolith.core.retention import DAY_US
from memolith.core.rows.base import Attributes, RowKey, mark_key
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.rows.journal import OpenPeriod
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.index import Index
from memolith.ports.metrics import Metrics
from memolith.ports.objects import Objects
from memolith.ports.parallel import Parallel
from memolith.ports.peers import Peers

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    """The index as one call found it: rows read in one batch, and which generations of tables to write.

    `complete` says that this generation is known to hold everything the bucket does: only then is an unknown id
    answered with 404, otherwise with 503. `asked` tells a row that is not there from one that was not asked for.

    `watermarks` says, for each home, up to when these tables hold everything that was acknowledged there (microseconds
    since 1970, by that home's clock), and `regions` which homes there are; `period` is the journal's open one, as far
    as this batch knows. `ticks_us` is when the batch began to be read, by the region's ticks: leases begin there.
    `mark` is in every table of this generation until it is emptied; None before the first tick.
    """

    index: Index
    rows: Mapping[RowKey, Attributes]
    complete: bool
    building: int | None
    asked: frozenset[RowKey] = frozenset()
    watermarks: Mapping[str, int] = field(default_factory=dict)
    regions: tuple[str, ...] = ()
    former: frozenset[str] = frozenset()
    period: OpenPeriod | None = None
    ticks_us: int | None = None
    mark: str | None = None

    @property
    def complete_until(self) -> int | None:
        """Up to when everything acknowledged in any region is in these tables; None when nothing is known."""
        return self.complete_until_of(self.regions)

    def complete_until_of(self, homes: Iterable[str]) -> int | None:
        """Return the same for what was acknowledged in these regions alone, such as one store's homes so far.

        A former region acknowledges nothing any more, and was removed once the others had all that it had.
        """
        return watermark.least(self.watermarks, set(homes) - self.former)

    def may_lack(self, homes: Iterable[str], ended_us: int) -> bool:
        """Tell whether something that one of these regions acknowledged until then may not have arrived yet."""
        homes = set(homes) - self.former
        until = self.complete_until_of(homes)
        return bool(homes) and (until is None or until < ended_us)

    @property
    def indexes(self) -> tuple[Index, ...]:
        """Every generation that a fold or a claim goes to, the serving one first."""
        return (self.index,) if self.building is None else (self.index, self.index.at(self.building))

    def require_complete(self) -> None:
        """Raise Unavailable while the index is being rebuilt."""
        if not self.complete:
            raise Unavailable("this region's index is being rebuilt and cannot answer this yet; try another region")


@dataclass(frozen=True, slots=True)
class SteadyState:
    """What one read said of the tables that serve, while they were complete, marked, and no others were being built.

    Only this state is remembered. It is left by a rebuild's announcement, and nothing that a rebuild does afterwards
    counts on it before every process must have read again; or because tables were emptied, which their marks tell.

    Attributes:
        index, control, row: the tables that serve.
        read_us, ticks_us: when that read began, by both clocks.
    """

    index: Index
    control: ControlRow
    row: CompletenessRow
    read_us: int
    ticks_us: int

    def is_young(self, now_us: int, ticks_us: int, age_us: int) -> bool:
        """Tell whether it was read less than `age_us` ago, by both clocks.

        Ticks may stand still between two invocations of a process, and the time of day may be set back: not both by
        the same.
        """
        return 0 <= now_us - self.read_us < age_us and 0 <= ticks_us - self.ticks_us < age_us


@dataclass(slots=True)
class Region:
    """The ports of one region. `index` is re-pointed when a rebuild has switched generations.

    `erase_delay_us` is how long a store that is deleted here, at its home, can be restored before it is erased.
    `lease_us` is for how long a call may answer on a record that it has read, and `drain_s` after how long no such
    lease runs any more; every process of a deployment has the same.
    `control_age_us` is for how long a process may go by what it has read of which tables serve, once all is well; 0: it
    reads that with every call. A rebuild waits for longer than that, so whatever drives one has to have the same.
    `former` names regions that were removed from the deployment: what they wrote is in every bucket, under their names.
    """

    name: str
    regions: tuple[str, ...]
    objects: Objects
    index: Index
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    peers: Peers
    parallel: Parallel
    memories_per_store: int = MEMORIES_PER_STORE_DEFAULT
    erase_delay_us: int = ERASE_DELAY_DAYS_DEFAULT * DAY_US
    lease_us: int = LEASE_US
    drain_s: float = DRAIN_S
    completeness: dict[int, CompletenessRow] = field(default_factory=dict)
    control_age_us: int = 0
    steady: SteadyState | None = None
    former: tuple[str, ...] = ()

    @property
    def origins(self) -> tuple[str, ...]:
        """All regions that have ever written: their names are what keys begin with, and what ids were born in."""
        return self.regions + self.former

    def view(self, keys: Sequence[RowKey] = (), marked: Iterable[str] = ()) -> View:
        """Read which tables serve, how complete they are, and `keys`, in one consistent batch. One read.

        Which tables serve, and how complete they are, may be what an earlier call of this process read no longer than
        `control_age_us` ago, while nothing is being built (`SteadyState`). Then no read where no keys are asked for.

        The marks of the tables in `marked` are read with it: where one is missing, that table was emptied, and the view
        is not complete and claims nothing. A second read only then, and just after a switch of generations.

        Raises:
            Unavailable: the tables are throttled or gone.
        """
        marks = {mark_key(table) for table in marked}
        view = self._remembered(keys, marks)
        if view is not None:
            return view
        for _ in range(3):
            index = self.index
            began_us, ticks_us = self.clock.now_us(), self.clock.ticks_us()
            rows = self._batch(index, [*keys, *sorted(marks)])
            attributes = rows.get(ControlRow.KEY)
            if attributes is None:
                return View(index, rows, complete=False, building=None, asked=frozenset(keys))
            control = ControlRow.from_attributes(attributes)
            if control.serving == index.generation:
                found = rows.get(CompletenessRow.key(control.serving))
                row = None if found is None else CompletenessRow.from_attributes(found)
                self._remember(index, control, row, began_us, ticks_us)
                return self._if_marked(self._view(index, rows, control, row, keys, began_us, ticks_us), marks)
            self.index = index.at(control.serving)
        raise Unavailable("the index is being switched; try again")

    def _remembered(self, keys: Sequence[RowKey], marks: Collection[RowKey]) -> View | None:
        """Make the view with the steady state that an earlier call read; None if there is none, or it is too old."""
        steady, now_us, ticks_us = self.steady, self.clock.now_us(), self.clock.ticks_us()
        if (
            steady is None
            or steady.index is not self.index
            or not steady.is_young(now_us, ticks_us, self.control_age_us)
        ):
            return None
        try:
            asked = [*keys, *sorted(marks)]
            rows = self.read(steady.index, asked) if asked else {}
        except Unavailable:
            self.steady = None
            raise
        view = self._view(steady.index, rows, steady.control, steady.row, keys, now_us, ticks_us)
        view = self._if_marked(view, marks)
        if not view.complete:
            self.steady = None
        return view

    def _remember(
        self, index: Index, control: ControlRow, row: CompletenessRow | None, began_us: int, ticks_us: int
    ) -> None:
        is_steady = control.complete and control.building is None and row is not None
        self.steady = (
            SteadyState(index, control, row, began_us, ticks_us) if self.control_age_us and row and is_steady else None
        )

    def _if_marked(self, view: View, marks: Collection[RowKey]) -> View:
        """Return the view; where one of these marks was not found with it, it is not complete and claims nothing."""
        return view if self._is_marked(view, view.rows, marks) else replace(view, complete=False, watermarks={})

    def _view(
        self,
        index: Index,
        rows: Mapping[RowKey, Attributes],
        control: ControlRow,
        row: CompletenessRow | None,
        asked: Sequence[RowKey],
        began_us: int,
        ticks_us: int,
    ) -> View:
        """Make the view. This region projected its own acknowledged writes before, so it has all of those up to now."""
        watermarks = watermark.claimable(row, self.completeness.get(control.serving))
        self.completeness = {} if row is None else {control.serving: row}
        if row is not None:
            watermarks[self.name] = began_us
        return View(
            index=index,
            rows=rows,
            complete=control.complete,
            building=control.building,
            asked=frozenset(asked),
            watermarks=watermarks if control.complete else {},
            regions=self.regions,
            former=frozenset(self.former),
            period=None if row is None else row.open_period,
            ticks_us=ticks_us,
            mark=None if row is None else row.mark,
        )

    def _is_marked(self, view: View, rows: Mapping[RowKey, Attributes], marks: Collection[RowKey]) -> bool:
        """Tell whether these tables have their marks. Reads again if they do not: a batch is not one moment."""
        mark = {"mark": view.mark}
        if view.mark is None or all(rows.get(key) == mark for key in marks):
            return True
        again = self.read(view.index, sorted(marks))
        return all(again.get(key) == mark for key in marks)

    def is_recent(self, view: View, lease_us: int) -> bool:
        """Tell whether a lease still runs that began with this batch. No call."""
        return view.ticks_us is not None and 0 <= self.clock.ticks_us() - view.ticks_us <= lease_us

    def is_whole(self, view: View, *tables: str) -> bool:
        """Tell whether the index is complete, and none of these tables has been emptied until now.

        Call it after the read that it is to confirm: that a row does not exist, or that a page has every row. One read;
        none where the index is incomplete. Tables that were not marked when `view` was read have the mark that they got
        since, if any, and the index has not been declared incomplete.

        Raises:
            Unavailable: the index does not answer.
        """
        return view.complete and self._look(view, (), tables)[1]

    def read_whole(self, view: View, keys: Sequence[RowKey], *tables: str) -> Mapping[RowKey, Attributes]:
        """Read rows and, in the same read, check that none of these tables has been emptied until now.

        It confirms what `is_whole` does.

        Raises:
            Unavailable: a table has been emptied, or the index does not answer.
        """
        rows, whole = self._look(view, keys, tables)
        if not whole:
            raise _emptied()
        return rows

    def _look(
        self, view: View, keys: Sequence[RowKey], tables: Iterable[str]
    ) -> tuple[Mapping[RowKey, Attributes], bool]:
        """Read rows, and whether none of these tables has been emptied until now. One read."""
        marks = [mark_key(table) for table in tables]
        since = () if view.mark is not None else (ControlRow.KEY, CompletenessRow.key(view.index.generation))
        rows = self.read(view.index, [*keys, *marks, *since])
        whole = self._is_marked(view, rows, marks) if view.mark is not None else self._is_still(view, rows, marks)
        return {key: row for key, row in rows.items() if key not in (*marks, *since)}, whole

    def _is_still(self, view: View, rows: Mapping[RowKey, Attributes], marks: Collection[RowKey]) -> bool:
        """Tell whether an index that was complete, and not marked yet, is complete still, and was not emptied."""
        control, row = rows.get(ControlRow.KEY), rows.get(CompletenessRow.key(view.index.generation))
        if not view.complete:
            return True
        if control is None or not ControlRow.from_attributes(control).complete:
            return False
        return row is None or self._is_marked(replace(view, mark=row["mark"]), rows, marks)

    def require_whole(self, view: View, *tables: str) -> None:
        """Raise Unavailable unless `is_whole`, which says what it costs and when to call it."""
        view.require_complete()
        if not self.is_whole(view, *tables):
            raise _emptied()

    def _batch(self, index: Index, keys: Sequence[RowKey]) -> Mapping[RowKey, Attributes]:
        """Read the region's rows and `keys`; the control row alone where another generation serves and this is gone."""
        try:
            return self.read(index, (ControlRow.KEY, CompletenessRow.key(index.generation), *keys))
        except Unavailable:
            control = self.read(index, [ControlRow.KEY])
            attributes = control.get(ControlRow.KEY)
            if attributes is None or ControlRow.from_attributes(attributes).serving == index.generation:
                raise
            return control

    def read(self, index: Index, keys: Sequence[RowKey]) -> Mapping[RowKey, Attributes]:
        """`Index.read`."""
        return index.read(keys)

    def new_id(self, prefix: str) -> str:
        """Make an id, ``mem_…`` and the like, from the clock and the randomness port."""
        return f"{prefix}_{ids.ulid(self.clock.now_us() // 1000, self.randomness.bytes(10))}"

    def new_regional_id(self, prefix: str) -> str:
        """Make an id that names this region, for stores and keys."""
        return self.new_id(f"{prefix}_{ids.region_code(self.name)}")

    def back_off(self, attempt: int) -> None:
        """Pause with full jitter: up to 10 ms at first, doubling up to 640 ms.

        Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
        """
        self.clock.pause(self.randomness.fraction() * 0.01 * 2 ** min(attempt, 6))


def _emptied() -> Unavailable:
    return Unavailable("a table of this region's index has been emptied; it must be rebuilt; try another region")
