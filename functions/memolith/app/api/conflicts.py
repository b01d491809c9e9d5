"""Conflicts: statements of a store that contradict each other, with both sides. No machine resolves them.

As in `memolith.app.api.graph`, the pack finds, and the index has the last word: a statement is shown only if its note's
head is the version that it was read from, and no verdict withholds the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from memolith.app.api.conflict_pairs import Pair, Pairs, Statement, pairs_of
from memolith.app.api.disputes import ROWS_PER_READ, decisions, salt_of
from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.graph import node_of, observation_of
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.answer_size import Room, conflict
from memolith.app.kernel.batching import batches
from memolith.app.kernel.conflict_results import Conflict, Conflicts, Side, to_resolution
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import Heads
from memolith.core.graph.grammar import Observation, Relation
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.resolutions import ResolutionRow


class ConflictList:
    """The use case of conflicts. Costs what `PackCache.pack` does, and the reads that confirm what is shown: one for a
    hundred notes, their verdicts, and their versions, for who wrote them; and one for a hundred decisions.
    """

    def __init__(
        self, region: Region, authorizer: Authorizer, reads: ForwardedReads, pack_cache: PackCache, heads: Heads
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._forwarded = reads
        self._pack_cache = pack_cache
        self._heads = heads

    @forwarded("conflicts")
    def page(
        self,
        call: RequestContext,
        store_id: str,
        *,
        path_prefix: str | None,
        superseded: bool,
        limit: int,
        resolved: bool = False,
    ) -> Conflicts:
        """List pairs of statements that contradict each other, those of the notes changed last first.

        Args:
            path_prefix: only where one side is in this folder.
            superseded: those alone of which one note says that it supersedes the other.
            resolved: those alone that a person has decided. Without either, all that are open.

        Raises:
            NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=["memories", "versions"])
        with self._pack_cache.pack(access) as pack:
            pairs = pairs_of(pack)
        asked = [
            one
            for one in pairs.items
            if _is_below(one, pairs, path_prefix) and (resolved or (pairs.superseding(one) is not None) == superseded)
        ]
        asked.sort(key=lambda one: -max(pairs.notes[id].updated_at for id in one.memory_ids))
        ids = list(dict.fromkeys(id for one in asked for id in one.memory_ids))
        rows = self._heads.of(access.view, access.store, ids) if ids else {}
        heads = {id: row for id, row in rows.items() if row.version_id == pairs.notes[id].version_id}
        current = [one for one in asked if all(id in heads for id in one.memory_ids)]
        salt, decided, listed = salt_of(access), dict[str, ResolutionRow](), list[Pair]()
        for some in batches(current, ROWS_PER_READ):
            decided |= decisions(self._region, access, pairs, some)
            listed += [one for one in some if (pairs.id_of(salt, one) in decided) == resolved]
            if len(listed) > limit:
                break
        found = self._views(access, pairs, listed[:limit], heads, decided)
        fit = Room().take(found, conflict)
        return Conflicts(fit, pairs.truncated or len(listed) > limit or len(fit) < len(found))

    def _views(
        self,
        access: StoreAccess,
        pairs: Pairs,
        listed: Sequence[Pair],
        heads: dict[str, MemoryRow],
        decided: dict[str, ResolutionRow],
    ) -> list[Conflict]:
        salt = salt_of(access)
        authors = self._authors(access, {heads[id].version_id or "" for one in listed for id in one.memory_ids})

        def side(id: str, statement: Statement, statement_id: str) -> Side:
            head = heads[id]
            relation = statement if isinstance(statement, Relation) else None
            return Side(
                memory=node_of(pairs.notes[id], head),
                version_id=head.version_id or "",
                written_by=authors.get(head.version_id or ""),
                observation=observation_of(id, statement) if isinstance(statement, Observation) else None,
                line=None if statement is None else statement.line,
                relation=None if relation is None else (relation.type, relation.target),
                statement_id=statement_id,
            )

        found = []
        for one in listed:
            first, second = zip(one.sides, pairs.statement_ids(salt, one), strict=True)
            sides = (side(*first[0], first[1]), side(*second[0], second[1]))
            conflict_id = pairs.id_of(salt, one)
            row = decided.get(conflict_id)
            resolution = None if row is None else to_resolution(row.record)
            found.append(Conflict(one.kind, sides, pairs.superseding(one), conflict_id, resolution))
        return found

    def _authors(self, access: StoreAccess, version_ids: set[str]) -> dict[str, str]:
        keys = {VersionRow.key(access.store.store_id, id): id for id in sorted(version_ids)}
        found: dict[str, str] = {}
        for some in batches(list(keys), ROWS_PER_READ):
            rows = self._region.read(access.view.index, some)
            found |= {keys[key]: str(row["created_by"]) for key, row in rows.items() if row.get("created_by")}
        return found


def _is_below(one: Pair, pairs: Pairs, prefix: str | None) -> bool:
    return prefix is None or any(pairs.notes[id].path.startswith(prefix) for id in one.memory_ids)
