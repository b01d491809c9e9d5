"""Bringing a region that joins what was written before it was there.

Replication copies what is put from now on; everything older has to be brought once. A key begins with the region that
wrote it, and that region holds all of its own, so each prefix is copied from its own home; what a region wrote that has
left since comes from a region that still has it. Copies keep key, body and metadata, so that they fold to the same
rows; a copy is never replicated onward, and never lands on something that is there already.

    find the prefixes -> compare two listings, copy what is missing -> again, until nothing is

The passes repeat because the deployment goes on writing: what was put after a listing, and before replication had
begun, is missing in the next comparison. Every step can be repeated, so a filling that stopped is simply run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import keys_missing
from memolith.app.kernel.region import Region
from memolith.app.log.copy import copy_object
from memolith.core.errors import Unavailable
from memolith.core.object_keys import LOCAL_PREFIX

COPIES_AT_ONCE = 64
PASSES_MAX = 20

_AFTER_SLASH = "0"
"""What follows ``/`` in byte order: a listing after ``prefix0`` skips all of ``prefix/``."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a filling is: which pass, what is copied now and whence, and how many objects were copied in all."""

    number: int
    prefix: str
    source: str
    copied: int


Report = Callable[[Progress], None]


class RegionBackfill:
    """Fills one region's bucket from the others.

    Args:
        region: the region that joins.
        others: the regions that were there before.
    """

    def __init__(self, region: Region, others: Sequence[str]) -> None:
        self._region = region
        self._others = tuple(others)

    def run(self, report: Report) -> int:
        """Copy until a pass finds nothing missing; return how many objects that were.

        Costs one LIST a thousand keys on both sides in each pass, one GET and one conditional PUT an object.

        Raises:
            Unavailable: a bucket does not answer, or more is written than is copied; run it again.
        """
        copied = 0
        for number in range(1, PASSES_MAX + 1):
            before = copied
            for prefix, source in self._sources():
                report(Progress(number, prefix, source, copied))
                for brought in self._fill(prefix, source):
                    copied += brought
                    report(Progress(number, prefix, source, copied))
            if copied == before:
                return copied
        raise Unavailable(f"after {PASSES_MAX} passes objects were still missing; run it again")

    def _sources(self) -> list[tuple[str, str]]:
        """List every prefix, and where it is copied from."""
        holders: dict[str, list[str]] = {}
        for region in self._others:
            for prefix in self._prefixes(region):
                holders.setdefault(prefix, []).append(region)
        return [
            (prefix, source)
            for prefix, found in sorted(holders.items())
            for source in ([prefix] if prefix in found else found)
        ]

    def _prefixes(self, region: str) -> Iterator[str]:
        """Yield the regions whose keys the region has: one LIST of one key each."""
        after: str | None = None
        while keys := self._region.objects.list("", after, 1, region).keys:
            if not keys[0].startswith(LOCAL_PREFIX):
                yield keys[0].partition("/")[0]
            after = keys[0].partition("/")[0] + _AFTER_SLASH

    def _fill(self, prefix: str, source: str) -> Iterator[int]:
        for some in batches(keys_missing(self._region.objects, f"{prefix}/", source), COPIES_AT_ONCE):
            yield sum(self._region.parallel.run([partial(self._copy, key, source) for key in some]))

    def _copy(self, key: str, source: str) -> int:
        """Copy one object if it is not here yet; return how many were copied. The next pass sees what is undecided."""
        copied = copy_object(self._region, key, source)
        return 1 if copied is not None and copied.is_new else 0
