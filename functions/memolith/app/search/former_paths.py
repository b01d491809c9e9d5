"""Links that follow a rename: which memory was last at a path where none is now, and where a memory was before.

The pack knows present paths only. What was, the versions say; a path that was erased from them leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memolith.app.auth.authorizer import StoreAccess
from memolith.app.kernel.region import Region
from memolith.app.log.log_reader import LogReader
from memolith.core.graph.names import paths_named
from memolith.core.log_position import LogKey, Slot
from memolith.core.paths import path_hash
from memolith.core.rows.content import LogRow, VersionRow
from memolith.core.tables import BY_MEMORY
from memolith.ports.index import Query

FOLLOWED_MAX = 10
"""How many links of one answer are followed over renames."""

VERSIONS_MAX = 200
"""How many of a memory's versions are looked at for its former paths, the first ones."""


class FormerPaths:
    """What a region's index and bucket know of former paths of one store, for one call."""

    def __init__(self, region: Region, logs: LogReader, access: StoreAccess) -> None:
        self._region = region
        self._logs = logs
        self._access = access
        self._known: dict[str, frozenset[str]] = {}
        self._followed: dict[str, str | None] = {}

    def of(self, memory_id: str) -> frozenset[str]:
        """Return the paths that a memory has had, and that were not erased. One query, once. Raises Unavailable."""
        if memory_id not in self._known:
            partition = f"{self._access.store.store_id}#{memory_id}"
            query = Query("versions", partition, index=BY_MEMORY.name, limit=VERSIONS_MAX)
            rows = [VersionRow.from_attributes(one.attributes) for one in self._access.view.index.query(query)]
            self._known[memory_id] = frozenset(row.path for row in rows if row.path is not None and not row.blank)
        return self._known[memory_id]

    def followed(self, targets: Iterable[str]) -> Mapping[str, str]:
        """Return, by target, the memory that was last at the path that it names; `FOLLOWED_MAX` targets in all.

        One read of rows for all that are new, and for each that has left its path a HEAD and a query.

        Raises:
            Unavailable: index or bucket do not answer.
        """
        room = FOLLOWED_MAX - len(self._followed)
        new = [target for target in dict.fromkeys(targets) if target not in self._followed][: max(room, 0)]
        self._followed |= self._left(new)
        return {target: id for target in targets if (id := self._followed.get(target)) is not None}

    def _left(self, targets: Sequence[str]) -> dict[str, str | None]:
        store = self._access.store
        salt = bytes.fromhex(store.salt)
        hashes = {path: path_hash(salt, path) for target in targets for path in paths_named(target)}
        if not hashes:
            return dict.fromkeys(targets)
        keys = {path: LogRow.key(store.store_id, hash) for path, hash in hashes.items()}
        rows = self._region.read(self._access.view.index, list(keys.values()))
        found: dict[str, str | None] = {}
        for target in targets:
            left = (self._last(path, hashes[path], rows.get(keys[path])) for path in paths_named(target))
            found[target] = next((id for id in left if id is not None), None)
        return found

    def _last(self, path: str, hash: str, attributes: Mapping[str, object] | None) -> str | None:
        """Return the memory that left a path last, if its versions still say that it was there."""
        row = None if attributes is None else LogRow.from_attributes(attributes)
        if row is None or row.vacated is None:
            return None
        entry = self._logs.entry(LogKey(self._access.store.store_id, hash, Slot.parse(row.vacated)))
        return None if entry is None or path not in self.of(entry.memory_id) else entry.memory_id
