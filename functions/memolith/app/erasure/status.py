"""How far the erasure of a version, a memory or a whole store is in one region, as its bucket and tables have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from memolith.app.erasure.store_purge import StorePurge
from memolith.app.index.parts import IndexParts
from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.region import Region, View
from memolith.core import ids
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.objects.search_pack import PackKey
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import LATE_PREFIX, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.tables import BY_MEMORY
from memolith.ports import errors as port_errors
from memolith.ports.index import Query
from memolith.ports.objects import ErasableObjects
from memolith.ports.packs import DamagedPack, Packs

ROWS_PER_PAGE = 200
PACKS_PER_CALL = 200


@dataclass(slots=True)
class VersionStates:
    """How many versions are in which state.

    Attributes:
        kept: no caller asked for their erasure, and retention keeps them.
        pending: an order stands, or the store is deleted, and text is still here.
        erased: the object is blank and has no older S3 version, and the row has no text.
        unknown: their objects are not here.
    """

    kept: int = 0
    pending: int = 0
    erased: int = 0
    unknown: int = 0


class ErasureStatus:
    """Looks at what one region still has of a version, a memory or a store, for an operator."""

    def __init__(
        self, region: Region, erasable: ErasableObjects, stores: StorePurge, packs: Packs, parts: IndexParts
    ) -> None:
        self._region = region
        self._erasable = erasable
        self._stores = stores
        self._packs = packs
        self._logs = parts.logs
        self._records = parts.store_log

    def status(self, store_id: str, id: str) -> dict[str, Any]:
        """Report how far the erasure of a version, memory or whole store (`id` is then the store's own) is here.

        For each version of it, a divergent one too, a HEAD, a LIST and an index read, and a GET for the store's
        segment; for a memory a query for two hundred of its versions, and of all divergent ones of the store; a whole
        store is answered from its progress alone.

        Raises:
            InvalidRequest: an id of another kind. Unavailable.
        """
        if id == store_id:
            return self._status_of_store(store_id)
        view = self._region.view()
        deleted = self._records.deletion(store_id) is not None
        if ids.VERSION.fullmatch(id) is not None:
            found = self._copies_of(view, store_id, id)
        elif ids.MEMORY.fullmatch(id) is not None:
            found = dict(self._versions_of(view, store_id, id))
        else:
            raise InvalidRequest("id", "must be of a memory_version, a memory, or the store")
        states = VersionStates()
        packed = self._packed(store_id)
        tasks = [partial(self._state, view, key, row, deleted, packed) for key, row in found.items()]
        for state in self._region.parallel.run(tasks):
            setattr(states, state, getattr(states, state) + 1)
        ordered = sum(row.redacted_at is not None for row in found.values())
        return {"state": _overall(states), "ordered": ordered, "deleted": deleted, **asdict(states)}

    def _status_of_store(self, store_id: str) -> dict[str, Any]:
        deleted = self._records.deletion(store_id) is not None
        work = self._stores.progress(store_id)
        known = StoreRow.key(store_id) in self._region.view([StoreRow.key(store_id)]).rows
        newest = None if deleted else self._records.newest(store_id)
        if newest is not None and newest.record.erase_after is not None:
            return {"state": "waiting", "deleted": True, "erase_after": newest.record.erase_after}
        if not deleted:
            return {"state": "kept" if known else "unknown", "deleted": False}
        state = "erased" if work is not None and work.done_at is not None else "pending"
        progress = None if work is None else work.to_attributes()
        return {"state": state, "deleted": True, "progress": progress}

    def _copies_of(self, view: View, store_id: str, version_id: str) -> dict[RowKey, VersionRow]:
        """Return the version's rows, in the history and as a divergent one; of a divergent one, the history's may have
        an order to redact it and no more, which is left out.
        """
        keys = [VersionRow.key(store_id, version_id), VersionRow.late_key(store_id, version_id)]
        rows = {key: VersionRow.from_attributes(row) for key, row in self._region.read(view.index, keys).items()}
        return {key: row for key, row in rows.items() if row.position is not None} or rows

    def _versions_of(self, view: View, store_id: str, memory_id: str) -> Iterator[tuple[RowKey, VersionRow]]:
        """Yield a memory's versions, those of its history and those that are divergent, which stand in no order."""
        history = Query("versions", f"{store_id}#{memory_id}", index=BY_MEMORY.name, limit=ROWS_PER_PAGE)
        for row in rows_of(view.index, history, VersionRow):
            yield VersionRow.key(store_id, row.version_id), row
        divergent = Query("versions", store_id, prefix=LATE_PREFIX, limit=ROWS_PER_PAGE)
        for row in rows_of(view.index, divergent, VersionRow):
            if row.memory_id == memory_id:
                yield VersionRow.late_key(store_id, row.version_id), row

    def _state(self, view: View, row_key: RowKey, row: VersionRow, deleted: bool, packed: frozenset[str]) -> str:
        wanted = deleted or row.redacted_at is not None or row.blank
        if row.position is None:
            return "unknown"
        key = row.ref.key_in(row.store_id)
        entry = self._logs.entry(key)
        if entry is None:
            return "unknown"
        versions = [one for one in self._erasable.versions(str(key)).versions if one.key == str(key)]
        shown = "path" in self._region.read(view.index, [row_key]).get(row_key, {})
        if entry.blank and len(versions) == 1 and not shown and row.version_id not in packed:
            return "erased"
        return "pending" if wanted or entry.blank else "kept"

    def _packed(self, store_id: str) -> frozenset[str]:
        """Return every version that any segment has. A LIST, and a GET for each segment. Raises Unavailable."""
        found: set[str] = set()
        page = self._erasable.versions(PackKey.prefix(store_id), None, PACKS_PER_CALL)
        for version in page.versions:
            try:
                stored = self._erasable.read_version(version.key, version.version_id)
            except port_errors.ObjectNotFound as error:
                raise Unavailable(
                    "a pack was removed while it was looked at", object=version.key, hint="try again"
                ) from error
            try:
                pack = self._packs.open(stored.body)
            except DamagedPack:
                continue
            try:
                found.update(pack.heads().values())
            finally:
                pack.close()
        return frozenset(found)


def _overall(states: VersionStates) -> str:
    """Return the word for a region: what is least done of it."""
    if states.pending:
        return "pending"
    if states.erased and not states.kept:
        return "erased"
    return "kept" if states.kept else "unknown"
