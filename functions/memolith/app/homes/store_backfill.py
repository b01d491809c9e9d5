"""Bringing one store's objects from its home's bucket into another region's: what replication has not brought yet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import keys_missing
from memolith.app.kernel.region import Region
from memolith.app.log.copy import copy_object
from memolith.core.errors import MemolithError, Unavailable
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.identity import StoreRow

KINDS = ("log", "cut", "store", "redaction", "verdict", "job", "proposal", "resolution", "run")
COPIES_AT_ONCE = 32
_log = logging.getLogger(__name__)
_HEX = "0123456789abcdef"


class StoreBackfill:
    """Fills one region's bucket with a store. `fold` is told of each object that was brought."""

    def __init__(self, region: Region, fold: Callable[[str], None]) -> None:
        self._region = region
        self._fold = fold

    def run(self, store: StoreRow, source: str, deadline_us: int | None = None) -> tuple[int, bool]:
        """Copy what is missing here; return how many objects, and whether that was all before the deadline.

        A LIST for a thousand objects on both sides, and one for each place that is empty; a GET, a conditional PUT and
        a projection for each that is missing. Repeatable: what is here already is left alone.

        Raises:
            Unavailable: a bucket, or this region's index, does not answer; repeat it.
        """
        copied = 0
        for some in batches(self._missing(store, source), COPIES_AT_ONCE):
            copied += sum(self._region.parallel.run([partial(self._copy, key, source) for key in some]))
            if deadline_us is not None and self._region.clock.now_us() > deadline_us:
                return copied, False
        return copied, True

    def _missing(self, store: StoreRow, source: str) -> Iterator[str]:
        """Yield keys to copy. Most places are empty, or small, so one page of each is listed at once."""
        places = list(_places(store, self._region.origins))
        glances = self._region.parallel.run([partial(self._at_a_glance, place, source) for place in places])
        for place, missing in zip(places, glances, strict=True):
            yield from self._all_missing(place, source) if missing is None else missing

    def _all_missing(self, place: str, source: str) -> Iterator[str]:
        """Yield what is missing of a place of many pages: of logs, whose keys go on with a hash, sixteen at once."""
        parts = [f"{place}{digit}" for digit in _HEX] if "/log/" in place else [place]
        found = self._region.parallel.run([partial(self._missing_under, part, source) for part in parts])
        for keys in found:
            yield from keys

    def _missing_under(self, prefix: str, source: str) -> list[str]:
        return list(keys_missing(self._region.objects, prefix, source))

    def _at_a_glance(self, place: str, source: str) -> list[str] | None:
        """Return what is missing under a prefix; None if there is more than one page there."""
        there = self._region.objects.list(place, region=source)
        if not there.keys:
            return []
        here = self._region.objects.list(place)
        if there.next_after is not None or here.next_after is not None:
            return None
        return sorted(set(there.keys) - set(here.keys))

    def _copy(self, key: str, source: str) -> int:
        """Copy one object; a copy that another caller has put meanwhile is equivalent.

        One that can never be indexed keeps no store from moving: its event brings a dead letter here.
        """
        if copy_object(self._region, key, source) is None:
            return 0
        try:
            self._fold(key)
        except Malformed as error:
            _log.error("an object that was copied cannot be indexed", extra={"key": error.key, "reason": error.reason})
        except MemolithError as error:
            raise Unavailable("an object that was copied is not indexed yet; try again") from error
        return 1


def _places(store: StoreRow, regions: Sequence[str]) -> Iterator[str]:
    """Yield the prefixes that a store's objects are under; a snapshot counts only if its epoch does."""
    homes = [parse_epoch(text).home for text in store.epochs]
    for home in sorted({*homes, *regions}):
        for kind in KINDS:
            if kind != "cut" or home in homes[1:]:
                yield f"{home}/{kind}/{store.store_id}/"
