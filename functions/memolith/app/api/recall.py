"""Recalling: the few memories of a store that matter for what an agent is about to do, possibly none."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memolith.app.api.disputes import Disputes
from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.graph import node_of
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.kernel.graph_results import GraphAnswer, GraphNode, with_disputes
from memolith.app.kernel.results import RequestContext
from memolith.app.pipelines.usage_log import UsageLog
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import Heads, in_one_state, whole_texts
from memolith.app.search.retrieval import retrieve
from memolith.app.search.traversal import Traversal
from memolith.core.errors import InvalidRequest
from memolith.core.limits import SEARCH_QUERY_MAX_CHARS
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.pipelines.usage import is_unused
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.identity import StoreRow
from memolith.core.search import analysis
from memolith.core.search.selection import Coverage, coverage, is_known_tool, is_recallable, suffices
from memolith.ports.clock import Clock
from memolith.ports.graph import NoteRow
from memolith.ports.packs import Pack, Packs

FOUND_MAX = 20
"""How many of what a search finds are looked at."""

LINKED_MAX = 20
UNUSED_SHARE = 0.8
"""How much of its weight a memory keeps that is not used."""

CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory that may be recalled, and the ids of those that it is linked with, by their titles, if that is why."""

    found: Coverage
    linked_with: tuple[str, ...] = ()

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """All on which it depends whether it is shown."""
        return (self.found.memory_id, *self.linked_with)

    def among(self, current: Container[str]) -> _Candidate | None:
        """Return it as far as memories may be shown: what only withheld memories lead to is not recalled either."""
        linked_with = tuple(id for id in self.linked_with if id in current)
        if self.found.memory_id not in current or (self.linked_with and not linked_with):
            return None
        return replace(self, linked_with=linked_with)


class Recall:
    """The use case of recalling. Costs what a search does, without excerpts."""

    def __init__(
        self,
        authorizer: Authorizer,
        reads: ForwardedReads,
        pack_cache: PackCache,
        packs: Packs,
        heads: Heads,
        usage: UsageLog,
        disputes: Disputes,
        clock: Clock,
    ) -> None:
        self._authorizer = authorizer
        self._forwarded = reads
        self._pack_cache = pack_cache
        self._packs = packs
        self._heads = heads
        self._usage = usage
        self._disputes = disputes
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

        def read(pack: Pack) -> tuple[list[_Candidate], dict[str, NoteRow], Mapping[str, str]]:
            found = list(self._candidates(pack, query, frozenset(loaded)))
            ids = list(dict.fromkeys(id for one in found for id in one.memory_ids))
            return found, {one.memory_id: one for one in pack.notes(ids)}, pack.contents(ids)

        with self._pack_cache.pack(access) as pack:
            candidates, notes, texts = in_one_state(pack, read)
        ids = list(dict.fromkeys(id for one in candidates for id in one.memory_ids))
        rows = self._heads.of(access.view, access.store, ids) if ids else {}
        rows = {id: row for id, row in rows.items() if id in notes and row.version_id == notes[id].version_id}
        texts = whole_texts(texts, rows.values())
        kept = [
            one
            for one in filter(None, (one.among(rows) for one in candidates))
            if (note := notes[one.found.memory_id])
            and not is_known_tool(note.path, note.title, note.type, texts.get(note.memory_id, ""), recent_tools)
        ]
        unused = self._unused(access.store, [rows[one.found.memory_id] for one in kept])
        kept.sort(key=lambda one: (bool(one.linked_with), -_weight(one, unused), one.found.memory_id))
        shown = tuple(_within(kept[:limit], notes, rows, texts, max_tokens * CHARS_PER_TOKEN, unused))
        disputes = self._disputes.of(access, [one.memory_id for one in shown])
        return with_disputes(GraphAnswer(shown), disputes)

    def _unused(self, store: StoreRow, found: Sequence[MemoryRow]) -> dict[str, int]:
        """Return which of these memories count as unused, and after how many days; none where uses are not counted."""
        policy = PipelinesPolicy.of(store.pipelines)
        if not policy.counts_uses or not found:
            return {}
        usage, days, now_us = self._usage.recent(store), policy.unused_days, self._clock.now_us()
        return {one.memory_id: days for one in found if is_unused(usage, one.memory_id, one.updated_at, days, now_us)}

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
                sides = [(edge.source, edge.target) for edge in reached.edges]
                ends = {end for both in sides if one.memory_id in both for end in both if end is not None}
                linked_with = sorted(ends & titles.keys(), key=lambda id: (titles[id], id))
                yield _Candidate(one, tuple(linked_with))


def _weight(one: _Candidate, unused: Mapping[str, int]) -> float:
    """Return what a memory's place goes by: one that is not used comes after others that are nearly as good."""
    return one.found.share * (UNUSED_SHARE if one.found.memory_id in unused else 1.0)


def _within(
    kept: Sequence[_Candidate],
    notes: Mapping[str, NoteRow],
    rows: Mapping[str, MemoryRow],
    texts: Mapping[str, str],
    left: int,
    unused: Mapping[str, int],
) -> Iterator[GraphNode]:
    for one in kept:
        note = notes[one.found.memory_id]
        text = texts.get(note.memory_id)
        content = text if text is not None and len(text) <= left else None
        left -= len(content or "")
        why = [f"has {len(one.found.matched)} of the query's words, {one.found.share:.0%} of its weight"]
        if one.linked_with:
            why.append(f"linked with {notes[one.linked_with[0]].title}")
        if note.memory_id in unused:
            why.append(f"not used for {unused[note.memory_id]} days or more")
        yield replace(node_of(note, rows[note.memory_id], content=content), why=tuple(why))
