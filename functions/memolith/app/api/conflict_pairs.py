"""Pairs of statements that a pack finds to contradict each other, before the index has its say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from memolith.app.search.packs import in_one_state
from memolith.app.search.traversal import Traversal
from memolith.core.graph.conflicts import CONTRADICTS, SUPERSEDES, Stated, contradicting
from memolith.core.graph.disputes import DECLARED, VALUES, conflict_id, statement_id
from memolith.core.graph.grammar import Observation, Relation
from memolith.core.graph.valid_time import both
from memolith.ports.graph import ClaimRow, NoteRow
from memolith.ports.packs import Pack

GROUPS_MAX = 200
"""How many groups of statements are looked at, those of the newest notes."""

DECLARED_MAX = 500
"""How many relations are looked at by which notes say that they contradict or supersede another."""

STATEMENTS_MAX = 20
"""How many statements of one group are looked at, those of the newest notes."""

FIRST_PAIRS = 10
"""How many pairs of each group come before all others."""

Statement = Observation | Relation | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, each with its note; None where a note as a whole is meant."""

    kind: str
    sides: tuple[tuple[str, Statement], tuple[str, Statement]]

    @property
    def memory_ids(self) -> tuple[str, str]:
        return self.sides[0][0], self.sides[1][0]


@dataclass(frozen=True, slots=True)
class Pairs:
    """What a pack has found.

    Attributes:
        notes: every note of the pairs, by its id.
        newer: of which note another one says that it supersedes it: pairs of the newer and the older.
        truncated: there may be more pairs.
    """

    items: Sequence[Pair] = ()
    notes: Mapping[str, NoteRow] = field(default_factory=dict)
    newer: Collection[tuple[str, str]] = ()
    truncated: bool = False

    def superseding(self, one: Pair) -> str | None:
        """Return the note that says that it supersedes the other."""
        first, second = one.memory_ids
        return first if (first, second) in self.newer else second if (second, first) in self.newer else None

    def statement_ids(self, salt: bytes, one: Pair) -> tuple[str, str]:
        """Return the ids of both statements, as they stand in the notes."""
        first, second = (statement_id(salt, id, self.notes[id].version_id, said) for id, said in one.sides)
        return first, second

    def id_of(self, salt: bytes, one: Pair) -> str:
        """Return the id of the conflict."""
        return conflict_id(salt, one.kind, self.statement_ids(salt, one))


def pairs_of(pack: Pack, among: Sequence[str] | None = None) -> Pairs:
    """Find pairs of statements that contradict each other; of these memories, if some are given. No call but to the
    pack.
    """
    return in_one_state(pack, partial(_found, among=among))


def _found(pack: Pack, among: Sequence[str] | None) -> Pairs:
    groups = pack.claims_that_differ(GROUPS_MAX + 1, STATEMENTS_MAX + 1, among)
    declared = pack.relations_of_types((*CONTRADICTS, *SUPERSEDES), DECLARED_MAX + 1)
    if not groups and not declared:
        return Pairs()
    more = len(groups) > GROUPS_MAX or len(declared) > DECLARED_MAX
    more = more or any(len(group) > STATEMENTS_MAX for group in groups)
    groups, declared = [group[:STATEMENTS_MAX] for group in groups[:GROUPS_MAX]], declared[:DECLARED_MAX]
    targets = _resolved(pack, [relation for _, relation in declared])
    newer = {
        (source, targets[relation.target])
        for source, relation in declared
        if relation.type in SUPERSEDES and relation.target in targets
    }
    ids = [one.memory_id for group in groups for one in group]
    notes = {one.memory_id: one for one in pack.notes([*ids, *targets.values(), *(id for id, _ in declared)])}
    pairs = [*_declared(declared, targets), *_contradicting(groups, notes)]
    known = [one for one in pairs if all(id in notes for id in one.memory_ids)]
    asked = None if among is None else set(among)
    kept = known if asked is None else [one for one in known if asked & {*one.memory_ids}]
    return Pairs(kept, notes, newer, more)


def _resolved(pack: Pack, relations: Iterable[Relation]) -> dict[str, str]:
    """Return by target the one memory that it means; a name of several means none."""
    found = Traversal(pack).resolve({one.target for one in relations})
    return {target: named[0].memory_id for target, named in found.items() if len(named) == 1}


def _declared(declared: Iterable[tuple[str, Relation]], targets: Mapping[str, str]) -> Iterator[Pair]:
    """Yield what notes say themselves to be contradictory."""
    for source, relation in declared:
        target = targets.get(relation.target)
        if relation.type in CONTRADICTS and target is not None and target != source:
            yield Pair(DECLARED, ((source, relation), (target, None)))


def _contradicting(groups: Iterable[Sequence[ClaimRow]], notes: Mapping[str, NoteRow]) -> list[Pair]:
    """Return statements that contradict each other, each pair once: a note is a subject by several names. The first of
    every group come before the others, so that a large group keeps no other one out of what is bounded.
    """
    seen = set()
    first_pairs: list[Pair] = []
    others: list[Pair] = []
    for group in groups:
        known = [one for one in group if one.memory_id in notes]
        stated = [
            Stated(one.memory_id, one.statement.line, one.value, one.free, _valid(one, notes[one.memory_id]))
            for one in known
        ]
        for number, (first, second) in enumerate(contradicting(stated)):
            one, other = known[first], known[second]
            place = frozenset(((one.memory_id, one.statement.line), (other.memory_id, other.statement.line)))
            if place not in seen:
                seen.add(place)
                pair = Pair(VALUES, ((one.memory_id, one.statement), (other.memory_id, other.statement)))
                (first_pairs if number < FIRST_PAIRS else others).append(pair)
    return [*first_pairs, *others]


def _valid(one: ClaimRow, note: NoteRow) -> tuple[int | None, int | None] | None:
    return both(one.statement.valid if isinstance(one.statement, Observation) else None, note.valid)
