"""Text that should be gone, found by looking at the objects themselves and at no event.

An event may be lost: dead letters expire. What an event should have had erased is then found by the daily comparison of
the bucket with the tables (`memolith.app.replication.compare_listing`), which reads the metadata of every entry anyway:

    void first half of a rename | entry of a deleted store | version whose row is blank | blank whose row has text

The comparison sends such a key to be folded again. The fold reacts as it does to an event, and the eraser checks the
reason itself, so that a key which is sent for nothing changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memolith.app.kernel.batching import batches
from memolith.app.kernel.region import Region, View
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow

ROWS_PER_READ = 100


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """An entry that the comparison met in a log.

    Attributes:
        entry: as its object's metadata has it.
        name: what shows in the tables that it is folded; None for an entry that leaves no row of its own.
    """

    entry: Entry
    name: Named | None

    @property
    def is_void_half(self) -> bool:
        """Whether it is the first half of a rename that was refused."""
        return self.name is None and self.entry.operation is Operation.MOVED_IN


class MissedErasures:
    """Finds entries of one region's bucket that must be folded again so that their text, or their rows' text, goes."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def among(self, view: View, listed: Sequence[ListedEntry], rows: Mapping[RowKey, Attributes]) -> list[str]:
        """Return the keys of those entries. `rows` holds the rows of `versions` that the caller has read of them.

        One read for a hundred stores that have text on the page.

        Raises:
            Unavailable: the index does not answer.
        """
        deleted = self._deleted_stores(view, {one.entry.key.store_id for one in listed if one.entry.path is not None})
        return [str(one.entry.key) for one in listed if _is_unerased(one, rows, deleted)]

    def _deleted_stores(self, view: View, store_ids: set[str]) -> set[str]:
        deleted: set[str] = set()
        for some in batches(sorted(store_ids), ROWS_PER_READ):
            rows = self._region.read(view.index, [StoreRow.key(store_id) for store_id in some])
            deleted |= {key.pk for key, row in rows.items() if row["state"] == StoreState.DELETED}
        return deleted


def _is_unerased(listed: ListedEntry, rows: Mapping[RowKey, Attributes], deleted: set[str]) -> bool:
    entry = listed.entry
    row = rows.get(VersionRow.key(entry.key.store_id, entry.version_id))
    if entry.path is not None:
        return listed.is_void_half or entry.key.store_id in deleted or bool(row is not None and row.get("blank"))
    return entry.blank and row is not None and "path" in row and row.get("position") == str(entry.ref)
