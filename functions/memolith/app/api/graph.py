"""The graph of one store: what is linked with a note, its context, and what notes state.

The pack has the graph; the index has the last word. A note, and every relation and observation of it, is shown only if
its head is the version that the graph was read from, and no verdict withholds its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from memolith.app.api.disputes import Disputes
from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.memories import to_memory
from memolith.app.api.past_packs import PastPacks
from memolith.app.api.past_search import once_more
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.answer_size import Room, bounded, stated
from memolith.app.kernel.graph_results import (
    Dispute,
    GraphAnswer,
    GraphContext,
    GraphEdge,
    GraphNode,
    GraphObservation,
    with_disputes,
)
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Memory, RequestContext
from memolith.app.log.log_reader import LogReader
from memolith.app.search.former_paths import FormerPaths
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import Heads, acknowledged_texts, in_one_state
from memolith.app.search.traversal import Edge, Reached, Traversal
from memolith.core import ids
from memolith.core.errors import InvalidRequest, NotFound
from memolith.core.graph.grammar import Observation
from memolith.core.graph.note import OBSERVATIONS_MAX
from memolith.core.graph.urls import Asked, parse_url
from memolith.core.limits import CONTEXT_PAGE_MAX, GRAPH_MAX_BYTES, LIST_MAX_FULL_BYTES
from memolith.core.rows.content import MemoryRow
from memolith.ports.graph import NoteRow, ObservationFilter
from memolith.ports.packs import Pack

OBSERVATIONS_LOOKED_AT = 5_000
"""How many observations are looked at for the words of a query."""

_MARKED = ["memories", "versions"]


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What a segment has of a note, or of a page of a folder's notes: these `roots`, what is around each of them, and
    what it states. `meant` are the notes that a name means; `more` says that the folder has further ones.
    """

    meant: Sequence[str]
    roots: Sequence[str]
    more: bool
    around: Sequence[Reached]
    notes: Mapping[str, NoteRow]
    observations: Sequence[Sequence[tuple[str, Observation]]]
    contents: Mapping[str, str]


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
        past: PastPacks,
        disputes: Disputes,
    ) -> None:
        self._disputes = disputes
        self._past = past
        self._region = region
        self._logs = logs
        self._authorizer = authorizer
        self._forwarded = reads
        self._pack_cache = pack_cache
        self._heads = heads

    @forwarded("graph")
    @once_more
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
        as_of: int | None = None,
    ) -> GraphAnswer:
        """Return the notes that are linked with one, breadth-first, and the relations among them.

        Args:
            root: a path, a permalink, a title or an id.
            as_of: as it was at this instant; then no link is followed over a rename. Costs `PastPacks.at` besides.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=_MARKED)
        former = self._former(access, as_of)

        def read(pack: Pack) -> tuple[list[str], Reached, dict[str, NoteRow]]:
            traversal = Traversal(pack, former)
            roots = _meant(pack, root, traversal)
            reached = traversal.reach(roots[:1], depth, direction, frozenset(types), limit).cut()
            return roots, reached, _by_id(pack.notes([*roots, *reached.memory_ids]))

        with self._pack(access, as_of) as (pack, was):
            roots, reached, notes = in_one_state(pack, read)
        heads = self._current(access, notes.values(), was, as_of)
        if len(roots) > 1:
            return GraphAnswer((), candidates=_candidates(roots, notes, heads))
        if not roots or roots[0] not in heads:
            raise NotFound("memory", root)
        return bounded(_answer(reached, notes, heads), Room())

    @forwarded("context")
    @once_more
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
        as_of: int | None = None,
    ) -> GraphContext:
        """Return a note, or a page of a folder's notes, each with its content, its observations and what it is linked
        with in either direction. `max_related` notes are related to all of them together.

        Args:
            since: leave out related notes, and of a folder all notes, that were last changed before.
            as_of: as for `reach`.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        try:
            asked = parse_url(url)
        except ValueError as rule:
            raise InvalidRequest("url", str(rule)) from None
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=_MARKED)
        former = self._former(access, as_of)

        def read(pack: Pack) -> _Surroundings:
            traversal = Traversal(pack, former if asked.prefix is None else None)
            meant, roots, more = _asked_for(pack, asked, traversal, since, (page - 1) * page_size, page_size)
            around = _around(pack, roots, depth, max_related, since, traversal)
            notes = _by_id(pack.notes([*meant, *(id for reached in around for id in reached.memory_ids)]))
            observed = [pack.observations(ObservationFilter(memory_ids=[id], limit=OBSERVATIONS_MAX)) for id in roots]
            return _Surroundings(meant, roots, more, around, notes, observed, pack.contents(roots[:CONTEXT_PAGE_MAX]))

        with self._pack(access, as_of) as (pack, was):
            found = in_one_state(pack, read)
        notes = found.notes
        heads = self._current(access, notes.values(), was, as_of)
        contents = acknowledged_texts(found.contents, {id: one.content_sha256 for id, one in heads.items()})
        if len(found.meant) > 1:
            return GraphContext((), _candidates(found.meant, notes, heads))
        room = Room()
        items = [
            bounded(_answer(reached, notes, heads, observed), room)
            for id, reached, observed in zip(found.roots, found.around, found.observations, strict=True)
            if id in heads
        ]
        room.left += LIST_MAX_FULL_BYTES - GRAPH_MAX_BYTES
        items = [_with_content(one, contents, room) for one in items]
        disputes = self._disputed(access, as_of, [node.memory_id for one in items for node in one.nodes])
        return GraphContext(tuple(with_disputes(one, disputes) for one in items), more=found.more)

    @forwarded("observations")
    @once_more
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
        as_of: int | None = None,
    ) -> GraphAnswer:
        """Return what notes state, of the newest notes first, and the notes.

        Args:
            valid_at: only what holds at this instant, as it says itself or its note does; what says nothing does.
            query: only what has all of these words, of the newest `OBSERVATIONS_LOOKED_AT`; `truncated` where there
                are more.
            as_of: as for `reach`: what did we believe at this instant of the time `valid_at`?

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        words = (query or "").casefold().split()
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=_MARKED)

        def read(pack: Pack) -> tuple[list[tuple[str, Observation]], bool, dict[str, NoteRow]]:
            most = OBSERVATIONS_LOOKED_AT + 1 if words else limit + 1
            found = pack.observations(ObservationFilter(category, tag, valid_at, limit=most))
            more = len(found) == most
            if words:
                found = found[:OBSERVATIONS_LOOKED_AT]
                found = [one for one in found if all(word in one[1].text.casefold() for word in words)]
            return found, more, _by_id(pack.notes([id for id, _ in found[: limit + 1]]))

        with self._pack(access, as_of) as (pack, was):
            found, more, notes = in_one_state(pack, read)
        heads = self._current(access, notes.values(), was, as_of)
        shown = [(id, one) for id, one in found[: limit + 1] if id in heads]
        kept = shown[:limit]
        nodes = tuple(node_of(notes[id], heads[id]) for id in dict.fromkeys(id for id, _ in kept))
        answer = GraphAnswer(nodes, observations=_observations(kept), truncated=more or len(found) > limit)
        disputes = self._disputed(access, as_of, [one.memory_id for one in nodes])
        return with_disputes(stated(answer, Room()), disputes)

    def _disputed(
        self, access: StoreAccess, as_of: int | None, memory_ids: Sequence[str]
    ) -> Mapping[str, tuple[Dispute, ...]]:
        """Return what is in dispute now; of the past nothing is said."""
        return {} if as_of is not None else self._disputes.of(access, list(dict.fromkeys(memory_ids)))

    def _former(self, access: StoreAccess, as_of: int | None) -> FormerPaths | None:
        return None if as_of is not None else FormerPaths(self._region, self._logs, access)

    @contextmanager
    def _pack(self, access: StoreAccess, as_of: int | None) -> Iterator[tuple[Pack, Mapping[str, Memory]]]:
        """Yield the pack, as it is or as it was, and what has changed since then."""
        if as_of is not None:
            with self._past.at(access, as_of) as found:
                yield found
            return
        with self._pack_cache.pack(access) as pack:
            yield pack, {}

    def _current(
        self, access: StoreAccess, notes: Iterable[NoteRow], was: Mapping[str, Memory], as_of: int | None
    ) -> dict[str, Memory]:
        """Return the notes that may be shown: at the version that the pack has, and not withheld. What has changed
        since the instant that is asked about was read as it `was`, and is compared with that. Raises ChangedMeanwhile.
        """
        versions = {one.memory_id: one.version_id for one in notes}
        unchanged = [id for id in versions if id not in was]
        rows = self._heads.of(access.view, access.store, unchanged) if unchanged else {}
        found = {id: to_memory(row) for id, row in rows.items()} | {id: was[id] for id in versions if id in was}
        shown = {id: memory for id, memory in found.items() if memory.version_id == versions[id]}
        if as_of is not None:
            self._past.check_unchanged(access, [id for id in unchanged if id not in shown], as_of)
        return shown


def _meant(pack: Pack, root: str, traversal: Traversal) -> list[str]:
    """Return the memories that a path, a permalink, a title or an id means."""
    if ids.MEMORY.fullmatch(root):
        return [one.memory_id for one in pack.notes([root])]
    return [one.memory_id for one in traversal.resolve([root])[root]]


def _asked_for(
    pack: Pack, asked: Asked, traversal: Traversal, since: int | None, skip: int, most: int
) -> tuple[list[str], list[str], bool]:
    """Return what a name means, the roots of this page, and whether there are more."""
    if asked.prefix is None:
        meant = _meant(pack, asked.target, traversal)
        return meant, meant[skip : skip + most] if len(meant) == 1 else [], False
    listed = [one.memory_id for one in pack.newest_notes(skip + most + 1, asked.prefix) if _is_new(one, since)]
    return [], listed[skip : skip + most], len(listed) > skip + most


def _is_new(note: NoteRow, since: int | None) -> bool:
    return since is None or note.updated_at >= since


def _around(
    pack: Pack, roots: Sequence[str], depth: int, most: int, since: int | None, traversal: Traversal
) -> list[Reached]:
    """Return what is around each root, `most` notes in all, of those that are new enough."""
    found = []
    for root in roots:
        reached = traversal.reach([root], depth, "both", frozenset(), most).cut()
        notes = _by_id(pack.notes(list(reached.distances)))
        new = {id for id, note in notes.items() if _is_new(note, since)}
        kept = {id: far for id, far in reached.distances.items() if not far or id in new}
        most -= len(kept) - 1
        found.append(replace(reached, distances=kept))
    return found


def _answer(
    reached: Reached,
    notes: Mapping[str, NoteRow],
    heads: Mapping[str, Memory],
    found: Sequence[tuple[str, Observation]] = (),
) -> GraphAnswer:
    """Keep what may be shown: notes that are current and still linked with a root, and relations among these."""
    edges = [one for one in reached.edges if one.source in heads and one.source in reached.distances]
    linked = _linked({id for id, far in reached.distances.items() if not far} & heads.keys(), edges, heads)
    nodes = tuple(node_of(notes[id], heads[id], far) for id, far in reached.distances.items() if id in linked)
    shown = tuple(_edge(one, notes, heads) for one in edges if one.source in linked)
    return GraphAnswer(
        nodes, shown, _observations([one for one in found if one[0] in linked]), truncated=reached.truncated
    )


def _linked(roots: set[str], edges: Sequence[Edge], heads: Mapping[str, Memory]) -> set[str]:
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


def _paths(memory_ids: Iterable[str], notes: Mapping[str, NoteRow], heads: Mapping[str, Memory]) -> tuple[str, ...]:
    return tuple(sorted(notes[id].path for id in memory_ids if id in heads))


def _candidates(
    memory_ids: Iterable[str], notes: Mapping[str, NoteRow], heads: Mapping[str, Memory]
) -> tuple[str, ...]:
    """Return the paths of all that a name means, as many as one answer takes."""
    return Room().take(_paths(memory_ids, notes, heads), lambda path: len(path.encode()))


def _edge(edge: Edge, notes: Mapping[str, NoteRow], heads: Mapping[str, Memory]) -> GraphEdge:
    relation, target = edge.relation, edge.target
    several = _paths([one.memory_id for one in edge.targets], notes, heads) if len(edge.targets) > 1 else ()
    shown = target if target in heads else None
    return GraphEdge(edge.source, relation.line, relation.type, relation.target, relation.context, shown, several)


def node_of(note: NoteRow, head: Memory | MemoryRow, distance: int = 0, content: str | None = None) -> GraphNode:
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


def _with_content(answer: GraphAnswer, contents: Mapping[str, str], room: Room) -> GraphAnswer:
    """Return the answer with its root's content, if there is room for it."""
    root = answer.nodes[0]
    kept = room.take([contents[root.memory_id]] if root.memory_id in contents else [], lambda text: len(text.encode()))
    return replace(answer, nodes=(replace(root, content=kept[0] if kept else None), *answer.nodes[1:]))
