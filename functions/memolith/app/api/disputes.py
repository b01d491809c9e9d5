"""Which statements of memories that are about to be shown are in dispute: open conflicts, by memory.

Nothing is hidden or ranked lower for it. What a person has resolved, or a memory supersedes, is in dispute no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from memolith.app.api.conflict_pairs import Pair, Pairs, pairs_of
from memolith.app.auth.authorizer import StoreAccess
from memolith.app.kernel.batching import batches
from memolith.app.kernel.graph_results import Dispute
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Hit
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import Heads
from memolith.core.rows.resolutions import ResolutionRow

ROWS_PER_READ = 100
MARKED_MAX = 2_000
"""How many conflicts one answer names, so that it can be sent: some 70 bytes for each side."""


def decisions(region: Region, access: StoreAccess, pairs: Pairs, some: Sequence[Pair]) -> dict[str, ResolutionRow]:
    """Return what this region knows to be decided about conflicts, by their ids. One index read for a hundred."""
    store, found = access.store, {}
    ids = dict.fromkeys(pairs.id_of(salt_of(access), one) for one in some)
    for part in batches([ResolutionRow.key(store.store_id, id) for id in ids], ROWS_PER_READ):
        for attributes in region.read(access.view.index, part).values():
            row = ResolutionRow.from_attributes(attributes)
            found[row.conflict_id] = row
    return found


def salt_of(access: StoreAccess) -> bytes:
    """Return the salt of a store, with which the ids of its conflicts are made."""
    return bytes.fromhex(access.store.salt)


class Disputes:
    """Finds open conflicts of memories."""

    def __init__(self, region: Region, pack_cache: PackCache, heads: Heads) -> None:
        self._region = region
        self._pack_cache = pack_cache
        self._heads = heads

    def of(self, access: StoreAccess, memory_ids: Sequence[str]) -> dict[str, tuple[Dispute, ...]]:
        """Return the disputes of these memories, those of which both sides may be shown; without those that have none.

        No call where the pack, as it was last brought up to now, has no conflict of them; else an index read for the
        heads of both sides, one for their verdicts, and one for the decisions.

        Raises:
            Unavailable.
        """
        if not memory_ids:
            return {}
        with self._pack_cache.held(access) as pack:
            pairs = pairs_of(pack, memory_ids)
        pending = [one for one in pairs.items if pairs.superseding(one) is None]
        if not pending:
            return {}
        ids = list(dict.fromkeys(id for one in pending for id in one.memory_ids))
        rows = self._heads.of(access.view, access.store, ids)
        current = {id for id, row in rows.items() if row.version_id == pairs.notes[id].version_id}
        pending = [one for one in pending if current.issuperset(one.memory_ids)]
        found: dict[str, dict[Dispute, None]] = {}
        for conflict_id, one in islice(self._open(access, pairs, pending), MARKED_MAX):
            for memory_id, said in one.sides:
                line = None if said is None else said.line
                found.setdefault(memory_id, {})[Dispute(conflict_id, line)] = None
        return {id: tuple(found[id]) for id in memory_ids if id in found}

    def _open(self, access: StoreAccess, pairs: Pairs, pending: Sequence[Pair]) -> Iterator[tuple[str, Pair]]:
        """Yield what no person has decided, with the conflict's id."""
        salt = salt_of(access)
        for some in batches(pending, ROWS_PER_READ):
            decided = decisions(self._region, access, pairs, some)
            for one in some:
                if (conflict_id := pairs.id_of(salt, one)) not in decided:
                    yield conflict_id, one

    def marked(self, accesses: Sequence[StoreAccess], hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return what a search of these stores has found, with the disputes of each. Costs `of` for each store."""
        found: dict[tuple[str, str], tuple[Dispute, ...]] = {}
        for access in accesses:
            store_id = access.store.store_id
            some = self.of(access, [one.memory.id for one in hits if one.memory.store_id == store_id])
            found |= {(store_id, id): disputes for id, disputes in some.items()}
        return tuple(replace(one, disputed=found.get((one.memory.store_id, one.memory.id), ())) for one in hits)
