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
"""How many links of one answer to paths that a memory has left are followed."""

LOOKED_UP_MAX = 50
"""How many links of one answer to what is no note are looked up, the first ones: most were never paths. Each may name
two paths, and a read takes a hundred rows.
"""

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
        self._left_count = 0

    def of(self, memory_id: str) -> frozenset[str]:
        """Return the paths that a memory has had, and that were not erased. One query, once. Raises Unavailable."""
        if memory_id not in self._known:
            partition = f"{self._access.store.store_id}#{memory_id}"
            query = Query("versions", partition, index=BY_MEMORY.name, limit=VERSIONS_MAX)
            rows = [VersionRow.from_attributes(one.attributes) for one in self._access.view.index.query(query)]
            self._known[memory_id] = frozenset(row.path for row in rows if row.path is not None and not row.blank)
        return self._known[memory_id]

    def followed(self, targets: Iterable[str]) -> Mapping[str, str]:
        """Return, by target, the memory that was last at the path that it names: of the first `LOOKED_UP_MAX` targets
        in all, and of `FOLLOWED_MAX` that name a path that was left.

        One read of rows for all that are new, and for each that has left its path a HEAD and a query.

        Raises:
            Unavailable: index or bucket do not answer.
        """
        room = LOOKED_UP_MAX - len(self._followed)
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
            named = {path: row for path in paths_named(target) if (row := rows.get(keys[path])) is not None}
            vacated = {path: slot for path, row in named.items() if (slot := LogRow.from_attributes(row).vacated)}
            self._left_count += bool(vacated)
            left = (self._last(path, hashes[path], slot) for path, slot in vacated.items())
            found[target] = next((id for id in left if id), None) if self._left_count <= FOLLOWED_MAX else None
        return found

    def _last(self, path: str, hash: str, vacated: str) -> str | None:
        """Return the memory that left a path last, if its versions still say that it was there."""
        entry = self._logs.entry(LogKey(self._access.store.store_id, hash, Slot.parse(vacated)))
        return None if entry is None or path not in self.of(entry.memory_id) else entry.memory_id
