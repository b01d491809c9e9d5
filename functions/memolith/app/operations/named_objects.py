"""Comparing what one checkpoint names with the objects that stand in a region's bucket now."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from memolith.app.kernel.batching import batches
from memolith.app.kernel.port_calls import find, find_head
from memolith.app.kernel.region import Region, View
from memolith.app.operations.flaws import Broken
from memolith.core.audit import Finding, Flaw, State, Stored, state_of
from memolith.core.errors import Damaged
from memolith.core.log_position import LogKey
from memolith.core.object_keys import RedactionKey, StoreKey, parsed_key
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.objects import StoredObject

RawObject = Callable[[str], StoredObject | None]
Stores = dict[str, StoreRow]

AT_ONCE = 16


@dataclass(slots=True)
class Compared:
    """What comparing showed: counts as `AuditReport` has them, flaws, and versions whose flaw is still to be told."""

    looked_at: int = 0
    unsealed: int = 0
    erased: int = 0
    findings: list[Finding] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)


class NamedObjects:
    """Compares objects with their names. `raw` reads what the bucket refuses as damaged, to say what was done to it."""

    def __init__(self, region: Region, raw: RawObject | None = None) -> None:
        self._region = region
        self._raw = raw

    def compare(self, view: View, seen: Compared, period: int, names: Sequence[Named]) -> None:
        """Add what comparing the names of one period shows. A GET of each object, and one read of their stores.

        Raises:
            Unavailable: a port does not answer; what was compared before is added.
        """
        stores = self._stores_of(view, names)
        for some in batches(names, AT_ONCE):
            tasks = [partial(self._look, name, stores) for name in some]
            for name, found in zip(some, self._region.parallel.run(tasks), strict=True):
                self._note(view, seen, period, name, found, stores)

    def stored(self, key: str) -> Stored | None:
        """Return the object in this region's bucket, nothing of it where that is refused."""
        try:
            found = find(self._region.objects, key)
        except Damaged:
            found = None if self._raw is None else self._raw(key)
            if found is None:
                return Stored({}, None)
        return None if found is None else Stored(found.metadata, found.body)

    def _look(self, name: Named, stores: Stores) -> tuple[State, Stored | None]:
        key = parsed_key(name.key)
        stored = self.stored(name.key)
        store = stores.get(key.store_id) if isinstance(key, LogKey) else None
        log_key = key if isinstance(key, LogKey) else None
        return state_of(name, log_key, stored, "" if store is None else store.salt), stored

    def _note(
        self, view: View, seen: Compared, period: int, name: Named, found: tuple[State, Stored | None], stores: Stores
    ) -> None:
        key, (state, stored) = parsed_key(name.key), found
        seen.looked_at += 1
        if state is State.INTACT:
            return
        if state is State.UNSEALED:
            seen.unsealed += 1
            return
        store = stores.get(getattr(key, "store_id", ""))
        if store is not None and store.state == StoreState.DELETED:
            seen.erased += 1
            return
        if not isinstance(key, LogKey):
            flaw = {State.GONE: Flaw.MISSING, State.TEXT: Flaw.ALTERED}.get(state, Flaw.UNREADABLE)
            seen.findings.append(Finding(flaw, name.key, period))
            return
        entry = None
        if stored is not None:
            with suppress(ValueError):
                entry = Entry.from_metadata(key, stored.metadata)
        if state is State.BLANK and entry is not None:
            if self._may_be_blank(view, key, entry):
                seen.erased += 1
            else:
                seen.findings.append(Finding(Flaw.ERASED_WITHOUT_ORDER, name.key, period))
            return
        body = None if stored is None or stored.body is None else hashlib.sha256(stored.body).hexdigest()
        seen.broken.append(Broken(name, key, period, state, entry, body, "" if store is None else store.salt))

    def _may_be_blank(self, view: View, key: LogKey, entry: Entry) -> bool:
        """Tell whether an order, or retention, accounts for a blank: retention never takes the head of a memory."""
        for region in self._region.origins:
            order = str(RedactionKey(region, key.store_id, entry.version_id))
            if find_head(self._region.objects, order) is not None:
                return True
        row_key = MemoryRow.key(key.store_id, entry.memory_id)
        attributes = self._region.read(view.index, [row_key]).get(row_key)
        head = None if attributes is None else MemoryRow.from_attributes(attributes)
        return head is None or head.gone or head.ref.key_in(key.store_id) != key

    def _stores_of(self, view: View, names: Iterable[Named]) -> Stores:
        """Return the records of the names' stores."""
        ids = {
            key.store_id for key in map(parsed_key, (name.key for name in names)) if isinstance(key, LogKey | StoreKey)
        }
        found: Stores = {}
        for some in batches(sorted(ids), 100):
            rows = self._region.read(view.index, [StoreRow.key(store_id) for store_id in some])
            found |= {row["store_id"]: StoreRow.from_attributes(row) for row in rows.values()}
        return found
