"""Which notes a link's target means, of those that are called so; and what lint says of links and observations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memolith.core.graph.grammar import LINKS_TO, Relation
from memolith.core.graph.names import Rank, note_keys, target_key
from memolith.core.graph.note import LINKS_MAX, OBSERVATIONS_MAX, RELATIONS_MAX, Note
from memolith.core.memory_conventions import Remark

CANDIDATES_LISTED = 5


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A note that is called as a target says, and by what."""

    rank: Rank
    path: str
    memory_id: str


def meant(target: str, named: Iterable[Named]) -> list[Named]:
    """Return the notes that a target means, in order of path: those of the most exact rank; several are ambiguous.

    A path that is written exactly means the note at it, whatever else has the same key.
    """
    found = sorted(named)
    if target.startswith("/"):
        found = [one for one in found if one.rank in (Rank.PATH, Rank.FORMER_PATH)]
    exact = [one for one in found if one.path in (f"/{target.lstrip('/')}", f"/{target.lstrip('/')}.md")]
    return exact or [one for one in found if one.rank == found[0].rank]


class Names:
    """The notes of a store, or of a folder, by what they are called."""

    def __init__(self, notes: Mapping[str, Note]) -> None:
        self._named: dict[str, list[Named]] = {}
        for path, note in notes.items():
            for key, rank in note_keys(path, note.title, note.permalink).items():
                self._named.setdefault(key, []).append(Named(rank, path, path))

    def meant(self, target: str) -> list[str]:
        """Return the paths that a target means."""
        return [one.path for one in meant(target, self._named.get(target_key(target), ()))]


def lint(notes: Mapping[str, Note]) -> Iterator[Remark]:
    """Yield what is amiss with the observations and relations of these notes, by path."""
    names = Names(notes)
    for path, note in notes.items():
        if note.too_large:
            bounds = f"{OBSERVATIONS_MAX} observations, {RELATIONS_MAX} relations and {LINKS_MAX:,} links"
            yield Remark(path, 1, "graph-too-large", f"has more than {bounds}; what is beyond is in no graph")
        for one in note.observations:
            if one.category is None:
                yield Remark(path, one.line, "observation-no-category", "an observation begins with [category]")
        for relation in note.relations:
            yield from _remarks(path, relation, names.meant(relation.target))


def _remarks(path: str, relation: Relation, found: list[str]) -> Iterator[Remark]:
    if len(found) > 1:
        listed = ", ".join(found[:CANDIDATES_LISTED]) + (", …" if len(found) > CANDIDATES_LISTED else "")
        yield Remark(path, relation.line, "relation-ambiguous", f"[[{relation.target}]] may mean {listed}")
    elif not found and not (relation.type == LINKS_TO and relation.target.startswith("/")):
        yield Remark(path, relation.line, "relation-unresolved", f"no memory is called [[{relation.target}]]")
