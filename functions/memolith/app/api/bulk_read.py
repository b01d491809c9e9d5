"""Loading a whole store: every live memory with its content, in a few large pages, for a client with a copy of it.

The heads are the index's, as in any listing. Their texts come out of the store's pack, where that has them at just that
version, and with the hash that was acknowledged; only the rest is fetched, one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.memories import to_memory
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Memory, Page, RequestContext
from memolith.app.safety.text_access import TextReader, TextRequest, TextView, text_view
from memolith.app.safety.verdicts import Verdicts
from memolith.app.search.pack_cache import PackCache
from memolith.app.search.packs import whole_texts
from memolith.core import ids
from memolith.core.fold import is_live
from memolith.core.limits import LOAD_MAX_BYTES, LOAD_MAX_MEMORIES
from memolith.core.listing import check_position
from memolith.core.rows.content import MemoryRow
from memolith.core.sent_size import sent_size
from memolith.ports.index import Query

ROWS_PER_READ = 100
ENVELOPE_BYTES = 1_000
"""What a memory takes in an answer beside its content and its path."""


class BulkRead:
    """The use case of loading a store."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        reads: ForwardedReads,
        pack_cache: PackCache,
        verdicts: Verdicts,
        texts: TextReader,
    ) -> None:
        self._region = region
        self._forwarded = reads
        self._authorizer = authorizer
        self._pack_cache = pack_cache
        self._verdicts = verdicts
        self._texts = texts

    @forwarded("load_memories")
    def page(self, call: RequestContext, store_id: str, *, after: str | None) -> Page[Memory]:
        """List live memories with their contents, in order of their ids; as many as one answer may hold.

        Each is as this region has it now; one that changes meanwhile is on exactly one page, in one of its states. One
        index read and a query; a LIST and a GET for a process that does not hold the newest segment; a read for a
        hundred texts' verdicts; a GET for each text that the segment does not have.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, ids.MEMORY)
        access = self._authorizer.enter_store(call, Scope.read, store_id, marked=["memories"])
        access.view.require_complete()
        query = Query("memories", store_id, after=after, limit=LOAD_MAX_MEMORIES)
        found = access.view.index.query(query)
        rows = [MemoryRow.from_attributes(one.attributes) for one in found]
        live = [row for row in rows if is_live(row)]
        packed = self._pack_cache.contents(access, {row.memory_id: row.version_id for row in live})
        texts = whole_texts(packed, live)
        taken = self._within_budget(live, texts)
        answers = self._views(access, taken, texts)
        memories = [to_memory(row, one) for row, one in zip(taken, answers, strict=True) if not one.blank]
        if len(taken) < len(live):
            return Page(tuple(memories), taken[-1].memory_id)
        return Page(tuple(memories), rows[-1].memory_id if len(rows) == LOAD_MAX_MEMORIES else None)

    def _within_budget(self, rows: Sequence[MemoryRow], texts: Mapping[str, str]) -> list[MemoryRow]:
        """Take the first rows whose texts fit into one answer; at least one. An unread text counts as its worst."""
        taken: list[MemoryRow] = []
        total = 0
        for row in rows:
            text = texts.get(row.memory_id)
            total += ENVELOPE_BYTES + sent_size(row.path or "")
            total += 7 * (row.content_size_bytes or 0) if text is None else sent_size(text)
            if total > LOAD_MAX_BYTES and taken:
                break
            taken.append(row)
        return taken

    def _views(self, access: StoreAccess, rows: Sequence[MemoryRow], texts: Mapping[str, str]) -> list[TextView]:
        """Return the texts that may be shown, in order: the segment's, checked again, and those to be fetched."""
        packed = {row.memory_id: row for row in rows if row.memory_id in texts}
        fetched = [row for row in rows if row.memory_id not in packed]
        answers = dict(zip((row.memory_id for row in fetched), self._fetch(access, fetched), strict=True))
        for some in _parts(list(packed.values())):
            judged = self._verdicts.of(access.view, access.store, [row.content_sha256 or "" for row in some])
            for row in some:
                verdict = judged.get(row.content_sha256 or "")
                answers[row.memory_id] = text_view(texts[row.memory_id], verdict, access.sees_withheld)
        return [answers[row.memory_id] for row in rows]

    def _fetch(self, access: StoreAccess, rows: Sequence[MemoryRow]) -> list[TextView]:
        found: list[TextView] = []
        for some in _parts(rows):
            wanted = [TextRequest(row.ref, row.content_sha256 or "", row.version_id) for row in some]
            found += self._texts.show_each(access, wanted)
        return found


def _parts(rows: Sequence[MemoryRow]) -> list[Sequence[MemoryRow]]:
    return [rows[start : start + ROWS_PER_READ] for start in range(0, len(rows), ROWS_PER_READ)]
