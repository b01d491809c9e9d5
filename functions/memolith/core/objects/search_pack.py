"""Where a region keeps its packs, and what is written beside each.

    local/pack/{store_id}/{number:010d}

The highest number counts. What begins with ``local/`` is replicated nowhere and indexed nowhere: every region makes its
own, out of its own index.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PREFIX = "local/pack/"

REFRESH_DELAY_S = 60
"""How long after a change a pack is made anew, so that many changes are one pack. Readers look behind it."""

TEXT_BUDGET_BYTES = 64_000_000
"""How much text a pack searches and keeps in all. A store of the most memories has 6,400 bytes for each of them, and
what shorter ones leave is for the longer ones."""

SIZE_MAX_BYTES = 200_000_000
"""A pack that has grown beyond this is made anew, with what its texts may be now."""

_KEY = re.compile(r"local/pack/([^/]+)/(\d{10})")


@dataclass(frozen=True, slots=True, order=True)
class PackKey:
    """The key of one pack of a store. Numbers start at 1."""

    store_id: str
    number: int

    def __str__(self) -> str:
        return f"{PackKey.prefix(self.store_id)}{self.number:010d}"

    @property
    def following(self) -> PackKey:
        """The next one's."""
        return PackKey(self.store_id, self.number + 1)

    @staticmethod
    def prefix(store_id: str) -> str:
        """Return what the keys of all search segments of a store begin with."""
        return f"{PREFIX}{store_id}/"

    @staticmethod
    def parse(key: str) -> PackKey:
        """Parse what ``str`` made. Raises ValueError."""
        match = _KEY.fullmatch(key)
        if match is None:
            raise ValueError(f"not a key of a pack: {key!r}")
        return PackKey(match[1], int(match[2]))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pack says of itself, as the metadata of its object.

    Attributes:
        began_at: when the index was first read for it: it has every change that was indexed by then.
        complete_until: up to when that index had everything that was acknowledged anywhere; None if it did not know.
        count: how many memories it has.
        sha256: of its bytes.
        term: that of its store by then (`core.epochs.term_of`); None in packs of earlier releases.
    """

    began_at: int
    complete_until: int | None
    count: int
    sha256: str
    term: str | None = None

    def to_metadata(self) -> dict[str, str]:
        """Write printable US-ASCII, as S3 has it."""
        known = {} if self.complete_until is None else {"complete-until": str(self.complete_until)}
        known |= {} if self.term is None else {"term": self.term}
        return {"began-at": str(self.began_at), "count": str(self.count), "sha256": self.sha256, **known}

    @staticmethod
    def from_metadata(metadata: Mapping[str, str]) -> Manifest:
        """Parse what `to_metadata` made. Raises ValueError, KeyError."""
        until = metadata.get("complete-until")
        return Manifest(
            int(metadata["began-at"]),
            None if until is None else int(until),
            int(metadata["count"]),
            metadata["sha256"],
            metadata.get("term"),
        )


def text_max_bytes(sizes_bytes: Sequence[int], budget_bytes: int = TEXT_BUDGET_BYTES) -> int:
    """Return how much of each text a segment takes, so that all of them together keep within the budget.

    Short texts are taken whole and leave their share to longer ones. The result is the highest bound that fits.
    """
    left, bound = budget_bytes, 0
    for position, size_bytes in enumerate(sorted(sizes_bytes)):
        share = left // (len(sizes_bytes) - position)
        if size_bytes > share:
            return share
        left, bound = left - size_bytes, size_bytes
    return max(bound, left)
