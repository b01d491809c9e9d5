"""The slow pass: the bucket's listing beside the tables, once a day; what the tables lack is sent to be folded again.

    a page of keys -> the entries that no version's row shows (`memolith.app.replication.version_positions`)
    -> their heads -> the rows they leave -> what is missing goes through the index queue, and what has text that should
    be gone (`memolith.app.replication.missed_erasures`)

A pass is as many pages as there is time for; where it goes on stands in a row of the control table, so that a pass over
ten million objects is a few invocations. A larger bucket's is cut into parts, which go on side by side. It also looks
for the one thing that may go wrong without any error: a path and its ancestor that are both memories, created in the
very moment in which the tables vanished.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise, repeat

from memolith.app.index.resumable_scan import EVERY_US, ScanProgress, resume_scan
from memolith.app.kernel.listing import keys_under, row_pages
from memolith.app.kernel.object_events import send_object_events
from memolith.app.kernel.port_calls import commit_or_busy
from memolith.app.kernel.region import Region, View
from memolith.app.log.log_reader import LogReader
from memolith.app.replication.missed_erasures import ListedEntry, MissedErasures
from memolith.app.replication.missing_objects import MissingObjects
from memolith.app.replication.version_positions import VersionPositions
from memolith.core.errors import Damaged
from memolith.core.log_position import LogKey
from memolith.core.object_keys import (
    LOCAL_PREFIX,
    CheckpointKey,
    CheckpointPartKey,
    CutKey,
    JobKey,
    parsed_key,
)
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Operation
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.control import ReconcileRow
from memolith.core.times import is_due
from memolith.ports.index import Change, Query
from memolith.ports.objects import KeyPage
from memolith.ports.queue import Queue

HEADS_AT_ONCE = 16
PATHS_PER_PAGE = 1_000
SAMPLES_MAX = 4_000
"""Stores that a pass is cut by; of more, every second one, every fourth, ..."""
SIZE_UNKNOWN = -2
"""Of a listing that tells no sizes; no row tells the same."""


def part_key(part: int) -> RowKey:
    """Return where it stands how far a part of the comparison is."""
    return ReconcileRow.key_of(f"listing#{part:02d}")


def within(page: KeyPage, until: str | None) -> KeyPage:
    """Return a page of a listing that ends with the key `until`."""
    if until is None or not page.keys or page.keys[-1] < until:
        return page
    count = bisect_right(page.keys, until)
    return KeyPage(page.keys[:count], None, page.sizes)


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """What one invocation saw: keys listed, those sent to be folded again, pairs of a path and its ancestor.

    `heads` are the entries whose objects were looked at; `unerased` are those sent because their text should be gone.
    """

    looked_at: int = 0
    heads: int = 0
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

        Costs a LIST and a write for a thousand keys, a Query for a thousand versions and for a thousand paths, and a
        read for a store; of each entry that no row shows as it is listed a HEAD, and a read for a hundred of them.

        Raises:
            Busy: another pass is at it. Unavailable, OutcomeUnknown: to be repeated.
        """
        return self._go_on(ReconcileRow.KEY, deadline_us, begins=True)

    def run_part(self, part: int, deadline_us: int) -> ComparedPage:
        """Go on with one part of the pass that `divide` began, until `deadline_us` at most. Costs, raises as `run`."""
        return self._go_on(part_key(part), deadline_us, begins=False)

    def divide(self, parts: int) -> ComparedPage:
        """Begin a pass in so many parts if the last is a day old, and every part of it is through.

        They are numbered from 1. A LIST for a thousand records of stores, and a transaction.

        Raises:
            Busy: another does the same. Unavailable, OutcomeUnknown: to be repeated.
        """
        keys = [ReconcileRow.KEY, *map(part_key, range(1, parts + 1))]
        view = self._region.view(keys)
        rows = [ReconcileRow.from_attributes(view.rows.get(key) or {}) for key in keys]
        now_us = self._region.clock.now_us()
        is_under_way = any(row.after is not None for row in rows[1:])
        is_through = rows[0].after is None and not is_due(rows[0].began_at, now_us, EVERY_US)
        if not view.complete or is_under_way or is_through:
            return ComparedPage(finished=not view.complete or not is_under_way)
        cuts = ["", *self._cuts(parts)]
        begun = [ReconcileRow(began_at=now_us)]
        begun += [ReconcileRow(began_at=now_us, after=cut, until=end) for cut, end in pairwise([*cuts, None])]
        changes = [Change(key, view.rows.get(key), row.to_attributes()) for key, row in zip(keys, begun, strict=False)]
        commit_or_busy(self._region.index, changes, "another comparison is under way")
        return ComparedPage()

    def _cuts(self, parts: int) -> list[str]:
        """Return keys between which lie the logs of about as many stores; fewer than asked for where stores are few."""
        samples: list[str] = []
        stride = 1
        for home in sorted(self._region.origins):
            prefix = f"{home}/store/"
            for number, key in enumerate(keys_under(self._region.objects, prefix)):
                if number % stride == 0:
                    samples.append(f"{home}/log/{key.removeprefix(prefix).partition('/')[0]}")
                if len(samples) > SAMPLES_MAX:
                    samples, stride = samples[::2], stride * 2
        return sorted({samples[len(samples) * part // parts] for part in range(1, parts)} if samples else ())

    def _go_on(self, key: RowKey, deadline_us: int, begins: bool) -> ComparedPage:
        compared = ComparedPage()
        positions: VersionPositions | None = None

        def step(view: View, after: str | None) -> tuple[ScanProgress, str | None]:
            nonlocal compared, positions
            positions = positions or VersionPositions(self._region, view)
            before = compared
            until = view.rows.get(key, {}).get("until") if after is not None else None
            compared, further = self._page(view, positions, (after, until), before)
            seen = ScanProgress(compared.looked_at - before.looked_at, compared.repaired - before.repaired)
            return seen, further

        scanned = resume_scan(self._region, "listing", step, deadline_us, key=key, begins=begins)
        return replace(compared, finished=scanned.finished)

    def _page(
        self, view: View, positions: VersionPositions, place: tuple[str | None, str | None], so_far: ComparedPage
    ) -> tuple[ComparedPage, str | None]:
        after, until = place
        page = within(self._region.objects.list("", after=after), until)
        keys = [key for key in page.keys if not key.startswith(LOCAL_PREFIX)]
        names, listed = self._names(page, positions)
        rows: dict[RowKey, Attributes] = {}
        missing = self._missing_objects.missing(view, names, listed=True, seen=rows)
        unerased = sorted(set(self._missed_erasures.among(view, listed, rows)) - {name.key for name in missing})
        send_object_events(self._queue, [*(name.key for name in missing), *unerased])
        pairs = sum(self._pairs(view, store_id) for store_id in self._stores_begun(keys, after))
        if unerased:
            self._region.metrics.count("reconcile_repaired", len(unerased), kind="unerased")
        if pairs:
            self._region.metrics.count("ancestor_pairs", pairs)
        compared = ComparedPage(
            so_far.looked_at + len(keys),
            so_far.heads + len(listed),
            so_far.repaired + len(missing),
            so_far.unerased + len(unerased),
            so_far.ancestor_pairs + pairs,
        )
        return compared, page.next_after

    def _names(self, page: KeyPage, positions: VersionPositions) -> tuple[list[Named], list[ListedEntry]]:
        """Return keys with what shows that they are projected, without those of which a row shows it as they are listed
        and those that leave no row; and the log entries among them.
        """
        entries: list[tuple[LogKey, int]] = []
        names: list[Named] = []
        for key, size_bytes in zip(page.keys, page.sizes or repeat(SIZE_UNKNOWN), strict=False):
            parsed = None if key.startswith(LOCAL_PREFIX) else parsed_key(key)
            if isinstance(parsed, LogKey):
                entries.append((parsed, size_bytes))
            elif parsed is not None and not isinstance(parsed, (CutKey, JobKey, CheckpointKey, CheckpointPartKey)):
                names.append(Named(key))
        listed = list(self._listed(positions.differing(entries)))
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
        except (ValueError, Damaged):
            return None
        return ListedEntry(entry, Named(str(key), entry.version_id))

    # ---- a path and its ancestor --------------------------------------------------------------------------------

    def _stores_begun(self, keys: Sequence[str], after: str | None) -> list[str]:
        """Return the stores whose log at this home begins on a page; `after` is the last key before it, or a cut."""
        prefix = f"{self._region.name}/log/"
        stores = dict.fromkeys(key.removeprefix(prefix).partition("/")[0] for key in keys if key.startswith(prefix))
        return [store_id for store_id in stores if after is None or not after.startswith(f"{prefix}{store_id}/")]

    def _pairs(self, view: View, store_id: str) -> int:
        """Count a store's live memories that are below another one: all paths that begin alike follow each other."""
        above: list[str] = []
        pairs = 0
        query = Query("paths", store_id, limit=PATHS_PER_PAGE, only=("memory_id",))
        for found in chain.from_iterable(row_pages(view.index, query)):
            path = found.key.sk
            if "memory_id" not in found.attributes:
                continue
            while above and not path.startswith(above[-1]):
                above.pop()
            pairs += any(path.startswith(f"{one}/") for one in above)
            above.append(path)
        return pairs
