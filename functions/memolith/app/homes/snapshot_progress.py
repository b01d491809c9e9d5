"""What a survey of a large store has read, kept between two calls: a store is surveyed in as many calls as it takes.

A slot once taken stays taken, so that what was read of it can be used by every later survey of the same store. What is
kept says what stands in a slot and whose it is; no path and no hash of a text. It stands in the control table, where a
rebuild leaves it alone, and goes once the survey was used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.port_calls import commit_as_owner
from memolith.app.kernel.region import Region
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogKey, LogRef
from memolith.core.objects.entry import Entry, Operation
from memolith.core.rows.base import Row, RowKey
from memolith.ports.index import Change, Query

ENTRIES_PER_PART = 500
"""At most 240,000 bytes: a row may have 400,000."""

PARTS_PER_QUERY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow(Row):
    """Some of what was read of one store, as a list of lists in JSON.

    `parents`: of each entry the version before it, as a list in JSON; None where an earlier release kept the part,
    which does not tell then what follows what. An attribute of its own, so that such a release can still read the row.
    """

    entries: str
    parents: str | None = None

    @staticmethod
    def partition(store_id: str) -> str:
        return f"survey#{store_id}"


class SnapshotProgress:
    """Keeps what surveys in one region have read. Raises Unavailable where the control table does not answer."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def load(self, store_id: str) -> dict[LogKey, Entry]:
        """Load everything that is kept of a store. A query for some two thousand entries, and one at least.

        Leaves out what an earlier release kept: it is read again.
        """
        found: dict[LogKey, Entry] = {}
        for _, row in self._parts(store_id):
            if row.parents is not None:
                found |= {entry.key: entry for entry in _decoded(store_id, row.entries, row.parents)}
        return found

    def keep(self, store_id: str, entries: Sequence[Entry]) -> None:
        """Keep these too. A write for each five hundred; a repetition does no harm."""
        for start in range(0, len(entries), ENTRIES_PER_PART):
            key = RowKey("control", PartRow.partition(store_id), self._region.new_id("part"))
            part = entries[start : start + ENTRIES_PER_PART]
            row = PartRow(entries=_json(map(_to_list, part)), parents=_json(entry.parent_version_id for entry in part))
            self._commit(Change(key, None, row.to_attributes(), unconditional=True))

    def forget(self, store_id: str) -> None:
        """Remove everything that is kept of a store. A query, and a write for each part."""
        for key, _ in self._parts(store_id):
            self._commit(Change(key, None, None, unconditional=True))

    def _parts(self, store_id: str) -> Iterator[tuple[RowKey, PartRow]]:
        query = Query("control", PartRow.partition(store_id), limit=PARTS_PER_QUERY)
        for page in row_pages(self._region.index, query):
            for found in page:
                yield found.key, PartRow.from_attributes(found.attributes)

    def _commit(self, change: Change) -> None:
        if not commit_as_owner(self._region.index, [change]):
            raise Unavailable("a part of a survey stayed contended; try again")


def _json(items: Iterable[object]) -> str:
    return json.dumps(list(items), separators=(",", ":"))


def _to_list(entry: Entry) -> list[str | int | None]:
    refs = [None if ref is None else str(ref) for ref in (entry.source, entry.destination)]
    names: list[str | int | None] = [entry.operation.value, entry.version_id, entry.memory_id, entry.generation]
    return [str(entry.ref), *names, *refs, entry.moved_version_id]


def _decoded(store_id: str, entries: str, parents: str) -> Iterator[Entry]:
    for kept, parent_version_id in zip(json.loads(entries), json.loads(parents), strict=True):
        at, operation, version_id, memory_id, generation, source, destination, moved_version_id = kept
        ref = LogRef.parse(at)
        yield Entry(
            key=ref.key_in(store_id),
            operation=Operation(operation),
            version_id=version_id,
            memory_id=memory_id,
            generation=generation,
            parent_version_id=parent_version_id,
            source=None if source is None else LogRef.parse(source),
            destination=None if destination is None else LogRef.parse(destination),
            moved_version_id=moved_version_id,
        )
