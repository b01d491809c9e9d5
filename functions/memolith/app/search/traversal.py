"""The graph of one store as its pack has it: what a target means, and what is reached from a note.

Nothing here is shown yet: the index has the last word on every note (`memolith.app.api.graph`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from memolith.app.search.former_paths import FormerPaths
from memolith.core.graph.grammar import Relation
from memolith.core.graph.names import Rank, note_keys, target_key
from memolith.core.graph.resolution import Named, meant
from memolith.ports.graph import NoteRow
from memolith.ports.packs import Pack

DIRECTIONS = ("out", "in", "both")
EDGES_MAX = 500
"""How many edges one answer has."""

RELATIONS_MAX = 2_000
"""Relations looked at for one ring, in each direction."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation of a note, and the notes that its target means: none yet, one, or several, which is ambiguous."""

    source: str
    relation: Relation
    targets: tuple[Named, ...]

    @property
    def target(self) -> str | None:
        """The memory that it leads to; None where none or several are meant."""
        return self.targets[0].memory_id if len(self.targets) == 1 else None


@dataclass(frozen=True, slots=True)
class Reached:
    """What a traversal found: memories by their distance from the roots, nearest first, and the edges among them."""

    distances: Mapping[str, int]
    edges: tuple[Edge, ...]
    truncated: bool

    @property
    def memory_ids(self) -> list[str]:
        """All notes in it, also those to which an edge leads that were not reached."""
        ends = (one.memory_id for edge in self.edges for one in edge.targets)
        return list(dict.fromkeys((*self.distances, *ends)))

    def cut(self) -> Reached:
        """Leave out edges beyond `EDGES_MAX`, but for each memory keep the first over which it was reached."""
        if len(self.edges) <= EDGES_MAX:
            return self
        over: dict[str, int] = {}
        for place, edge in enumerate(self.edges):
            ends = [end for end in (edge.source, edge.target) if end is not None and end in self.distances]
            if len(ends) == 2 and self.distances[ends[0]] != self.distances[ends[1]]:
                over.setdefault(max(ends, key=self.distances.__getitem__), place)
        kept = set(over.values())
        others = (place for place in range(len(self.edges)) if place not in kept)
        kept |= set(islice(others, max(0, EDGES_MAX - len(kept))))
        return replace(self, edges=tuple(self.edges[place] for place in sorted(kept)), truncated=True)


class Traversal:
    """Looks at one open pack, while it is held. With `former`, a path that a note has left still means the note."""

    def __init__(self, pack: Pack, former: FormerPaths | None = None) -> None:
        self._pack = pack
        self._former = former

    def resolve(self, targets: Iterable[str]) -> Mapping[str, tuple[Named, ...]]:
        """Return the notes that each target means."""
        keys = {target: target_key(target) for target in targets}
        named = self._pack.named(list(keys.values()))
        found = {target: tuple(meant(target, named.get(key, ()))) for target, key in keys.items()}
        lost = [target for target, notes in found.items() if not notes]
        if self._former is not None and lost:
            moved = self._former.followed(lost)
            notes = {one.memory_id: one for one in self._pack.notes(list(moved.values()))}
            found |= {
                target: (Named(Rank.FORMER_PATH, notes[id].path, id),) for target, id in moved.items() if id in notes
            }
        return found

    def reach(self, roots: Sequence[str], depth: int, direction: str, types: frozenset[str], limit: int) -> Reached:
        """Find notes breadth-first, until there are `limit` beside the roots; of a ring those that changed last."""
        distances = dict.fromkeys(roots, 0)
        edges: dict[tuple[str, int, str], Edge] = {}
        ring, truncated = list(roots), False
        for distance in range(1, depth + 1):
            found, more = self._edges(ring, direction, types)
            edges |= {(edge.source, edge.relation.line, edge.relation.target): edge for edge in found}
            ends = {end for edge in found for end in (edge.source, edge.target) if end is not None}
            ring = [one.memory_id for one in _newest(self._pack.notes([id for id in ends if id not in distances]))]
            room = limit + len(roots) - len(distances)
            truncated = truncated or more or len(ring) > room
            ring = ring[: max(0, room)]
            distances |= dict.fromkeys(ring, distance)
            if not ring:
                break
        return Reached(distances, tuple(edges.values()), truncated)

    def _edges(self, memory_ids: Sequence[str], direction: str, types: frozenset[str]) -> tuple[list[Edge], bool]:
        """Return the relations of a ring, and whether it has more than are looked at.

        Those that lead to it are resolved first: some links in all are looked up, and a note may have many that lead
        nowhere.
        """
        edges: list[Edge] = []
        more = False
        if direction in ("in", "both"):
            edges, more = self._incoming(memory_ids, types)
        if direction in ("out", "both"):
            found = self._pack.relations(memory_ids, RELATIONS_MAX + 1, sorted(types))
            edges, more = [*self._resolved(found[:RELATIONS_MAX]), *edges], more or len(found) > RELATIONS_MAX
        return edges, more

    def _incoming(self, memory_ids: Sequence[str], types: frozenset[str]) -> tuple[list[Edge], bool]:
        keys = [key for one in self._pack.notes(memory_ids) for key in note_keys(one.path, one.title, one.permalink)]
        if (
            self._former is not None and len(memory_ids) == 1
        ):  # of the note that is asked about; others cost a query each
            keys += [key for path in self._former.of(memory_ids[0]) for key in note_keys(path, "", None)]
        wanted = frozenset(memory_ids)
        found = self._pack.relations_to(keys, RELATIONS_MAX + 1, sorted(types))
        edges = self._resolved(found[:RELATIONS_MAX])
        leading = [edge for edge in edges if edge.target in wanted and edge.source != edge.target]
        return leading, len(found) > RELATIONS_MAX

    def _resolved(self, relations: Sequence[tuple[str, Relation]]) -> list[Edge]:
        found = self.resolve(dict.fromkeys(relation.target for _, relation in relations))
        return [Edge(source, relation, found[relation.target]) for source, relation in relations]


def _newest(notes: Iterable[NoteRow]) -> list[NoteRow]:
    return sorted(notes, key=lambda one: (-one.updated_at, one.memory_id))
