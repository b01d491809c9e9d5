"""Repairing damaged texts: each version's object beside its row, and a whole copy put in the place of a damaged one.

    a page of a store's rows -> this region's objects -> for a damaged one: the other regions' copies, the home's first
    -> older S3 versions of the key -> the text in the store's pack -> that copy is put over it

The rows say what was acknowledged, so that a copy counts as whole only if it is that. Only the eraser may put something
over an object; afterwards it looks, as after any put, whether the version is to be erased, so that a repair beside an
erasure brings nothing back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from memolith.app.erasure.eraser import Eraser
from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import next_store
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.copy import put_copy
from memolith.app.log.verified_reads import copy_at
from memolith.core.errors import Damaged, NotFound, Unavailable
from memolith.core.integrity import Acknowledged, Damage, damage_of
from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Entry
from memolith.core.objects.search_pack import PackKey
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.ports import errors as port_errors
from memolith.ports.index import Query
from memolith.ports.objects import ErasableObjects, StoredObject
from memolith.ports.packs import DamagedPack, Packs

ROWS_PER_PAGE = 100
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class DamagedObject:
    """One damaged object of a region: `outcome` is ``repaired``, ``damaged`` (only looked), or ``no whole copy``."""

    key: str
    version_id: str
    damage: Damage
    outcome: str


@dataclass(frozen=True, slots=True)
class RepairPage:
    """One step: how many versions were looked at, what was damaged, and where the next step begins; None at the end."""

    looked_at: int
    damaged: tuple[DamagedObject, ...]
    next: tuple[str, str] | None


class Repair:
    """Looks at the texts of one region's bucket, and repairs them. `packs` opens the store's pack."""

    def __init__(self, region: Region, erasable: ErasableObjects, eraser: Eraser, packs: Packs) -> None:
        self._region = region
        self._erasable = erasable
        self._eraser = eraser
        self._packs = packs

    def page(self, store_id: str | None, at: tuple[str, str] | None, look_only: bool) -> RepairPage:
        """Look at a hundred versions, and repair what is damaged unless `look_only`. Repeatable.

        A query, and a GET for each version; for a damaged one a GET in each other region until one is whole, a LIST of
        its versions, and what an erasure costs.

        Args:
            store_id: of this store alone; None: of every store that this region knows.
            at: the `next` of the page before.

        Raises:
            NotFound: this region does not have that store, or it is being erased.
            Unavailable: a port does not answer, or the index is incomplete; repeat it.
        """
        view = self._region.view()
        view.require_complete()
        store, after = at or (store_id or self._store_after(""), "")
        if not store:
            return RepairPage(0, (), None)
        found = view.index.query(Query("versions", store, after=after or None, limit=ROWS_PER_PAGE))
        record = self._region.read(view.index, [StoreRow.key(store)]).get(StoreRow.key(store))
        live = record is not None and record["state"] != StoreState.DELETED
        if store_id is not None and at is None and not live:
            raise NotFound("memory_store", store_id)
        rows = [VersionRow.from_attributes(one.attributes) for one in found] if live else []
        rows = [row for row in rows if row.position is not None and row.content_sha256 is not None]
        damaged: list[DamagedObject] = []
        for some in batches(rows, AT_ONCE):
            seen = self._region.parallel.run([partial(self._look, row, look_only) for row in some])
            damaged += [one for one in seen if one is not None]
        if live and len(found) == ROWS_PER_PAGE:
            return RepairPage(len(rows), tuple(damaged), (store, found[-1].sort_key))
        following = self._store_after(store) if store_id is None else ""
        return RepairPage(len(rows), tuple(damaged), (following, "") if following else None)

    def _store_after(self, store_id: str) -> str:
        """Return the id of the next store, in order of ids; an empty text at the end. A LIST for each region."""
        found = [next_store(self._region.objects, home, store_id) for home in self._region.regions]
        return min((key.store_id for key in found if key is not None), default="")

    # ---- one version --------------------------------------------------------------------------------------------

    def _look(self, row: VersionRow, look_only: bool) -> DamagedObject | None:
        key = row.ref.key_in(row.store_id)
        acknowledged = Acknowledged(row.content_sha256 or "", row.version_id)
        own, damage = copy_at(self._region, key, acknowledged, self._region.name)
        if damage is None:
            return None
        self._region.metrics.count("objects_damaged")
        if look_only:
            return DamagedObject(str(key), row.version_id, damage, "damaged")
        whole = next(self._whole_copies(key, acknowledged, own), None)
        if whole is None:
            return DamagedObject(str(key), row.version_id, damage, "no whole copy")
        self._put(whole)
        self._eraser.erase(str(key))
        self._region.metrics.count("objects_repaired")
        return DamagedObject(str(key), row.version_id, damage, "repaired")

    def _whole_copies(
        self, key: LogKey, acknowledged: Acknowledged, own: StoredObject | None
    ) -> Iterator[StoredObject]:
        """Yield copies that are what was acknowledged, none of them a blank, those of other regions first."""
        for at in dict.fromkeys((key.slot.epoch.home, *self._region.regions)):
            if at != self._region.name:
                with suppress(Unavailable):
                    found, damage = copy_at(self._region, key, acknowledged, at)
                    if found is not None and damage is None and not _is_blank(key, found):
                        yield found
        yield from (one for one in self._older(key) if _is_whole(key, one, acknowledged))
        if own is not None:
            for body in self._packed(key.store_id, acknowledged):
                found = replace(own, body=body, size_bytes=len(body))
                if _is_whole(key, found, acknowledged):
                    yield found

    def _older(self, key: LogKey) -> Iterator[StoredObject]:
        """Yield the older S3 versions of the key, the newest first."""
        page = self._erasable.versions(str(key))
        for version in page.versions:
            if version.key == str(key) and not version.current:
                with suppress(port_errors.ObjectNotFound, Damaged):
                    yield self._erasable.read_version(version.key, version.version_id)

    def _packed(self, store_id: str, acknowledged: Acknowledged) -> Iterator[bytes]:
        """Yield the text of that hash that the store's newest pack has, if it has it."""
        keys: Sequence[str] = self._region.objects.list(PackKey.prefix(store_id)).keys
        with suppress(Damaged, DamagedPack):
            stored = find(self._region.objects, keys[-1]) if keys else None
            if stored is None:
                return
            pack = self._packs.open(stored.body)
            try:
                texts = [text.encode() for text in pack.contents(list(pack.heads())).values()]
            finally:
                pack.close()
            yield from (text for text in texts if hashlib.sha256(text).hexdigest() == acknowledged.content_sha256)

    def _put(self, whole: StoredObject) -> None:
        """Put the copy over the damaged object, whose versions are deleted; or where the object is missing."""
        try:
            self._erasable.erase(whole.key, whole.body, whole.metadata)
        except port_errors.ObjectNotFound:
            put_copy(self._region, whole)


def _is_blank(key: LogKey, found: StoredObject) -> bool:
    return Entry.from_metadata(key, found.metadata).blank


def _is_whole(key: LogKey, found: StoredObject, acknowledged: Acknowledged) -> bool:
    return damage_of(key, found.metadata, found.body, acknowledged) is None and not _is_blank(key, found)
