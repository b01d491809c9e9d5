"""Keeping the index: an event says that an object is here; the object itself says what is so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cairn.app.folding import Folder, Settled
from cairn.app.keys import Keys
from cairn.app.logs import Logs
from cairn.app.records import Placed, Records
from cairn.app.redacting import erase
from cairn.app.region import Region, View
from cairn.core.errors import Unavailable
from cairn.core.records import ApiKeyRecord, Entry, Operation, Redaction, StoreRecord
from cairn.core.rows import VersionRow
from cairn.core.slots import ApiKeyKey, CutKey, LogKey, RedactionKey, StoreKey, parse_key
from cairn.ports import errors as port_errors

LOCAL_PREFIX = "local/"
"""Objects of this region alone, outside replication: nothing of them is indexed."""


class Malformed(Exception):
    """An object that no version of Cairn made: for the dead-letter queue, with the reason, never retried."""


class Indexing:
    """Folds whatever arrives in this region's bucket."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._logs = Logs(region)
        self._folder = Folder(region)
        self._records = Records(region)
        self._keys = Keys(region)

    def object_arrived(self, key: str) -> None:
        """Folds one object. Repeatable, in any order. One HEAD or GET, an index read, at most one transaction.

        Raises:
            Malformed: it cannot be read, and never will be. Unavailable, OutcomeUnknown: try again later.
        """
        if key.startswith(LOCAL_PREFIX):
            return
        view = self._region.view()
        reactions = self.fold_object(view, key)
        for react in reactions:
            react()

    def fold_object(self, view: View, key: str, journal: bool = True) -> list[Callable[[], None]]:
        """Folds one object into the tables that `view` writes; what is left to do beyond the index comes back."""
        try:
            name = parse_key(key)
            if isinstance(name, LogKey):
                return self._fold_entry(view, name, journal)
            if isinstance(name, CutKey):
                return []
            body = self._body(key)
            if body is None:
                return []
            if isinstance(name, StoreKey):
                self._records.fold(view, Placed(name.slot, StoreRecord.from_json(body)))
            elif isinstance(name, ApiKeyKey):
                self._keys.fold(view, ApiKeyRecord.from_json(body))
            elif isinstance(name, RedactionKey):
                return self._fold_redaction(view, Redaction.from_json(body))
        except ValueError as error:
            raise Malformed(str(error)) from error
        return []

    def direct(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """A peer's or an operator's call: ``{"call": "fold_key", "record": …}`` confirms a key's revocation here.

        Raises:
            ValueError: no such call.
        """
        if payload.get("call") == "fold_key":
            self._keys.fold(self._region.view(), ApiKeyRecord(**payload["record"]))
            return {"region": self._region.name, "confirmed": True}
        raise ValueError("no such call")

    def _fold_entry(self, view: View, key: LogKey, journal: bool) -> list[Callable[[], None]]:
        entry = self._logs.entry(key)
        if entry is None:
            return []
        settled = self._logs.settle(entry)
        self._folder.fold(view, settled, journal=journal)
        if not settled:
            return [lambda: self._ask_for_help(entry)] if entry.operation is Operation.MOVED_IN else []
        if any(one.void and one.entry.has_content for one in settled) or entry.blank or self._redacted(view, settled):
            return [lambda: erase(self._region, str(key))]
        return []

    def _redacted(self, view: View, settled: tuple[Settled, ...]) -> bool:
        """Whether an order for one of these versions came before its text did."""
        keys = [VersionRow.key(one.entry.key.store_id, one.entry.version_id) for one in settled if one.is_version]
        rows = self._region.read(view.index, keys) if keys else {}
        return any(VersionRow.from_attributes(row).redacted_at is not None for row in rows.values())

    def _fold_redaction(self, view: View, order: Redaction) -> list[Callable[[], None]]:
        self._folder.fold_redaction(view, order)
        return [lambda: erase(self._region, str(LogKey(order.store_id, order.ref.path_hash, order.ref.slot)))]

    def _ask_for_help(self, moved_in: Entry) -> None:
        """A rename stopped half-way is finished by its home's writer; in a replica the rest is still to come."""
        if moved_in.slot.epoch.home != self._region.name:
            return
        try:
            self._region.peers.call(self._region.name, "writer", {"call": "help", "key": str(moved_in.key)})
        except port_errors.PortError as error:
            raise Unavailable("the writer cannot finish a rename now; try again") from error

    def _body(self, key: str) -> bytes | None:
        try:
            return self._region.objects.get(key).body
        except port_errors.ObjectNotFound:
            return None
        except port_errors.Unavailable as error:
            raise Unavailable("the bucket does not answer; try again") from error
