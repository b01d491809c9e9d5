"""Divergent versions: what came late and could not be adopted. They are kept, listed, and somebody decides.

A fail-over leaves behind what the old home had acknowledged and not replicated. Where somebody has written since, such
a version is no part of the memory's history; it stands apart until it is restored, by an ordinary write of its text, or
dismissed, which erases it everywhere as a redaction does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from cairn.app.redacting import Redacting
from cairn.app.region import Region, View, asked
from cairn.app.writing import Writer
from cairn.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory
from cairn.core.errors import InvalidRequest, NotFound, Unavailable
from cairn.core.fold import is_live
from cairn.core.records import Operation, Redaction
from cairn.core.rows import LATE_PREFIX, MemoryRow, StoreRow, VersionRow
from cairn.core.slots import LogKey, LogRef, Slot
from cairn.ports import errors as port_errors
from cairn.ports.index import Query

ROWS_PER_PAGE = 100


class Divergent:
    """The use cases of divergent versions, at the store's home; for operators, whom IAM lets in."""

    def __init__(self, region: Region, writer: Writer, redacting: Redacting) -> None:
        self._region = region
        self._writer = writer
        self._redacting = redacting

    def page(self, store: StoreRow, after: str | None) -> dict[str, Any]:
        """Up to a hundred divergent versions, by id; ``next`` goes on after them. One query. Raises Unavailable."""
        view = self._region.view()
        view.require_complete()
        query = Query("versions", store.store_id, prefix=LATE_PREFIX, after=after, limit=ROWS_PER_PAGE)
        found = asked(partial(view.index.query, query))
        rows = [VersionRow.from_attributes(one.attributes) for one in found]
        further = found[-1].sort_key if len(found) == ROWS_PER_PAGE else None
        return {"versions": [_shown(row) for row in rows if not row.blank], "next": further}

    def show(self, store: StoreRow, version_id: str) -> dict[str, Any]:
        """One of them with its text, and the text that its memory has now. Two reads, two GETs.

        Raises:
            NotFound: there is none of this id. Unavailable.
        """
        view, row = self._find(store, version_id)
        head = self._head(view, row)
        current = None if head is None else self._text(head.store_id, LogRef(head.path_hash, Slot.parse(head.slot)))
        return {**_shown(row), "content": self._content(row), "current_content": current}

    def restore(self, store: StoreRow, version_id: str, actor: str) -> dict[str, Any]:
        """Writes its text as the memory's next version, or as a new memory where that is gone; then it is dismissed.

        Raises:
            NotFound, InvalidRequest, PathConflict, Busy, Unavailable, OutcomeUnknown: it stays as it is.
        """
        view, row = self._find(store, version_id)
        head = self._head(view, row)
        command = self._command(row, head, actor)
        restored: str | None = None
        if command is not None:
            keys = [StoreRow.key(store.store_id), MemoryRow.key(store.store_id, command.memory_id)]
            outcome = self._writer.write(self._region.view(keys), store, command)
            if outcome.error is not None:
                raise outcome.error
            restored = None if outcome.memory is None else outcome.memory.version_id
        return {**self.dismiss(store, version_id, actor), "restored_as": restored}

    def dismiss(self, store: StoreRow, version_id: str, actor: str) -> dict[str, Any]:
        """Erases it in every region, by an order as of a redaction. Repeatable. Raises NotFound, Unavailable."""
        view, row = self._find(store, version_id)
        order = Redaction(store.store_id, version_id, row.position or "", self._region.clock.now_us(), actor)
        self._redacting.give(view, store, order)
        return {"dismissed": version_id}

    def _command(self, row: VersionRow, head: MemoryRow | None, actor: str) -> Command | None:
        store_id, version_id = row.store_id, self._region.new_id("memver")
        if row.operation == Operation.DELETED:
            return None if head is None else DeleteMemory(store_id, head.memory_id, version_id, actor)
        content = self._content(row)
        if head is not None:
            return UpdateMemory(store_id, head.memory_id, version_id, actor, content)
        if row.path is None:
            raise InvalidRequest("version_id", "has no path any more")
        return CreateMemory(store_id, self._region.new_id("mem"), version_id, actor, row.path, content)

    def _find(self, store: StoreRow, version_id: str) -> tuple[View, VersionRow]:
        key = VersionRow.late_key(store.store_id, version_id)
        view = self._region.view([key])
        if key not in view.rows:
            view.require_complete()
            raise NotFound("memory_version", version_id)
        row = VersionRow.from_attributes(view.rows[key])
        if row.blank:
            raise NotFound("memory_version", version_id)
        return view, row

    def _head(self, view: View, row: VersionRow) -> MemoryRow | None:
        key = MemoryRow.key(row.store_id, row.memory_id or "-")
        attributes: Mapping[str, Any] | None = self._region.read(view.index, [key]).get(key)
        head = None if attributes is None else MemoryRow.from_attributes(attributes)
        return head if is_live(head) else None

    def _content(self, row: VersionRow) -> str:
        if row.operation == Operation.DELETED:
            return ""
        return self._text(row.store_id, LogRef.parse(row.position or ""))

    def _text(self, store_id: str, ref: LogRef) -> str:
        try:
            return self._region.objects.get(str(LogKey(store_id, ref.path_hash, ref.slot))).body.decode()
        except port_errors.PortError as error:
            raise Unavailable("the version's text cannot be read now; try again") from error


def _shown(row: VersionRow) -> dict[str, Any]:
    names = ("version_id", "memory_id", "operation", "path", "created_at", "created_by", "content_sha256")
    return {name: getattr(row, name) for name in names}
