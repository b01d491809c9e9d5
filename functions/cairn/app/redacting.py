"""Redaction: an order that is an object like any other, and the erasing that it asks for.

The order is put at the store's home and replicates; each region's index stops showing the text when it folds the
order, and each region's eraser blanks the object and deletes its older S3 versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cairn.app.access import Door, Scope
from cairn.app.answers import Call, Version
from cairn.app.folding import Folder
from cairn.app.logs import Logs
from cairn.app.passing import Passing
from cairn.app.region import Region, View
from cairn.app.second_region import SecondRegion
from cairn.app.versions import to_version
from cairn.app.writing import Writer
from cairn.core import ids
from cairn.core.checkpoint import Named
from cairn.core.errors import InvalidRequest, NotFound, OutcomeUnknown, Unavailable
from cairn.core.fold import is_live
from cairn.core.records import Redaction
from cairn.core.rows import MemoryRow, StoreRow, VersionRow
from cairn.core.slots import RedactionKey
from cairn.ports import errors as port_errors


class Redacting:
    """Orders redactions, at home and for callers anywhere."""

    def __init__(self, region: Region, door: Door, writer: Writer, passing: Passing) -> None:
        self._region = region
        self._door = door
        self._writer = writer
        self._passing = passing
        self._folder = Folder(region)
        self._second = SecondRegion(region, Logs(region))

    def redact(self, call: Call, store_id: str, version_id: str) -> Version:
        """Blanks one version for good; redacting it again changes nothing. The head of a live memory is refused.

        Raises:
            InvalidRequest, NotFound, Unavailable, OutcomeUnknown; Unauthenticated, PermissionDenied.
        """
        if ids.VERSION.fullmatch(version_id) is None:
            raise NotFound("memory_version", version_id)
        access = self._door.enter_store(call, Scope.admin, store_id)
        request = {"store_id": store_id, "version_id": version_id, "actor": access.actor}
        store, answer = self._passing.reach(access.view, access.store, {"call": "redact", **request})
        if answer is None:
            return to_version(self.redact_at_home(store, request))
        row = VersionRow.from_attributes(answer["version"])
        self._folder.fold_redaction(access.view, self._order(row), unseen=True)
        return to_version(row)

    def redact_at_home(self, store: StoreRow, request: Mapping[str, Any]) -> VersionRow:
        """Puts the order, folds it, has it erased here. Two index reads, a HEAD, a PUT, and the eraser's own calls."""
        view = self._region.view([VersionRow.key(store.store_id, request["version_id"])])
        row = self._version(view, store.store_id, request["version_id"])
        if row.redacted_at is None:
            self._refuse_head(view, store, row)
        position = row.position or ""
        order = Redaction(
            store.store_id, row.version_id, position, self._region.clock.now_us(), row.redacted_by or request["actor"]
        )
        if row.redacted_at is None:
            order = self.give(view, store, order)
        erase(self._region, str(order.ref.key_in(store.store_id)))
        return self._version(
            self._region.view([VersionRow.key(store.store_id, row.version_id)]), store.store_id, row.version_id
        )

    def give(self, view: View, store: StoreRow, order: Redaction) -> Redaction:
        """Puts an order at the store's home and folds it; the one that stands, which may have been there first.

        Raises:
            Unavailable, OutcomeUnknown.
        """
        order = self._put(order)
        key = RedactionKey(self._region.name, order.store_id, order.version_id)
        self._second.keep(store, str(key))
        self._folder.fold_redaction(view, order, Named(str(key)), own=True)
        return order

    def _version(self, view: View, store_id: str, version_id: str) -> VersionRow:
        attributes = view.rows.get(VersionRow.key(store_id, version_id))
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        if row is None or row.memory_id is None or row.position is None:
            self._region.require_whole(view, "versions")
            raise NotFound("memory_version", version_id)
        return row

    def _refuse_head(self, view: View, store: StoreRow, row: VersionRow) -> None:
        """Raises InvalidRequest for the head of a live memory, once the log has nothing newer."""
        key = MemoryRow.key(store.store_id, row.memory_id or "")
        for _ in range(2):
            attributes = self._region.read(view.index, [key]).get(key)
            head = None if attributes is None else MemoryRow.from_attributes(attributes)
            if head is None or head.version_id != row.version_id or not is_live(head):
                return
            if not self._writer.refresh(view, store, head):
                break
        raise InvalidRequest(
            "memory_version_id", "the current version of a live memory cannot be redacted; write a new one first"
        )

    def _put(self, order: Redaction) -> Redaction:
        """The order that stands: this one, or the one that was there first."""
        key = str(RedactionKey(self._region.name, order.store_id, order.version_id))
        try:
            self._region.objects.put_if_absent(key, order.to_json(), {})
            return order
        except port_errors.ObjectExists:
            return self._standing(key)
        except port_errors.Unavailable as error:
            raise Unavailable("the bucket refuses writes now; try again") from error
        except port_errors.PortError as error:
            raise OutcomeUnknown("the order may have been written; read the version before trying again") from error

    def _standing(self, key: str) -> Redaction:
        try:
            return Redaction.from_json(self._region.objects.get(key).body)
        except port_errors.PortError as error:
            raise Unavailable("the order stands, but cannot be read now; repeat the call") from error

    def _order(self, row: VersionRow) -> Redaction:
        return Redaction(row.store_id, row.version_id, row.position or "", row.redacted_at or 0, row.redacted_by or "")


def erase(region: Region, key: str) -> bool:
    """Has this region's eraser look at an object; whether it found a reason to erase it, which it decides for itself.

    Raises:
        Unavailable: not erased yet; the order stands, and its event brings the eraser again.
    """
    return bool(ask_eraser(region, {"call": "erase", "key": key})["erased"])


def ask_eraser(region: Region, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """This region's eraser's answer.

    Raises:
        Unavailable: it gave none; what it was asked for stands, and its event asks again.
    """
    try:
        return region.peers.call(region.name, "eraser", payload)
    except port_errors.PortError as error:
        raise Unavailable("the order stands, but the text is not erased yet; repeat the call") from error


def answer(row: VersionRow) -> dict[str, Any]:
    """The redacted version as JSON, for the region where the call landed."""
    return {"version": {name: value for name, value in asdict(row).items() if value is not None}}
