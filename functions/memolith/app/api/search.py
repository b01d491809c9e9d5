"""Full-text search over one store: which of its memories answer a question best.

The pack gives candidates, `memolith.core.search.ranking` puts them in order, and the index has the last word: a memory
is shown only if its head is the version that was found, and no verdict withholds its text.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.memories import to_memory
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Hit, Page, RequestContext
from memolith.app.kernel.search_filter import NO_FILTER, SearchFilter
from memolith.app.safety.text_access import TextReader
from memolith.app.safety.verdicts import Verdicts
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import whole_texts
from memolith.app.search.retrieval import Found, retrieve
from memolith.core.errors import Damaged, InvalidRequest
from memolith.core.fold import is_live
from memolith.core.integrity import Acknowledged
from memolith.core.limits import SEARCH_FILTER_MAX_CHARS, SEARCH_QUERY_MAX_CHARS, SEARCH_TAGS_ASKED_MAX
from memolith.core.paths import check_path_prefix
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.search import analysis
from memolith.core.search.frontmatter_fields import filter_value
from memolith.core.search.ranking import Ranked
from memolith.core.trust import rank
from memolith.core.verdicts import withholdings
from memolith.ports.errors import Unavailable
from memolith.ports.packs import Document, Packs, Restriction
from memolith.ports.rerank import Reranker

CONFIRMED_AT_ONCE = 40
CONFIRMED_WITH_AUTHORS = 30
"""Three rows each, and a read has a hundred."""

EXCERPT_MAX_CHARS = 400
RERANKED_MAX = 30
"""How many hits a reranker is asked about, where there is one."""

RERANKED_MAX_CHARS = 1_000
"""How much of each it is sent: a passage."""

LAST_US = 2**62

_log = logging.getLogger(__name__)


class Search:
    """The use case of searching."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        reads: ForwardedReads,
        pack_cache: PackCache,
        packs: Packs,
        verdicts: Verdicts,
        texts: TextReader,
        reranker: Reranker | None = None,
    ) -> None:
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
    ) -> Page[Hit]:
        """Return the memories that answer best, the best first; at most `limit`, none where nothing matches.

        With `min_trust`, none whose text is of a lower class; with an author, none that others wrote last. These are
        left out of the candidates, so fewer may be found.

        One index read, what `PackCache.pack` costs, and one read of the hits' rows; a GET for an excerpt of a text that
        is too long for the search segment.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        if not query.strip():
            raise InvalidRequest("query", "must not be empty")
        if len(query) > SEARCH_QUERY_MAX_CHARS:
            raise InvalidRequest("query", f"must be at most {SEARCH_QUERY_MAX_CHARS} characters")
        prefix = None if path_prefix is None else check_path_prefix(path_prefix)
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=["memories", "versions"])
        within = _restriction(prefix, filter)
        author = filter.author
        most = limit if self._reranker is None else max(limit, RERANKED_MAX)
        found: list[tuple[Ranked, MemoryRow]] = []
        with self._pack_cache.pack(access) as pack:
            candidates = retrieve(self._packs, pack, query, self._region.clock.now_us(), within)
            for some in _parts(candidates.ranked, CONFIRMED_AT_ONCE if author is None else CONFIRMED_WITH_AUTHORS):
                confirmed = self._confirmed(access, some, candidates.documents, author)
                found += [one for one in confirmed if rank(one[1].trust) >= rank(min_trust)]
                if len(found) >= most:
                    break
            packed = pack.contents([row.memory_id for _, row in found[:most]])
        texts = whole_texts(packed, (row for _, row in found[:most]))
        found = self._reranked(query, found[:most], texts, candidates)
        hits = tuple(self._hit(one, row, texts.get(row.memory_id), candidates) for one, row in found[:limit])
        return Page(hits, None)

    def _reranked(
        self, query: str, found: list[tuple[Ranked, MemoryRow]], texts: Mapping[str, str], candidates: Found
    ) -> list[tuple[Ranked, MemoryRow]]:
        """Put the first in the order of another service's model; in their own where it does not answer in time.

        Only passages are sent of texts that this caller is about to be shown, or would be with a higher limit.
        """
        first = [one for one in found[:RERANKED_MAX] if one[1].memory_id in texts]
        if self._reranker is None or len(first) < 2:
            return found
        passages = [
            _passage(candidates.documents[row.memory_id], one.passage, texts[row.memory_id]) for one, row in first
        ]
        try:
            scores = self._reranker.scores(query, passages)
        except Unavailable as failure:
            _log.warning("the search kept its own order", extra={"reason": str(failure)})
            return found
        order = sorted(range(len(first)), key=lambda place: -scores[place])
        known = {row.memory_id for _, row in first}
        best = [(replace(first[place][0], score=scores[place]), first[place][1]) for place in order]
        return [*best, *(one for one in found if one[1].memory_id not in known)]

    # ---- the index's word -----------------------------------------------------------------------------------------

    def _confirmed(
        self, access: StoreAccess, some: Sequence[Ranked], documents: Mapping[str, Document], author: str | None
    ) -> list[tuple[Ranked, MemoryRow]]:
        """Return those whose head is still what was found, and may be shown. One index read."""
        store = access.store
        rows_of = {one.memory_id: MemoryRow.key(store.store_id, one.memory_id) for one in some}
        verdicts_of = {
            one.memory_id: self._verdicts.key(store, documents[one.memory_id].content_sha256) for one in some
        }
        wrote = {one.memory_id: VersionRow.key(store.store_id, documents[one.memory_id].version_id) for one in some}
        asked = [*rows_of.values(), *dict.fromkeys(verdicts_of.values())]
        rows = self._region.read(access.view.index, asked if author is None else [*asked, *wrote.values()])
        found = []
        for one in some:
            attributes, verdict = rows.get(rows_of[one.memory_id]), rows.get(verdicts_of[one.memory_id])
            row = None if attributes is None else MemoryRow.from_attributes(attributes)
            judged = None if verdict is None else VerdictRow.from_attributes(verdict)
            if row is None or not is_live(row) or withholdings(judged):
                continue
            if author is not None and rows.get(wrote[one.memory_id], {}).get("created_by") != author:
                continue
            if row.version_id == documents[one.memory_id].version_id:
                found.append((one, row))
        return found

    def _hit(self, ranked: Ranked, row: MemoryRow, text: str | None, found: Found) -> Hit:
        if text is None:
            text = self._read(row)
        starts, wanted = found.documents[row.memory_id].starts, found.question.stems
        start = starts[ranked.passage - 1] if 0 < ranked.passage <= len(starts) else 0
        excerpt = analysis.excerpt(text, start, lambda word: self._packs.stem(word) in wanted, EXCERPT_MAX_CHARS)
        return Hit(to_memory(row), round(ranked.score, 3), excerpt)

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


def _restriction(prefix: str | None, filter: SearchFilter) -> Restriction:
    """Read a filter. Raises InvalidRequest."""
    if len(filter.tags) > SEARCH_TAGS_ASKED_MAX:
        raise InvalidRequest("tags", f"must be at most {SEARCH_TAGS_ASKED_MAX}")
    asked = [("type", "type", filter.type)] if filter.type is not None else []
    asked += [("tags", "tag", tag) for tag in filter.tags]
    for field, _, value in asked:
        if not filter_value(value):
            raise InvalidRequest(field, "must not be empty")
        if len(value) > SEARCH_FILTER_MAX_CHARS:
            raise InvalidRequest(field, f"must be at most {SEARCH_FILTER_MAX_CHARS} characters")
    return Restriction(
        prefix,
        tuple((name, filter_value(value)) for _, name, value in asked),
        _interval(filter.created_at_gte, filter.created_at_lte),
        _interval(filter.updated_at_gte, filter.updated_at_lte),
    )


def _interval(since: int | None, until: int | None) -> tuple[int, int] | None:
    return None if since is None and until is None else (since or 0, LAST_US if until is None else until + 1)


def _parts(ranked: Sequence[Ranked], size: int) -> Iterator[Sequence[Ranked]]:
    for start in range(0, len(ranked), size):
        yield ranked[start : start + size]
