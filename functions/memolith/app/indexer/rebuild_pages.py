"""The long part of a rebuild: the bucket's listing, folded a page at a time, with a note of how far that is.

    a page of keys -> its batches into the queue -> the indexer folds them, noting each -> the page is done: note that

A few pages are under way at once, and only what they hold is in memory or in the queue, however large the bucket is:
so it can be stopped at any time, and the next run repeats those pages at most. What arrives in the bucket behind the
place that the listing has reached is projected by the function that puts or receives it, into both generations.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memolith.app.kernel.port_calls import commit_or_busy, repeatable
from memolith.app.kernel.region import Region
from memolith.core.errors import Busy
from memolith.core.object_keys import LOCAL_PREFIX
from memolith.core.rows.base import RowKey
from memolith.core.rows.control import ControlRow, RebuildRow
from memolith.ports.index import Change, Index, Query
from memolith.ports.objects import KeyPage
from memolith.ports.queue import Queue

KEYS_PER_BATCH = 50
BATCHES_PER_PAGE = 20
PAGES_AT_ONCE = 50
"""A thousand batches, one an indexer, so that none of them waits for the listing; 50,000 keys, about 10 MB."""
COUNTED_AT_ONCE = 10
"""Pages of the listing that are counted ahead while batches are being folded."""
PAUSE_S = 0.5
SEND_AGAIN_AFTER_US = 900_000_000
"""Once no batch at all was done for so long, those that are missing are sent again: they may have been lost."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rebuild is.

    Attributes:
        stage: what it does now.
        folded: objects that are in the new tables, those of earlier runs too.
        found: objects counted so far.
        counted: whether these are all that there are.
        per_s: objects folded a second, since this run began; None while that cannot be told.
    """

    stage: str
    folded: int = 0
    found: int = 0
    counted: bool = False
    per_s: float | None = None

    @property
    def left_s(self) -> float | None:
        """How long the folding will still take at this rate; None while that cannot be told."""
        if not self.counted or not self.per_s:
            return None
        return max(self.found - self.folded, 0) / self.per_s


@dataclass(frozen=True, slots=True)
class _Page:
    """A page that is under way: its batches, the last key that it reaches to, and whether the listing goes on."""

    number: int
    batches: tuple[tuple[str, ...], ...]
    until: str | None
    more: bool

    @property
    def size(self) -> int:
        return sum(map(len, self.batches))

    @property
    def prefix(self) -> str:
        """What the names of its batches begin with."""
        return f"{self.number:08d}."

    def name(self, batch: int) -> str:
        return f"{self.prefix}{batch:03d}"


def batch_partition(run: str | None) -> str:
    """Return where the control table notes a run's finished batches; the indexer may write nothing else there."""
    return f"rebuild#{run}"


def commit_run(index: Index, changes: Sequence[Change]) -> None:
    """Commit to the control table what one rebuild at a time may. Raises Busy: another one is at it; Unavailable."""
    with repeatable():
        commit_or_busy(index, changes, "another rebuild is under way in this region")


class Pages:
    """Folds the whole listing for one run of a rebuild, which `building` names."""

    def __init__(self, region: Region, queue: Queue, building: ControlRow, report: Callable[[Progress], None]) -> None:
        self._region = region
        self._queue = queue
        self._building = building
        self._report = report
        self._pages: deque[_Page] = deque()
        self._noted = RebuildRow(generation=0, run="", mark="")
        self._began_us = self._moved_us = region.clock.now_us()
        self._done = 0

    def fold_all(self, progress: RebuildRow) -> None:
        """Project everything after `progress.after`, and return then.

        Of a thousand objects: two LISTs, one sending of twenty messages, a count, a query and a transaction; and, for
        every half second that it takes, a read and a count.

        Raises:
            Busy: another run has taken over. Unavailable: a port does not answer; what is noted stands.
        """
        self._noted = progress
        began_at, after, number, listed = progress.folded, progress.after, 0, False
        while True:
            while not listed and len(self._pages) < PAGES_AT_ONCE:
                page = self._next_page(number, after)
                self._send(page, range(len(page.batches)))
                self._pages.append(page)
                after, number, listed = page.until, number + 1, not page.more
            if not self._pages:
                return
            missing = self._missing(self._pages[0])
            if not missing:
                progress = self._note(progress, self._pages.popleft())
                continue
            self._require_ours()
            self._send_lost(self._pages[0], missing)
            progress = self._count_ahead(progress)
            self._report(self._so_far(progress, began_at, listed))
            self._region.clock.pause(PAUSE_S)

    # ---- listing ------------------------------------------------------------------------------------------------

    def _next_page(self, number: int, after: str | None) -> _Page:
        found = self._list(after)
        keys = _indexed(found)
        starts = range(0, len(keys), KEYS_PER_BATCH)
        batches = tuple(tuple(keys[start : start + KEYS_PER_BATCH]) for start in starts)
        until = found.next_after or (found.keys[-1] if found.keys else after)
        return _Page(number, batches, until, more=found.next_after is not None)

    def _count_ahead(self, progress: RebuildRow) -> RebuildRow:
        """Go on counting, so that the progress can say how much is left."""
        for _ in range(COUNTED_AT_ONCE):
            if progress.counted:
                break
            found = self._list(progress.counted_after)
            counted = found.next_after is None
            progress = replace(
                progress,
                found=progress.found + len(_indexed(found)),
                counted_after=None if counted else found.next_after,
                counted=counted,
            )
        return progress

    def _list(self, after: str | None) -> KeyPage:
        return self._region.objects.list("", after=after, limit=KEYS_PER_BATCH * BATCHES_PER_PAGE)

    # ---- batches ------------------------------------------------------------------------------------------------

    def _send(self, page: _Page, numbers: Sequence[int]) -> None:
        about = {"generation": self._building.building, "run": self._building.run}
        batches = [{**about, "batch": page.name(number), "keys": page.batches[number]} for number in numbers]
        if batches:
            self._queue.send([json.dumps({"rebuild": batch}) for batch in batches])

    def _send_lost(self, page: _Page, missing: Sequence[int]) -> None:
        now_us = self._region.clock.now_us()
        if now_us - self._moved_us > SEND_AGAIN_AFTER_US:
            self._send(page, missing)
            self._moved_us = now_us

    def _missing(self, page: _Page) -> list[int]:
        """Return which batches of the oldest page are not done. A query only once enough of any page are."""
        everything = list(range(len(page.batches)))
        if not everything:
            return []
        done = self._region.index.count("control", batch_partition(self._building.run))
        if done != self._done:
            self._done, self._moved_us = done, self._region.clock.now_us()
        if done < len(everything) and self._region.clock.now_us() - self._moved_us <= SEND_AGAIN_AFTER_US:
            return everything
        query = Query("control", batch_partition(self._building.run), prefix=page.prefix, limit=len(everything))
        found = {one.sort_key for one in self._region.index.query(query)}
        return [number for number in everything if page.name(number) not in found]

    def _note(self, progress: RebuildRow, page: _Page) -> RebuildRow:
        """Note that the page is projected: the next run begins after it. Forgets which of its batches were done."""
        further = replace(progress, after=page.until, folded=progress.folded + page.size)
        partition = batch_partition(self._building.run)
        keys = [RowKey("control", partition, page.name(number)) for number in range(len(page.batches))]
        noted = Change(RebuildRow.KEY, self._noted.to_attributes(), further.to_attributes())
        forgotten = (Change(key, None, None, unconditional=True) for key in keys)
        commit_run(self._region.index, [noted, *forgotten])
        self._noted = further
        self._done = max(self._done - len(keys), 0)
        self._moved_us = self._region.clock.now_us()
        return further

    # ---- who drives it, and how far it is -----------------------------------------------------------------------

    def _require_ours(self) -> None:
        attributes = self._region.read(self._region.index, [ControlRow.KEY]).get(ControlRow.KEY)
        if attributes is None or ControlRow.from_attributes(attributes) != self._building:
            raise Busy("another rebuild is under way in this region")

    def _so_far(self, progress: RebuildRow, began_at: int, listed: bool) -> Progress:
        """Report the progress; finished batches count before their page is done."""
        under_way = sum(page.size for page in self._pages)
        folded = progress.folded + min(self._done * KEYS_PER_BATCH, under_way)
        seconds = (self._region.clock.now_us() - self._began_us) / 1_000_000
        return Progress(
            "folding",
            folded=folded,
            found=progress.folded + under_way if listed else max(progress.found, progress.folded + under_way),
            counted=listed or progress.counted,
            per_s=(folded - began_at) / seconds if seconds > 0 and folded > began_at else None,
        )


def _indexed(found: KeyPage) -> list[str]:
    return [key for key in found.keys if not key.startswith(LOCAL_PREFIX)]
