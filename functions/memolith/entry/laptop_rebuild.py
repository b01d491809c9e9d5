"""Making a laptop's index anew, in this process alone.

The queue of the folder has no part in it: another server that takes from it may be of another release, which would
drop what it does not know, and the start would wait for ever.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from memolith.adapters.local import LocalTables
from memolith.app.indexer.indexer import Indexer, Malformed
from memolith.app.indexer.rebuild import BatchProjector, Rebuild
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.object_events import event_objects
from memolith.app.kernel.region import Region
from memolith.core.object_keys import LOCAL_PREFIX
from memolith.ports.clock import Clock

REPORT_EVERY_US = 2_000_000
NAMED = 20
"""How many damaged objects are named; the others are counted, and `memolith doctor` names them."""

_log = logging.getLogger(__name__)


class FoldedAtOnce:
    """`ports.queue.Queue` that folds each batch of a rebuild, and what an event names, when it is sent.

    Attributes:
        damaged: what could not be read, and is left out of the index.
    """

    def __init__(self, indexer: Indexer, batches: BatchProjector, total: int, clock: Clock) -> None:
        self.damaged: list[Malformed] = []
        self._indexer = indexer
        self._batches = batches
        self._total = total
        self._clock = clock
        self._folded = 0
        self._told_us = clock.now_us()

    def send(self, messages: Sequence[str]) -> None:
        """Fold the batches. Raises Unavailable, OutcomeUnknown: what was folded stays so."""
        for message in messages:
            payload = json.loads(message)
            if "rebuild" not in payload:
                self._project(key for key, _ in event_objects(payload))
                continue
            batch = payload["rebuild"]
            self.damaged += self._batches.fold(batch)
            self._folded += len(batch["keys"])
            if self._clock.now_us() - self._told_us >= REPORT_EVERY_US:
                self._told_us = self._clock.now_us()
                _log.warning("the index is made anew: %d of %d objects", self._folded, self._total)

    def _project(self, keys: Iterable[str]) -> None:
        for key in keys:
            with suppress(Malformed):  # the rebuild's batch has named it
                self._indexer.object_arrived(key)


def make_index(region: Region, tables: LocalTables) -> list[Malformed]:
    """Make tables that have what the bucket has, and return what is damaged: each costs its own version and no other.

    A run that died is gone on with.

    Raises:
        Unavailable, OutcomeUnknown: start again.
    """
    total = sum(1 for _ in _keys(region))
    _log.warning("the index is made anew from %d objects", total)
    indexing = make_indexer(region)
    queue = FoldedAtOnce(indexing, BatchProjector(region, indexing), total, region.clock)
    Rebuild(region, indexing, tables, queue, longest_life_s=0).run(lambda progress: None)
    _report(queue.damaged)
    return queue.damaged


def _report(damaged: Sequence[Malformed]) -> None:
    for one in damaged[:NAMED]:
        _log.error("an object is damaged and left out", extra={"key": one.key, "reason": one.reason})
    if damaged:
        _log.error("%d objects are damaged; all others are served. `memolith doctor` names each", len(damaged))


def _keys(region: Region) -> Iterator[str]:
    after: str | None = None
    while True:
        page = region.objects.list("", after=after)
        yield from (key for key in page.keys if not key.startswith(LOCAL_PREFIX))
        if page.next_after is None:
            return
        after = page.next_after
