"""Conflicts: statements of a store that contradict each other, with both sides. No machine resolves them.

As in `memolith.app.api.graph`, the pack finds, and the index has the last word: a statement is shown only if its note's
head is the version that it was read from, and no verdict withholds the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.graph import node_of, observation_of
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.answer_size import Room, conflict
from memolith.app.kernel.conflict_results import Conflict, Conflicts, Side
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import Heads
from memolith.app.search.traversal import Traversal
from memolith.core.graph.conflicts import CONTRADICTS, SUPERSEDES, Stated, contradicting
from memolith.core.graph.grammar import Observation, Relation
from memolith.core.graph.valid_time import both
from memolith.core.rows.content import VersionRow
from memolith.ports.graph import ClaimRow, NoteRow
from memolith.ports.packs import Pack

GROUPS_MAX = 200
"""How many groups of statements are looked at, those of the newest notes."""

DECLARED_MAX = 500
"""How many relations are looked at by which notes say that they contradict or supersede another."""

PAIRS_MAX = 10
"""Of one group."""

AUTHORS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two statements, each with its note; None where a note as a whole is meant."""

    kind: str
    sides: tuple[tuple[str, Observation | Relation | None], tuple[str, Observation | Relation | None]]

    @property
    def memory_ids(self) -> tuple[str, str]:
        return self.sides[0][0], self.sides[1][0]


class ConflictList:
    """The use case of conflicts. Costs what `PackCache.pack` does, and the reads that confirm what is shown: one for a
    hundred notes, their verdicts, and their versions, for who wrote them.
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
        self, call: RequestContext, store_id: str, *, path_prefix: str | None, superseded: bool, limit: int
    ) -> Conflicts:
        """List pairs of statements that contradict each other, those of the notes changed last first.

        Args:
            path_prefix: only where one side is in this folder.
            superseded: those alone of which one note says that it supersedes the other; otherwise all others.

        Raises:
            NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=["memories", "versions"])
        with self._pack_cache.pack(access) as pack:
            groups = pack.claims_that_differ(GROUPS_MAX + 1)
            declared = pack.relations_of_types((*CONTRADICTS, *SUPERSEDES), DECLARED_MAX)
            targets = _resolved(pack, [relation for _, relation in declared])
            newer = {
                (source, targets[relation.target])
                for source, relation in declared
                if relation.type in SUPERSEDES and relation.target in targets
            }
            ids = [one.memory_id for group in groups for one in group]
            notes = {one.memory_id: one for one in pack.notes([*ids, *targets.values(), *(id for id, _ in declared)])}
            pairs = [*_declared(declared, targets), *_contradicting(groups[:GROUPS_MAX], notes)]
        pairs = [
            one
            for one in pairs
            if bool(newer & {one.memory_ids, one.memory_ids[::-1]}) == superseded and _is_below(one, notes, path_prefix)
        ]
        pairs.sort(key=lambda one: -max(notes[id].updated_at for id in one.memory_ids))
        return self._confirmed(access, pairs, notes, newer, limit, truncated=len(groups) > GROUPS_MAX)

    def _confirmed(
        self,
        access: StoreAccess,
        pairs: Sequence[_Pair],
        notes: Mapping[str, NoteRow],
        newer: set[tuple[str, str]],
        limit: int,
        *,
        truncated: bool,
    ) -> Conflicts:
        """Return the pairs of which both sides may be shown."""
        ids = list(dict.fromkeys(id for one in pairs for id in one.memory_ids))
        rows = self._heads.of(access.view, access.store, ids) if ids else {}
        heads = {id: row for id, row in rows.items() if row.version_id == notes[id].version_id}
        shown = [one for one in pairs if all(id in heads for id in one.memory_ids)]
        kept = shown[:limit]
        authors = self._authors(access, {heads[id].version_id or "" for one in kept for id in one.memory_ids})

        def side(id: str, statement: Observation | Relation | None) -> Side:
            head = heads[id]
            relation = statement if isinstance(statement, Relation) else None
            return Side(
                memory=node_of(notes[id], head),
                version_id=head.version_id or "",
                written_by=authors.get(head.version_id or ""),
                observation=observation_of(id, statement) if isinstance(statement, Observation) else None,
                line=None if statement is None else statement.line,
                relation=None if relation is None else (relation.type, relation.target),
            )

        found = [
            Conflict(one.kind, (side(*one.sides[0]), side(*one.sides[1])), _superseding(one, newer)) for one in kept
        ]
        fit = Room().take(found, conflict)
        return Conflicts(fit, truncated or len(shown) > limit or len(fit) < len(found))

    def _authors(self, access: StoreAccess, version_ids: set[str]) -> dict[str, str]:
        keys = {VersionRow.key(access.store.store_id, id): id for id in sorted(version_ids)}
        found: dict[str, str] = {}
        for start in range(0, len(keys), AUTHORS_AT_ONCE):
            rows = self._region.read(access.view.index, list(keys)[start : start + AUTHORS_AT_ONCE])
            found |= {keys[key]: str(row["created_by"]) for key, row in rows.items() if row.get("created_by")}
        return found


def _resolved(pack: Pack, relations: Iterable[Relation]) -> dict[str, str]:
    """Return by target the one memory that it means; a name of several means none."""
    found = Traversal(pack).resolve({one.target for one in relations})
    return {target: named[0].memory_id for target, named in found.items() if len(named) == 1}


def _declared(declared: Iterable[tuple[str, Relation]], targets: Mapping[str, str]) -> Iterator[_Pair]:
    """Yield what notes say themselves to be contradictory."""
    for source, relation in declared:
        target = targets.get(relation.target)
        if relation.type in CONTRADICTS and target is not None and target != source:
            yield _Pair("declared", ((source, relation), (target, None)))


def _contradicting(groups: Iterable[Sequence[ClaimRow]], notes: Mapping[str, NoteRow]) -> Iterator[_Pair]:
    """Yield statements that contradict each other, each pair once: a note is a subject by several names."""
    seen = set()
    for group in groups:
        known = [one for one in group if one.memory_id in notes]
        stated = [
            Stated(one.memory_id, one.statement.line, one.value, one.free, _valid(one, notes[one.memory_id]))
            for one in known
        ]
        for number, (first, second) in enumerate(contradicting(stated)):
            one, other = known[first], known[second]
            place = frozenset(((one.memory_id, one.statement.line), (other.memory_id, other.statement.line)))
            if number < PAIRS_MAX and place not in seen:
                seen.add(place)
                yield _Pair("values", ((one.memory_id, one.statement), (other.memory_id, other.statement)))


def _valid(one: ClaimRow, note: NoteRow) -> tuple[int | None, int | None] | None:
    return both(one.statement.valid if isinstance(one.statement, Observation) else None, note.valid)


def _is_below(one: _Pair, notes: Mapping[str, NoteRow], prefix: str | None) -> bool:
    return all(id in notes for id in one.memory_ids) and (
        prefix is None or any(notes[id].path.startswith(prefix) for id in one.memory_ids)
    )


def _superseding(one: _Pair, newer: set[tuple[str, str]]) -> str | None:
    """Return the note that says that it supersedes the other."""
    first, second = one.memory_ids
    return first if (first, second) in newer else second if (second, first) in newer else None
