"""Full-text search over one store: which of its memories answer a question best.

The pack gives candidates, `memolith.core.search.ranking` puts them in order, and the index has the last word: a memory
is shown only if its head is the version that was found, and no verdict withholds its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.memories import to_memory
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Hit, Page, RequestContext
from memolith.app.safety.text_access import TextReader
from memolith.app.safety.verdicts import Verdicts
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import whole_texts
from memolith.core.errors import Damaged, InvalidRequest
from memolith.core.fold import is_live
from memolith.core.integrity import Acknowledged
from memolith.core.limits import SEARCH_QUERY_MAX_CHARS
from memolith.core.paths import check_path_prefix
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.search import analysis, ranking
from memolith.core.search.query_dates import named_intervals
from memolith.core.search.ranking import Candidate, Corpus, Ranked
from memolith.core.verdicts import withholdings
from memolith.ports.packs import Document, Matching, Pack, Packs

CANDIDATES_MAX = 60
NAMED_MAX = 50
DATED_MAX = 50
INTERVALS_MAX = 3
COMMON = 0.5
"""A word that is in more of the memories than this finds nothing, and only costs; unless all words are like that."""

COMMON_FROM = 50
NAME_SHARE = 0.5
"""Of the memories with a word, in how many it must be a name, for a query in small letters to mean the name."""

CORRECTED_FROM_CHARS = 4
CONFIRMED_AT_ONCE = 40
EXCERPT_MAX_CHARS = 400


@dataclass(frozen=True, slots=True)
class _Query:
    """A query as the store's own words have it."""

    stems: tuple[str, ...]
    names: frozenset[str]
    intervals: tuple[tuple[int, int], ...]
    corpus: Corpus


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
    ) -> None:
        self._region = region
        self._forwarded = reads
        self._authorizer = authorizer
        self._pack_cache = pack_cache
        self._packs = packs
        self._verdicts = verdicts
        self._texts = texts

    @forwarded("search_memories")
    def search(
        self, call: RequestContext, store_id: str, *, query: str, limit: int, path_prefix: str | None = None
    ) -> Page[Hit]:
        """Return the memories that answer best, the best first; at most `limit`, none where nothing matches.

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
        with self._pack_cache.pack(access) as pack:
            asked = self._understood(pack, query)
            documents = {one.memory_id: one for one in pack.documents(_candidates(pack, asked, prefix))}
            ranked = _ranked(documents, asked)
            found: list[tuple[Ranked, MemoryRow]] = []
            for some in _parts(ranked):
                found += self._confirmed(access, some, documents)
                if len(found) >= limit:
                    break
            packed = pack.contents([row.memory_id for _, row in found[:limit]])
        texts = whole_texts(packed, (row for _, row in found[:limit]))
        hits = tuple(self._hit(one, row, texts.get(row.memory_id), asked) for one, row in found[:limit])
        return Page(hits, None)

    # ---- the query ------------------------------------------------------------------------------------------------

    def _understood(self, pack: Pack, query: str) -> _Query:
        count, average_length = pack.extent()
        found = analysis.query_words(query, self._packs.stem)
        frequencies = dict(pack.frequencies(found.stems))
        stems: list[str] = []
        for stem in found.stems:
            if stem not in frequencies:
                stem, frequency = _corrected(pack, stem)
                frequencies[stem] = frequency
            stems.append(stem)
        known = [stem for stem in dict.fromkeys(stems) if frequencies[stem]]
        common = max(COMMON * count, COMMON_FROM)
        rare = [stem for stem in known if frequencies[stem] <= common]
        name_frequencies = dict(pack.name_frequencies(sorted(found.capitals or found.lowers)))
        names = {
            name
            for name, frequency in name_frequencies.items()
            if frequency <= common
            and (name in found.capitals or frequency >= NAME_SHARE * frequencies.get(self._packs.stem(name), count))
        }
        return _Query(
            tuple(rare or known),
            frozenset(names),
            named_intervals(query, self._region.clock.now_us())[:INTERVALS_MAX],
            Corpus(count, average_length, frequencies, name_frequencies),
        )

    # ---- the index's word -----------------------------------------------------------------------------------------

    def _confirmed(
        self, access: StoreAccess, some: Sequence[Ranked], documents: Mapping[str, Document]
    ) -> list[tuple[Ranked, MemoryRow]]:
        """Return those whose head is still what was found, and may be shown. One index read."""
        store = access.store
        rows_of = {one.memory_id: MemoryRow.key(store.store_id, one.memory_id) for one in some}
        verdicts_of = {
            one.memory_id: self._verdicts.key(store, documents[one.memory_id].content_sha256) for one in some
        }
        rows = self._region.read(access.view.index, [*rows_of.values(), *dict.fromkeys(verdicts_of.values())])
        found = []
        for one in some:
            attributes, verdict = rows.get(rows_of[one.memory_id]), rows.get(verdicts_of[one.memory_id])
            row = None if attributes is None else MemoryRow.from_attributes(attributes)
            judged = None if verdict is None else VerdictRow.from_attributes(verdict)
            if row is None or not is_live(row) or withholdings(judged):
                continue
            if row.version_id == documents[one.memory_id].version_id:
                found.append((one, row))
        return found

    def _hit(self, ranked: Ranked, row: MemoryRow, text: str | None, asked: _Query) -> Hit:
        if text is None:
            text = self._read(row)
        return Hit(to_memory(row), round(ranked.score, 3), self._excerpt(text, ranked.passage, asked.stems))

    def _read(self, row: MemoryRow) -> str:
        """Read a text for its excerpt; an empty one where it was erased, or is damaged, which is counted by then."""
        try:
            return self._texts.read(row.store_id, row.ref, Acknowledged(row.content_sha256 or "", row.version_id)) or ""
        except Damaged:
            return ""

    def _excerpt(self, text: str, passage: int, stems: Sequence[str]) -> str:
        """Cut out the best passage around its first word of the query."""
        wanted = set(stems)
        start, first = analysis.place(text, max(passage - 1, 0), lambda word: self._packs.stem(word) in wanted)
        begin = max(start, first - EXCERPT_MAX_CHARS // 4)
        return text[begin : begin + EXCERPT_MAX_CHARS].strip()


def _corrected(pack: Pack, stem: str) -> tuple[str, int]:
    """Return the store's most frequent word that differs by a letter from one that it does not have."""
    if len(stem) < CORRECTED_FROM_CHARS or not stem.isalpha():
        return stem, 0
    alike = {other: count for other, count in pack.stems_like(stem).items() if ranking.alike(stem, other)}
    return max(alike.items(), key=lambda pair: (pair[1], pair[0]), default=(stem, 0))


def _candidates(pack: Pack, asked: _Query, prefix: str | None) -> list[str]:
    """Find candidates by the words; by the words and the names; by the words in the time that is named."""
    found = pack.matching(Matching(asked.stems, prefix=prefix, limit=CANDIDATES_MAX))
    if asked.names and asked.stems:
        found += pack.matching(Matching(asked.stems, sorted(asked.names), prefix=prefix, limit=NAMED_MAX))
    for since, until in asked.intervals:
        near = (since - ranking.NEAR_US, until + ranking.NEAR_US)
        found += pack.matching(Matching(asked.stems, interval=near, prefix=prefix, limit=DATED_MAX))
    return list(dict.fromkeys(found))


def _ranked(documents: Mapping[str, Document], asked: _Query) -> list[Ranked]:
    candidates = [
        Candidate(one.memory_id, one.passages, one.names, one.created_at, one.updated_at) for one in documents.values()
    ]
    return ranking.rank(candidates, asked.stems, asked.names, asked.intervals, asked.corpus)


def _parts(ranked: Sequence[Ranked]) -> Iterator[Sequence[Ranked]]:
    for start in range(0, len(ranked), CONFIRMED_AT_ONCE):
        yield ranked[start : start + CONFIRMED_AT_ONCE]
