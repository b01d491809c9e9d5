"""Full-text search over one store, or several: which memories answer a question best.

The pack gives candidates, `memolith.core.search.ranking` puts them in order, and the index has the last word: a memory
is shown only if its head is the version that was found, and no verdict withholds its text.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memolith.app.api.disputes import Disputes
from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.memories import to_memory
from memolith.app.api.past_search import PastSearch, once_more, unchanged_since
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Hit, Page, RequestContext, SessionCredentials
from memolith.app.kernel.search_filter import NO_FILTER, SearchFilter
from memolith.app.safety.text_access import TextReader
from memolith.app.safety.verdicts import Verdicts
from memolith.app.search.one_order import in_one_order
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import whole_texts
from memolith.app.search.restrictions import restriction_of
from memolith.app.search.retrieval import CANDIDATES_MAX, Found, retrieve
from memolith.core.errors import Damaged, InvalidRequest, NotFound
from memolith.core.fold import is_live
from memolith.core.integrity import Acknowledged
from memolith.core.limits import (
    SEARCH_QUERY_MAX_CHARS,
    SESSION_STORES_MAX,
)
from memolith.core.paths import check_path_prefix
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.search.excerpts import excerpt
from memolith.core.search.ranking import Ranked
from memolith.core.trust import rank
from memolith.core.verdicts import withholdings
from memolith.ports.errors import Unavailable
from memolith.ports.packs import Document, Packs, Restriction
from memolith.ports.rerank import Reranker

CONFIRMED_AT_ONCE = 40
CONFIRMED_WITH_AUTHORS = 30
"""Three rows each, and a read has a hundred."""

FILTERED_MAX = 600
"""How many candidates are found, instead of `CANDIDATES_MAX`, where the index leaves out so many of these that an
answer is not full: each read compares `CONFIRMED_AT_ONCE` of them."""

CONFIRMED_SPARE = 5
"""How many more than are asked for are compared with the index at first: almost all of them are still there."""

EXCERPT_MAX_CHARS = 400
RERANKED_MAX = 30
"""How many hits a reranker is asked about, where there is one."""

RERANKED_MAX_CHARS = 1_000
"""How much of each it is sent: a passage."""

MARKED = ["memories", "versions"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a search asks for, checked."""

    query: str
    limit: int
    min_trust: str | None
    within: Restriction
    author: str | None

    @property
    def is_filtered(self) -> bool:
        """Whether the index alone knows which candidates are asked for."""
        return self.author is not None or self.min_trust is not None

    @property
    def candidates(self) -> int:
        """How many candidates are taken where they are found once only."""
        return FILTERED_MAX if self.is_filtered else CANDIDATES_MAX


@dataclass(frozen=True, slots=True)
class _Searched:
    """A store that the caller may read, and what its pack has found."""

    access: StoreAccess
    found: Found


@dataclass(frozen=True, slots=True)
class _Confirmed:
    """A candidate that the index has confirmed: where it is, its head, and its text where the pack has it."""

    store: _Searched
    ranked: Ranked
    row: MemoryRow
    text: str | None = None

    @property
    def store_id(self) -> str:
        return self.row.store_id

    @property
    def document(self) -> Document:
        return self.store.found.documents[self.row.memory_id]


class Search:
    """The use cases of searching: one store, or several at once."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        reads: ForwardedReads,
        pack_cache: PackCache,
        packs: Packs,
        verdicts: Verdicts,
        texts: TextReader,
        past: PastSearch,
        disputes: Disputes,
        reranker: Reranker | None = None,
    ) -> None:
        self._past = past
        self._disputes = disputes
        self._reranker = reranker
        self._region = region
        self._forwarded = reads
        self._authorizer = authorizer
        self._pack_cache = pack_cache
        self._packs = packs
        self._verdicts = verdicts
        self._texts = texts

    @forwarded("search_memories")
    def search(
        self,
        call: RequestContext,
        store_id: str,
        *,
        query: str,
        limit: int,
        path_prefix: str | None = None,
        min_trust: str | None = None,
        filter: SearchFilter = NO_FILTER,
        as_of: int | None = None,
    ) -> Page[Hit]:
        """Return the memories that answer best, the best first; at most `limit`, none where nothing matches.

        With `min_trust`, none whose text is of a lower class; with an author, none that others wrote last. These are
        left out of the candidates, `FILTERED_MAX` at most, so fewer may be found.

        One index read, what `PackCache.pack` costs, and one read of the hits' rows, or of each 40 candidates (30 with
        an author) until there are enough of these classes or of this author; a GET for an excerpt of a text that
        is too long for the search segment. With `as_of`, of the store as it was at that instant, in its own order, what
        `PastSearch.search` costs besides; refused where too much has changed since, and with an author.

        Raises:
            InvalidRequest, NotFound, SnapshotIncomplete, Unavailable; Unauthenticated, PermissionDenied.
        """
        asked = self._asked(query, limit, path_prefix, min_trust, filter)
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=MARKED)
        if as_of is not None:
            if filter.author is not None:
                raise InvalidRequest("as_of", "cannot be combined with an author")
            return Page(self._best_at(access, asked, as_of), None)
        return Page(self._best([access], asked), None)

    def search_several(
        self,
        call: RequestContext,
        store_ids: Sequence[str] | None,
        *,
        query: str,
        limit: int,
        path_prefix: str | None = None,
        min_trust: str | None = None,
        filter: SearchFilter = NO_FILTER,
    ) -> Page[Hit]:
        """Return the memories of several stores that answer best, in the order that they had in one store.

        The answer is as fresh as this region is; `call.complete_until` is that of the store which lags most.

        Costs what as many searches of one store do.

        Args:
            store_ids: without, all that a session's token names, but for those that were deleted.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        asked = self._asked(query, limit, path_prefix, min_trust, filter)
        accesses = self._enter_all(call, store_ids)
        known = [one.complete_until for one in accesses]
        call.complete_until = None if None in known else min((one for one in known if one is not None), default=None)
        homes = {one.store.home for one in accesses}
        call.home = homes.pop() if len(homes) == 1 else None
        return Page(self._best(accesses, asked), None)

    def _enter_all(self, call: RequestContext, store_ids: Sequence[str] | None) -> list[StoreAccess]:
        if store_ids is None:
            if not isinstance(call.credentials, SessionCredentials):
                raise InvalidRequest("memory_store_ids", "must be given with an API key; a session's token has its own")
            named = list(call.credentials.access)[:SESSION_STORES_MAX]
            if not named:
                self._authorizer.enter_any(call, Scope.read)
            entered = [self._entered(call, store_id) for store_id in named]
            return [one for one in entered if one is not None]
        distinct = list(dict.fromkeys(store_ids))
        if not 0 < len(distinct) <= SESSION_STORES_MAX:
            raise InvalidRequest("memory_store_ids", f"must be 1 to {SESSION_STORES_MAX} ids of stores")
        if "" in distinct:
            raise InvalidRequest("memory_store_ids", "must be ids of stores with a comma between two of them")
        return [self._authorizer.enter_store(call, Scope.read, id, marked=MARKED) for id in distinct]

    def _entered(self, call: RequestContext, store_id: str) -> StoreAccess | None:
        try:
            return self._authorizer.enter_store(call, Scope.read, store_id, marked=MARKED)
        except NotFound:
            return None

    def _asked(
        self, query: str, limit: int, path_prefix: str | None, min_trust: str | None, filter: SearchFilter
    ) -> _Asked:
        if not query.strip():
            raise InvalidRequest("query", "must not be empty")
        if len(query) > SEARCH_QUERY_MAX_CHARS:
            raise InvalidRequest("query", f"must be at most {SEARCH_QUERY_MAX_CHARS} characters")
        prefix = None if path_prefix is None else check_path_prefix(path_prefix)
        return _Asked(query, limit, min_trust, restriction_of(prefix, filter), filter.author)

    def _best(self, accesses: Sequence[StoreAccess], asked: _Asked) -> tuple[Hit, ...]:
        if not accesses:
            return ()
        most = asked.limit if self._reranker is None else max(asked.limit, RERANKED_MAX)
        hits, more = self._found(accesses, asked, most, CANDIDATES_MAX)
        if more and len(hits) < most and asked.is_filtered:
            hits, _ = self._found(accesses, asked, most, FILTERED_MAX)
        hits = self._reranked(asked.query, self._with_texts(hits[:most]))
        return self._disputes.marked(accesses, [self._hit(one) for one in hits[: asked.limit]])

    def _found(
        self, accesses: Sequence[StoreAccess], asked: _Asked, most: int, candidates: int
    ) -> tuple[list[_Confirmed], bool]:
        """Return what may be shown of the best candidates of each store, and whether a store may have further ones."""
        stores = []
        for access in accesses:
            now_us = self._region.clock.now_us()
            find = partial(
                retrieve, self._packs, query=asked.query, now_us=now_us, within=asked.within, most=candidates
            )
            stores.append(_Searched(access, self._pack_cache.ask(access, find)))
        hits: list[_Confirmed] = []
        for some in _parts(in_one_order([one.found for one in stores]), *_sizes(asked, most)):
            now = self._confirmed(stores, some, asked.author)
            hits += [one for one in now if rank(one.row.trust) >= rank(asked.min_trust)]
            if len(hits) >= most:
                break
        return hits, any(one.found.more for one in stores)

    @once_more
    def _best_at(self, access: StoreAccess, asked: _Asked, as_of: int) -> tuple[Hit, ...]:
        """Search the store as it was. The pack comes first: what changes meanwhile is then found as it was, once."""
        with self._pack_cache.pack(access) as pack:
            unchanged = unchanged_since(asked.within, as_of)
            store = _Searched(access, retrieve(self._packs, pack, asked.query, as_of, unchanged, most=asked.candidates))
        past = self._past.search(access, asked.query, asked.within, as_of, asked.candidates)
        hits: list[Hit] = []
        for some in _parts(in_one_order([store.found, past.found]), CONFIRMED_AT_ONCE):
            rows = self._rows(store, [one.memory_id for number, one in some if not number], None)
            self._past.check_unchanged(access, {one.memory_id for n, one in some if not n} - rows.keys(), past, as_of)
            now = [_Confirmed(store, one, rows[one.memory_id]) for _, one in some if one.memory_id in rows]
            as_now = {one.row.memory_id: one for one in self._with_texts(now)}
            for number, one in some:
                if number:
                    memory = past.memories[one.memory_id]
                    excerpt = self._excerpt(past.found, past.found.documents[memory.id], one, memory.content or "")
                    hits.append(Hit(replace(memory, content=None), round(one.score, 3), excerpt))
                elif one.memory_id in as_now and one.memory_id not in past.memories:
                    hits.append(self._hit(as_now[one.memory_id]))
            hits = [one for one in hits if rank(one.memory.trust) >= rank(asked.min_trust)]
            if len(hits) >= asked.limit:
                break
        return tuple(hits[: asked.limit])

    def _with_texts(self, hits: Sequence[_Confirmed]) -> list[_Confirmed]:
        """Return the same with their texts, as far as the packs have them."""
        texts: dict[tuple[str, str], str] = {}
        for store_id, access in {one.store_id: one.store.access for one in hits}.items():
            rows = [one.row for one in hits if one.store_id == store_id]
            packed = self._pack_cache.contents(access, {row.memory_id: row.version_id or "" for row in rows})
            texts |= {(store_id, id): text for id, text in whole_texts(packed, rows).items()}
        return [replace(one, text=texts.get((one.store_id, one.row.memory_id))) for one in hits]

    def _reranked(self, query: str, hits: list[_Confirmed]) -> list[_Confirmed]:
        """Put the first in the order of another service's model; in their own where it does not answer in time.

        Only passages are sent of texts that this caller is about to be shown, or would be with a higher limit.
        """
        first = [one for one in hits[:RERANKED_MAX] if one.text is not None]
        if self._reranker is None or len(first) < 2:
            return hits
        passages = [_passage(one.document, one.ranked.passage, one.text or "") for one in first]
        try:
            scores = self._reranker.scores(query, passages)
        except Unavailable as failure:
            _log.warning("the search kept its own order", extra={"reason": str(failure)})
            return hits
        order = sorted(range(len(first)), key=lambda place: -scores[place])
        best = [replace(first[place], ranked=replace(first[place].ranked, score=scores[place])) for place in order]
        known = {(one.store_id, one.row.memory_id) for one in first}
        return [*best, *(one for one in hits if (one.store_id, one.row.memory_id) not in known)]

    # ---- the index's word -----------------------------------------------------------------------------------------

    def _confirmed(
        self, stores: Sequence[_Searched], some: Sequence[tuple[int, Ranked]], author: str | None
    ) -> list[_Confirmed]:
        """Return those whose head is still what was found, and may be shown. One index read for each store."""
        found: dict[tuple[int, str], MemoryRow] = {}
        for number in dict.fromkeys(number for number, _ in some):
            ids = [one.memory_id for of, one in some if of == number]
            found |= {(number, id): row for id, row in self._rows(stores[number], ids, author).items()}
        return [
            _Confirmed(stores[number], one, found[(number, one.memory_id)])
            for number, one in some
            if (number, one.memory_id) in found
        ]

    def _rows(self, searched: _Searched, memory_ids: Sequence[str], author: str | None) -> dict[str, MemoryRow]:
        access, store, documents = searched.access, searched.access.store, searched.found.documents
        rows_of = {id: MemoryRow.key(store.store_id, id) for id in memory_ids}
        verdicts_of = {id: self._verdicts.key(store, documents[id].content_sha256) for id in memory_ids}
        wrote = {id: VersionRow.key(store.store_id, documents[id].version_id) for id in memory_ids}
        asked = [*rows_of.values(), *dict.fromkeys(verdicts_of.values())]
        rows = self._region.read(access.view.index, asked if author is None else [*asked, *wrote.values()])
        found = {}
        for id in memory_ids:
            attributes, verdict = rows.get(rows_of[id]), rows.get(verdicts_of[id])
            row = None if attributes is None else MemoryRow.from_attributes(attributes)
            judged = None if verdict is None else VerdictRow.from_attributes(verdict)
            if row is None or not is_live(row) or withholdings(judged):
                continue
            if author is not None and rows.get(wrote[id], {}).get("created_by") != author:
                continue
            if row.version_id == documents[id].version_id:
                found[id] = row
        return found

    def _hit(self, one: _Confirmed) -> Hit:
        text = self._read(one.row) if one.text is None else one.text
        excerpt = self._excerpt(one.store.found, one.document, one.ranked, text)
        return Hit(to_memory(one.row), round(one.ranked.score, 3), excerpt)

    def _excerpt(self, found: Found, document: Document, ranked: Ranked, text: str) -> str:
        at, wanted = max(ranked.passage - 1, 0), found.question.stems
        return excerpt(text, document.starts, at, wanted, self._packs.stem, EXCERPT_MAX_CHARS)

    def _read(self, row: MemoryRow) -> str:
        """Read a text for its excerpt; an empty one where it was erased, or is damaged, which is counted by then."""
        try:
            return self._texts.read(row.store_id, row.ref, Acknowledged(row.content_sha256 or "", row.version_id)) or ""
        except Damaged:
            return ""


def _passage(document: Document, number: int, text: str) -> str:
    """Return the passage that answers best, with the path: what it is about is often told there alone."""
    starts = document.starts
    start = starts[number - 1] if 0 < number <= len(starts) else 0
    return f"{document.path}\n{text[start : start + RERANKED_MAX_CHARS]}"


def _sizes(asked: _Asked, most: int) -> tuple[int, int]:
    """Return how many candidates are compared with the index at once, and at first, when `most` are to be left."""
    if asked.author is not None:
        return CONFIRMED_WITH_AUTHORS, CONFIRMED_WITH_AUTHORS
    filtered = asked.min_trust is not None
    return CONFIRMED_AT_ONCE, CONFIRMED_AT_ONCE if filtered else min(most + CONFIRMED_SPARE, CONFIRMED_AT_ONCE)


def _parts(
    ranked: Sequence[tuple[int, Ranked]], size: int, first: int | None = None
) -> Iterator[Sequence[tuple[int, Ranked]]]:
    """Yield candidates so many at a time, and the first so many."""
    start, end = 0, first or size
    while start < len(ranked):
        yield ranked[start:end]
        start, end = end, end + size
