"""Bringing one store's objects from its home's bucket into another region's: what replication has not brought yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cairn.app.batches import batches
from cairn.app.listings import keys_missing
from cairn.app.region import Region, asked_each
from cairn.core.errors import CairnError, Unavailable
from cairn.core.records import parse_epoch
from cairn.core.rows import StoreRow
from cairn.ports import errors as port_errors

KINDS = ("log", "cut", "store", "redaction", "verdict")
COPIES_AT_ONCE = 32


class Bringing:
    """Fills one region's bucket with a store. `fold` is told of each object that was brought."""

    def __init__(self, region: Region, fold: Callable[[str], None]) -> None:
        self._region = region
        self._fold = fold

    def run(self, store: StoreRow, source: str, deadline_us: int | None = None) -> tuple[int, bool]:
        """Copies what is missing here; how many objects, and whether that was all before the deadline.

        A LIST for a thousand objects on both sides; a GET, a conditional PUT and a fold for each that is missing.
        Repeatable: what is here already is left alone.

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
        for home in sorted({parse_epoch(text).home for text in store.epochs} | set(self._region.regions)):
            for kind in KINDS:
                prefix = f"{home}/{kind}/{store.store_id}/"
                yield from asked_each(keys_missing(self._region.objects, prefix, source))

    def _copy(self, key: str, source: str) -> int:
        """Brings one object; what somebody else has brought meanwhile is as good."""
        try:
            found = self._region.objects.get(key, source)
            self._region.objects.put_if_absent(key, found.body, found.metadata)
        except port_errors.ObjectNotFound:
            return 0
        except port_errors.ObjectExists:
            pass
        except port_errors.PortError as error:
            raise Unavailable("an object was not copied; try again") from error
        try:
            self._fold(key)
        except CairnError as error:
            raise Unavailable("an object that was copied is not indexed yet; try again") from error
        return 1
