"""The graph of one store: what is linked with a note, its context, and what notes state.

The pack has the graph; the index has the last word. A note, and every relation and observation of it, is shown only if
its head is the version that the graph was read from, and no verdict withholds its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.graph_results import GraphAnswer, GraphContext, GraphEdge, GraphNode, GraphObservation
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext
from memolith.app.log.log_reader import LogReader
from memolith.app.search.former_paths import FormerPaths
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import Heads, whole_texts
from memolith.app.search.traversal import Edge, Reached, Traversal
from memolith.core import ids
from memolith.core.errors import InvalidRequest, NotFound
from memolith.core.graph.grammar import Observation
from memolith.core.graph.urls import parse_url
from memolith.core.limits import CONTEXT_PAGE_MAX, LIST_MAX_FULL_BYTES
from memolith.core.rows.content import MemoryRow
from memolith.ports.graph import NoteRow, ObservationFilter
from memolith.ports.packs import Pack

OBSERVATIONS_LOOKED_AT = 5_000
"""How many observations are looked at for the words of a query."""

_MARKED = ["memories", "versions"]


class Graph:
    """The use cases of the graph. Each costs what `PackCache.pack` does, and the reads that confirm what is shown: one
    for a hundred notes, and their verdicts; of the note that is asked about, a query for its former paths; and for each
    link to a path where nothing is, `FormerPaths.followed`.
    """

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        reads: ForwardedReads,
        pack_cache: PackCache,
        heads: Heads,
        logs: LogReader,
    ) -> None:
        self._region = region
        self._logs = logs
        self._authorizer = authorizer
        self._forwarded = reads
        self._pack_cache = pack_cache
        self._heads = heads

    @forwarded("graph")
    def reach(
        self,
        call: RequestContext,
        store_id: str,
        *,
        root: str,
        direction: str,
        depth: int,
        types: Sequence[str],
        limit: int,
    ) -> GraphAnswer:
        """Return the notes that are linked with one, breadth-first, and the relations among them.

        Args:
            root: a path, a permalink, a title or an id.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=_MARKED)
        former = FormerPaths(self._region, self._logs, access)
        with self._pack_cache.pack(access) as pack:
            traversal = Traversal(pack, former)
            roots = _meant(pack, root, traversal)
            reached = traversal.reach(roots[:1], depth, direction, frozenset(types), limit)
            notes = _by_id(pack.notes([*roots, *reached.memory_ids]))
        heads = self._current(access, notes.values())
        if len(roots) > 1:
            return GraphAnswer((), candidates=_paths(roots, notes, heads))
        if not roots or roots[0] not in heads:
            raise NotFound("memory", root)
        return _answer(reached, notes, heads)

    @forwarded("context")
    def context(
        self,
        call: RequestContext,
        store_id: str,
        *,
        url: str,
        depth: int,
        since: int | None,
        page: int,
        page_size: int,
        max_related: int,
    ) -> GraphContext:
        """Return a note, or a page of a folder's notes, each with its content, its observations and what it is linked
        with in either direction. `max_related` notes are related to all of them together.

        Args:
            since: leave out related notes, and of a folder all notes, that were last changed before.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        try:
            asked = parse_url(url)
        except ValueError as rule:
            raise InvalidRequest("url", str(rule)) from None
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=_MARKED)
        former = FormerPaths(self._region, self._logs, access)
        with self._pack_cache.pack(access) as pack:
            traversal = Traversal(pack, former)
            skip, more = (page - 1) * page_size, False
            if asked.prefix is None:
                meant = _meant(pack, asked.target, traversal)
                roots = meant[skip : skip + page_size] if len(meant) == 1 else []
            else:
                meant = []
                listed = [one for one in pack.newest_notes(skip + page_size + 1, asked.prefix) if _is_new(one, since)]
                more = len(listed) > skip + page_size
                roots = [one.memory_id for one in listed[skip : skip + page_size]]
            around = _around(
                pack, roots, depth, max_related, since, traversal if asked.prefix is None else Traversal(pack)
            )
            notes = _by_id(pack.notes([*meant, *(id for reached in around for id in reached.memory_ids)]))
            stated = [pack.observations(ObservationFilter(memory_ids=[id])) for id in roots]
            contents = pack.contents(roots[:CONTEXT_PAGE_MAX])
        heads = self._current(access, notes.values())
        if len(meant) > 1:
            return GraphContext((), _paths(meant, notes, heads))
        contents = _within_budget(whole_texts(contents, heads.values()))
        items = [
            _answer(reached, notes, heads, found, contents)
            for id, reached, found in zip(roots, around, stated, strict=True)
            if id in heads
        ]
        return GraphContext(tuple(items), more=more)

    @forwarded("observations")
    def observations(
        self,
        call: RequestContext,
        store_id: str,
        *,
        category: str | None,
        tag: str | None,
        valid_at: int | None,
        query: str | None,
        limit: int,
    ) -> GraphAnswer:
        """Return what notes state, of the newest notes first, and the notes.

        Args:
            valid_at: only what holds at this instant, as it says itself or its note does; what says nothing does.
            query: only what has all of these words.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        words = (query or "").casefold().split()
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=_MARKED)
        with self._pack_cache.pack(access) as pack:
            most = OBSERVATIONS_LOOKED_AT if words else limit + 1
            found = pack.observations(ObservationFilter(category, tag, valid_at, limit=most))
            if words:
                found = [one for one in found if all(word in one[1].text.casefold() for word in words)]
            notes = _by_id(pack.notes([id for id, _ in found[: limit + 1]]))
        heads = self._current(access, notes.values())
        shown = [(id, one) for id, one in found[: limit + 1] if id in heads]
        kept = shown[:limit]
        nodes = tuple(node_of(notes[id], heads[id]) for id in dict.fromkeys(id for id, _ in kept))
        return GraphAnswer(nodes, observations=_observations(kept), truncated=len(found) > limit)

    def _current(self, access: StoreAccess, notes: Iterable[NoteRow]) -> dict[str, MemoryRow]:
        """Return the heads of the notes that may be shown: at the version that the pack has, and not withheld."""
        versions = {one.memory_id: one.version_id for one in notes}
        rows = self._heads.of(access.view, access.store, list(versions)) if versions else {}
        return {id: row for id, row in rows.items() if row.version_id == versions[id]}


def _meant(pack: Pack, root: str, traversal: Traversal) -> list[str]:
    """Return the memories that a path, a permalink, a title or an id means."""
    if ids.MEMORY.fullmatch(root):
        return [one.memory_id for one in pack.notes([root])]
    return [one.memory_id for one in traversal.resolve([root])[root]]


def _is_new(note: NoteRow, since: int | None) -> bool:
    return since is None or note.updated_at >= since


def _around(
    pack: Pack, roots: Sequence[str], depth: int, most: int, since: int | None, traversal: Traversal
) -> list[Reached]:
    """Return what is around each root, `most` notes in all, of those that are new enough."""
    found = []
    for root in roots:
        reached = traversal.reach([root], depth, "both", frozenset(), most)
        notes = _by_id(pack.notes(list(reached.distances)))
        kept = {id: far for id, far in reached.distances.items() if not far or _is_new(notes[id], since)}
        most -= len(kept) - 1
        found.append(replace(reached, distances=kept))
    return found


def _answer(
    reached: Reached,
    notes: Mapping[str, NoteRow],
    heads: Mapping[str, MemoryRow],
    stated: Sequence[tuple[str, Observation]] = (),
    contents: Mapping[str, str] | None = None,
) -> GraphAnswer:
    """Keep what may be shown: notes that are current and still linked with a root, and relations among these."""
    edges = [one for one in reached.edges if one.source in heads and one.source in reached.distances]
    linked = _linked({id for id, far in reached.distances.items() if not far} & heads.keys(), edges, heads)
    nodes = tuple(
        node_of(notes[id], heads[id], far, (contents or {}).get(id))
        for id, far in reached.distances.items()
        if id in linked
    )
    shown = tuple(_edge(one, notes, heads) for one in edges if one.source in linked)
    return GraphAnswer(
        nodes, shown, _observations([one for one in stated if one[0] in linked]), truncated=reached.truncated
    )


def _linked(roots: set[str], edges: Sequence[Edge], heads: Mapping[str, MemoryRow]) -> set[str]:
    """Return what is reached from the roots over notes that may be shown."""
    beside: dict[str, set[str]] = {}
    for edge in edges:
        if edge.target is not None and edge.target in heads:
            beside.setdefault(edge.source, set()).add(edge.target)
            beside.setdefault(edge.target, set()).add(edge.source)
    found, ring = set(roots), set(roots)
    while ring:
        ring = {other for id in ring for other in beside.get(id, ())} - found
        found |= ring
    return found


def _paths(memory_ids: Iterable[str], notes: Mapping[str, NoteRow], heads: Mapping[str, MemoryRow]) -> tuple[str, ...]:
    return tuple(sorted(notes[id].path for id in memory_ids if id in heads))


def _edge(edge: Edge, notes: Mapping[str, NoteRow], heads: Mapping[str, MemoryRow]) -> GraphEdge:
    relation, target = edge.relation, edge.target
    several = _paths([one.memory_id for one in edge.targets], notes, heads) if len(edge.targets) > 1 else ()
    shown = target if target in heads else None
    return GraphEdge(edge.source, relation.line, relation.type, relation.target, relation.context, shown, several)


def node_of(note: NoteRow, head: MemoryRow, distance: int = 0, content: str | None = None) -> GraphNode:
    """Return a note as an answer shows it, with its head's flags and trust class."""
    return GraphNode(
        note.memory_id, note.path, note.title, note.type, note.permalink, note.tags, note.created_at, note.updated_at,
        distance, tuple(head.flags or ()), content, trust=head.trust, valid=note.valid,
    )  # fmt: skip


def _observations(found: Iterable[tuple[str, Observation]]) -> tuple[GraphObservation, ...]:
    return tuple(observation_of(id, one) for id, one in found)


def observation_of(memory_id: str, one: Observation) -> GraphObservation:
    """Return a note's observation as an answer shows it."""
    return GraphObservation(memory_id, one.line, one.category, one.text, one.tags, one.context, one.valid)


def _by_id(notes: Iterable[NoteRow]) -> dict[str, NoteRow]:
    return {one.memory_id: one for one in notes}


def _within_budget(contents: Mapping[str, str]) -> dict[str, str]:
    """Return as many contents as one answer may take."""
    left = LIST_MAX_FULL_BYTES
    kept = {}
    for id, content in contents.items():
        size = len(content.encode())
        if size <= left:
            kept[id] = content
            left -= size
    return kept
