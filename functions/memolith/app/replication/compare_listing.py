"""The slow pass: the bucket's listing beside the tables, once a day; what the tables lack is sent to be folded again.

    a page of keys -> the entries' heads -> the rows they leave -> what is missing goes through the index queue, and
    what has text that should be gone (`memolith.app.replication.missed_erasures`)

A pass is as many pages as there is time for; where it goes on stands in a row of the control table, so that a pass over
a million objects is a few invocations. It also looks for the one thing that may go wrong without any error: a
path and its ancestor that are both memories, created in the very moment in which the tables vanished.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memolith.app.index.resumable_scan import ScanProgress, resume_scan
from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.object_events import send_object_events
from memolith.app.kernel.region import Region, View
from memolith.app.log.log_reader import LogReader
from memolith.app.replication.missed_erasures import ListedEntry, MissedErasures
from memolith.app.replication.missing_objects import MissingObjects
from memolith.core.log_position import LogKey
from memolith.core.object_keys import (
    LOCAL_PREFIX,
    CheckpointKey,
    CheckpointPartKey,
    CutKey,
    JobKey,
    StoreKey,
    parse_key,
)
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Operation
from memolith.core.paths import ancestors
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import PathRow
from memolith.core.rows.control import ReconcileRow
from memolith.ports.index import Query
from memolith.ports.queue import Queue

HEADS_AT_ONCE = 16
PATHS_PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """What one invocation saw: keys looked at, those sent to be folded again, pairs of a path and its ancestor.

    `unerased` are those sent because their text should be gone.
    """

    looked_at: int = 0
    repaired: int = 0
    unerased: int = 0
    ancestor_pairs: int = 0
    finished: bool = False


class CompareListing:
    """Compares one region's bucket with its tables. `queue` is the region's index queue."""

    def __init__(
        self,
        region: Region,
        queue: Queue,
        logs: LogReader,
        missing_objects: MissingObjects,
        missed_erasures: MissedErasures,
    ) -> None:
        self._region = region
        self._queue = queue
        self._logs = logs
        self._missing_objects = missing_objects
        self._missed_erasures = missed_erasures

    def run(self, deadline_us: int) -> ComparedPage:
        """Go on with the pass under way, or begin one if the last is a day old; until `deadline_us` at most.

        Costs a LIST for a thousand keys, a HEAD an entry, a read for a hundred, and a Query for a hundred paths.

        Raises:
            Busy: another pass is at it. Unavailable, OutcomeUnknown: to be repeated.
        """
        compared = ComparedPage()

        def step(view: View, after: str | None) -> tuple[ScanProgress, str | None]:
            nonlocal compared
            before = compared
            compared, further = self._page(view, after, before)
            seen = ScanProgress(compared.looked_at - before.looked_at, compared.repaired - before.repaired)
            return seen, further

        scanned = resume_scan(self._region, "listing", step, deadline_us, key=ReconcileRow.KEY)
        return replace(compared, finished=scanned.finished)

    def _page(self, view: View, after: str | None, so_far: ComparedPage) -> tuple[ComparedPage, str | None]:
        page = self._region.objects.list("", after=after)
        keys = [key for key in page.keys if not key.startswith(LOCAL_PREFIX)]
        names, listed = self._names(keys)
        rows: dict[RowKey, Attributes] = {}
        missing = self._missing_objects.missing(view, names, listed=True, seen=rows)
        unerased = sorted(set(self._missed_erasures.among(view, listed, rows)) - {name.key for name in missing})
        send_object_events(self._queue, [*(name.key for name in missing), *unerased])
        pairs = sum(self._pairs(view, store_id) for store_id in self._stores_born_here(keys))
        if unerased:
            self._region.metrics.count("reconcile_repaired", len(unerased), kind="unerased")
        if pairs:
            self._region.metrics.count("ancestor_pairs", pairs)
        compared = ComparedPage(
            so_far.looked_at + len(keys),
            so_far.repaired + len(missing),
            so_far.unerased + len(unerased),
            so_far.ancestor_pairs + pairs,
        )
        return compared, page.next_after

    def _names(self, keys: Sequence[str]) -> tuple[list[Named], list[ListedEntry]]:
        """Return keys with what shows that they are projected, without those that leave no row; and the log entries."""
        entries: list[LogKey] = []
        names: list[Named] = []
        for key in keys:
            try:
                parsed = parse_key(key)
            except ValueError:
                continue
            if isinstance(parsed, LogKey):
                entries.append(parsed)
            elif not isinstance(parsed, (CutKey, JobKey, CheckpointKey, CheckpointPartKey)):
                names.append(Named(key))
        listed = list(self._listed(entries))
        row_keys = [name for name in names if self._missing_objects.is_indexed(name)]
        return [*row_keys, *(one.name for one in listed if one.name is not None)], listed

    def _listed(self, keys: Sequence[LogKey]) -> Iterator[ListedEntry]:
        for start in range(0, len(keys), HEADS_AT_ONCE):
            tasks = [partial(self._look, key) for key in keys[start : start + HEADS_AT_ONCE]]
            yield from (listed for listed in self._region.parallel.run(tasks) if listed is not None)

    def _look(self, key: LogKey) -> ListedEntry | None:
        """Look at an entry; None for one that cannot be read, which its event reports.

        An abort entry, and a rename that never came to be, leave no row that would show them.
        """
        try:
            entry = self._logs.entry(key)
            if entry is None:
                return None
            if entry.operation is Operation.VOID:
                return ListedEntry(entry, None)
            if entry.operation is Operation.MOVED_OUT:
                return ListedEntry(entry, Named(str(key), entry.moved_version_id))
            if entry.operation is Operation.MOVED_IN and any(one.void for one in self._logs.resolve(entry)):
                return ListedEntry(entry, None)
        except ValueError:
            return None
        return ListedEntry(entry, Named(str(key), entry.version_id))

    # ---- a path and its ancestor --------------------------------------------------------------------------------

    def _stores_born_here(self, keys: Sequence[str]) -> list[str]:
        prefix = f"{self._region.name}/store/"
        parsed = [parse_key(key) for key in keys if key.startswith(prefix)]
        return [key.store_id for key in parsed if isinstance(key, StoreKey) and key.slot.sequence == 1]

    def _pairs(self, view: View, store_id: str) -> int:
        """Count the live memories of a store that are below another one."""
        paths = rows_of(view.index, Query("paths", store_id, limit=PATHS_PER_PAGE), PathRow)
        return sum(self._below_another(view, row) for row in paths if row.memory_id is not None)

    def _below_another(self, view: View, row: PathRow) -> bool:
        keys: list[RowKey] = [PathRow.key(row.store_id, above) for above in ancestors(row.path)]
        found = self._region.read(view.index, keys) if keys else {}
        return any(PathRow.from_attributes(above).memory_id is not None for above in found.values())
