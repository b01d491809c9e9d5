"""Which entries of a store's log its rows show: read once, so that an entry in order costs no look at its object.

    the rows of the store's versions -> position and size of each -> beside each listed key and its size

An entry's key names its position, and so does its version's row. Where they agree, and the bytes that the listing tells
are those that the row tells, nothing is missing, and no text is there that should be gone. A blank has no bytes, as an
empty text has none, and all deletions have equally many: their sizes tell nothing, so that each of them is looked at on
one day in `TURNS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.region import Region, View
from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Operation, body_without_text
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.base import Attributes
from memolith.core.rows.content import UNSEEN_ENTRY
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Query

HELD_MAX = 500_000
"""Positions in memory at once, some 250 bytes each. Of a store with more, as many paths as fit, and then the next."""

ROWS_MAX = 5_000_000
"""Rows of one store that are read at a time: what one invocation has time for. What lies beyond is looked at."""

ROWS_PER_PAGE = 1_000
TURNS = 28
DAY_US = 24 * 3600 * 1_000_000

_DELETION = -1
"""In place of a size: that of a deletion, blank or not. Its row tells no size, and `blank` is not asked for."""
_LOOK = -3
"""In place of a size: look at the object whatever size it has. Of two rows at one position the lesser counts."""

DELETION_BYTES = len(body_without_text(Operation.DELETED, f"memver_{'0' * 26}"))
"""Of a deletion that is not blank: every version's id is of the same length."""


class _Reach(NamedTuple):
    """Which part of which log is in memory: positions of this home from `since` on, up to and without `until`."""

    home: str
    store_id: str
    since: str
    until: str | None

    def covers(self, key: LogKey, position: str) -> bool:
        """Tell whether an entry that has no row in memory has none at all."""
        is_log = (self.home, self.store_id) == (key.slot.epoch.home, key.store_id)
        return is_log and position >= self.since and (self.until is None or position < self.until)


class VersionPositions:
    """The positions that the rows of one generation show, a store of one home at a time, for keys in listed order."""

    def __init__(self, region: Region, view: View, held_max: int = HELD_MAX, rows_max: int = ROWS_MAX) -> None:
        self._region = region
        self._view = view
        self._held_max = held_max
        self._rows_max = rows_max
        self._reach: _Reach | None = None
        self._sizes: dict[str, int] = {}
        day = region.clock.now_us() // DAY_US
        self._turn = day % TURNS

    def differing(self, entries: Sequence[tuple[LogKey, int]]) -> list[LogKey]:
        """Return those entries, of keys in listed order with the sizes of their bodies, that have to be looked at.

        Of each store that is not in memory a read, and a query for a thousand of its versions; as often again for each
        `held_max` of them.

        Raises:
            Unavailable: the index does not answer.
        """
        return [key for key, size_bytes in entries if not self._is_in_order(key, size_bytes)]

    def _is_in_order(self, key: LogKey, size_bytes: int) -> bool:
        position = f"{key.path_hash}/{key.slot}"
        if self._reach is None or not self._reach.covers(key, position):
            self._load(key, position)
        size = self._sizes.get(position, _LOOK)
        is_as_listed = size_bytes in ((0, DELETION_BYTES) if size == _DELETION else (size,))
        has_text = size_bytes > 0 and size != _DELETION
        return is_as_listed and (has_text or int(key.path_hash[:8], 16) % TURNS != self._turn)

    def _load(self, key: LogKey, since: str) -> None:
        """Read the store's rows, and keep those of the key's home from its position on."""
        home, until, seen = f".{key.slot.epoch.home}.", None, 0
        self._reach, self._sizes = None, {}
        sizes: dict[str, int] = {}
        store_key = StoreRow.key(key.store_id)
        store = self._region.read(self._view.index, [store_key]).get(store_key)
        is_deleted = store is not None and store["state"] == StoreState.DELETED
        only = (*_ATTRIBUTES, "blank") if is_deleted else _ATTRIBUTES
        query = Query("versions", key.store_id, limit=ROWS_PER_PAGE, only=only)
        for page in row_pages(self._view.index, query):
            for found in page:
                position, size_bytes = _in_row(found.attributes, is_deleted)
                if home in position and position >= since and (until is None or position < until):
                    sizes[position] = min(size_bytes, sizes.get(position, size_bytes))
            if len(sizes) > self._held_max:
                until = sorted(sizes)[len(sizes) // 2]
                sizes = {position: size for position, size in sizes.items() if position < until}
            seen += len(page)
            if seen >= self._rows_max:
                break
        self._reach = _Reach(key.slot.epoch.home, key.store_id, since, until)
        self._sizes = sizes


_ATTRIBUTES = ("position", "content_size_bytes", "redacted_at", "unseen", "operation")
"""Each of which costs time for every row: where a store is not deleted, nothing is asked of `blank`."""


def _in_row(row: Attributes, is_deleted: bool) -> tuple[str, int]:
    """Return the position that a version's row tells, and the size of its object's body; `_LOOK` where a look tells.

    So it is with what was redacted, and with text in the rows of a store that is deleted. An order that came before
    its version has a row without a position.
    """
    is_text_over = is_deleted and not row.get("blank", False)
    if is_text_over or "redacted_at" in row or UNSEEN_ENTRY in row.get("unseen", ()):
        return row.get("position", ""), _LOOK
    is_deletion = row.get("operation") == Operation.DELETED and not is_deleted  # there it is known whether it is blank
    return row.get("position", ""), _DELETION if is_deletion else row.get("content_size_bytes", 0)
