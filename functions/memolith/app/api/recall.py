"""Recalling: the few memories of a store that matter for what an agent is about to do, possibly none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.graph import node_of
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.kernel.graph_results import GraphAnswer, GraphNode
from memolith.app.kernel.results import RequestContext
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import Heads, whole_texts
from memolith.app.search.retrieval import retrieve
from memolith.app.search.traversal import Traversal
from memolith.core.errors import InvalidRequest
from memolith.core.limits import SEARCH_QUERY_MAX_CHARS
from memolith.core.rows.content import MemoryRow
from memolith.core.search import analysis
from memolith.core.search.selection import Coverage, coverage, is_known_tool, is_recallable, suffices
from memolith.ports.clock import Clock
from memolith.ports.graph import NoteRow
from memolith.ports.packs import Pack, Packs

FOUND_MAX = 20
"""How many of what a search finds are looked at."""

LINKED_MAX = 20
CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory that may be recalled, and the id of the one that it is linked with, if that is why."""

    found: Coverage
    linked_with: str | None = None

    @property
    def memory_ids(self) -> list[str]:
        """All that it takes to be shown: what only a withheld memory leads to is not recalled either."""
        return [self.found.memory_id] if self.linked_with is None else [self.found.memory_id, self.linked_with]


class Recall:
    """The use case of recalling. Costs what a search does, without excerpts."""

    def __init__(
        self,
        authorizer: Authorizer,
        reads: ForwardedReads,
        pack_cache: PackCache,
        packs: Packs,
        heads: Heads,
        clock: Clock,
    ) -> None:
        self._authorizer = authorizer
        self._forwarded = reads
        self._pack_cache = pack_cache
        self._packs = packs
        self._heads = heads
        self._clock = clock

    @forwarded("recall")
    def recall(
        self,
        call: RequestContext,
        store_id: str,
        *,
        query: str,
        recent_tools: Sequence[str],
        loaded: Sequence[str],
        limit: int,
        max_tokens: int,
    ) -> GraphAnswer:
        """Return at most `limit` memories, the best first, each with why; none where nothing matters enough.

        Args:
            recent_tools: tools in use; references about them are left out unless they hold a caution.
            loaded: ids of memories that the caller has already; left out.
            max_tokens: what the contents may take together, counted as four characters each; a memory whose content
                does not fit has none.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        if not query.strip():
            raise InvalidRequest("query", "must not be empty")
        if len(query) > SEARCH_QUERY_MAX_CHARS:
            raise InvalidRequest("query", f"must be at most {SEARCH_QUERY_MAX_CHARS} characters")
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=["memories", "versions"])
        with self._pack_cache.pack(access) as pack:
            candidates = list(self._candidates(pack, query, frozenset(loaded)))
            ids = list(dict.fromkeys(id for one in candidates for id in one.memory_ids))
            notes = {one.memory_id: one for one in pack.notes(ids)}
            texts = pack.contents(ids)
        rows = self._heads.of(access.view, access.store, ids) if ids else {}
        rows = {id: row for id, row in rows.items() if id in notes and row.version_id == notes[id].version_id}
        texts = whole_texts(texts, rows.values())
        kept = [
            one
            for one in candidates
            if all(id in rows for id in one.memory_ids)
            and (note := notes[one.found.memory_id])
            and not is_known_tool(note.path, note.title, note.type, texts.get(note.memory_id, ""), recent_tools)
        ]
        return GraphAnswer(tuple(_within(kept[:limit], notes, rows, texts, max_tokens * CHARS_PER_TOKEN)))

    def _candidates(self, pack: Pack, query: str, loaded: frozenset[str]) -> Iterator[_Candidate]:
        """Yield what matters enough: of what a search finds, the best first; then of what is linked with that."""
        asked = analysis.query_words(query, self._packs.stem).telling
        frequencies, (count, _) = pack.frequencies(asked), pack.extent()

        def weigh(memory_ids: Sequence[str]) -> list[Coverage]:
            documents = (one for one in pack.documents(memory_ids) if is_recallable(one.path))
            weighed = [
                coverage(one.memory_id, frozenset(" ".join(one.passages).split()), asked, frequencies, count)
                for one in documents
            ]
            return sorted(weighed, key=lambda one: (-one.share, one.memory_id))

        ranked = retrieve(self._packs, pack, query, self._clock.now_us()).ranked
        best = [one for one in weigh([one.memory_id for one in ranked[:FOUND_MAX]]) if suffices(one)]
        yield from (_Candidate(one) for one in best if one.memory_id not in loaded)
        roots = [one.memory_id for one in best[:LINKED_MAX]]
        titles = {one.memory_id: one.title for one in pack.notes(roots)}
        reached = Traversal(pack).reach(roots, 1, "both", frozenset(), LINKED_MAX)
        near = [id for id, distance in reached.distances.items() if distance]
        for one in weigh(near):
            if suffices(one, linked=True) and one.memory_id not in loaded:
                ends = {
                    end
                    for edge in reached.edges
                    for end in (edge.source, edge.target)
                    if one.memory_id in (edge.source, edge.target) and end in titles
                }
                yield _Candidate(
                    one, min((end for end in ends if end is not None), default=None, key=titles.__getitem__)
                )


def _within(
    kept: Sequence[_Candidate],
    notes: Mapping[str, NoteRow],
    rows: Mapping[str, MemoryRow],
    texts: Mapping[str, str],
    left: int,
) -> Iterator[GraphNode]:
    for one in kept:
        note = notes[one.found.memory_id]
        text = texts.get(note.memory_id)
        content = text if text is not None and len(text) <= left else None
        left -= len(content or "")
        why = [f"has {len(one.found.matched)} of the query's words, {one.found.share:.0%} of its weight"]
        if one.linked_with is not None:
            why.append(f"linked with {notes[one.linked_with].title}")
        yield replace(node_of(note, rows[note.memory_id], content=content), why=tuple(why))
