"""Quarantine: what the verdicts withhold in a store, for those who decide about it.

A text is named by any version at which it stands, or was judged. Releasing it puts a `release` verdict for each version
that withholds it, at the store's home; restoring a memory writes its last good text as an ordinary new version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, islice, takewhile
from typing import Any

from memolith.app.api.memories import Memories
from memolith.app.api.sources import Origin
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.commit.forwarding import Forwarding
from memolith.app.epochs.fence import Fence, stored_record
from memolith.app.index.version_history import VersionHistory
from memolith.app.kernel.batching import batches
from memolith.app.kernel.listing import row_pages, rows_of
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Memory, Page, Place, QuarantinedText, ReadConsistency, RequestContext
from memolith.app.safety.text_access import TextReader, TextRequest, withheld_by
from memolith.app.safety.verdicts import Verdicts
from memolith.core import ids
from memolith.core.errors import InvalidRequest, NotFound, Unavailable, once_done
from memolith.core.fold import is_live
from memolith.core.listing import check_position
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.verdicts import record_of, releases, withheld_ever, withholdings
from memolith.ports.index import Query

ROWS_PER_QUERY = 1_000
VERSIONS_LOOKED_AT = 100_000
PLACES_MAX = 1_000
ROWS_PER_READ = 100
VERSIONS_AT_ONCE = 20
_POSITION = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DOUBT, _AGAIN = "the text may be released, in part or whole", "release it again"


class Quarantine:
    """The use cases of withheld texts. All of them are an admin's."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        memories: Memories,
        forwarding: Forwarding,
        verdicts: Verdicts,
        history: VersionHistory,
        texts: TextReader,
        fence: Fence,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._memories = memories
        self._forwarding = forwarding
        self._verdicts = verdicts
        self._history = history
        self._texts = texts
        self._fence = fence

    # ---- looking ------------------------------------------------------------------------------------------------

    def page(
        self, call: RequestContext, store_id: str, *, include_released: bool, limit: int, after: str | None
    ) -> Page[QuarantinedText]:
        """List the store's withheld texts, and on demand released ones, in no meaningful order. One query or more.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, _POSITION)
        access = self._authorizer.enter_store(call, Scope.admin, store_id)
        rows = (
            row
            for row in self._verdict_rows(access.view, store_id, after)
            if withholdings(row) or (include_released and withheld_ever(row))
        )
        listed = list(islice(rows, limit + 1))
        self._region.require_whole(access.view, "verdicts")
        texts = tuple(_text(row) for row in listed[:limit])
        return Page(texts, listed[limit - 1].content_hmac if len(listed) > limit else None)

    def retrieve(self, call: RequestContext, store_id: str, version_id: str) -> QuarantinedText:
        """Return one text: every verdict on it, and every version that has it.

        Pages through the store's versions, and reads each verdict: for rare use.

        Raises:
            NotFound: no verdict ever withheld it. Unavailable; Unauthenticated, PermissionDenied.
        """
        access = self._enter(call, store_id, version_id)
        row = self._row(access.view, access.store, version_id)
        places, all_places = self._places(access.view, access.store, row.content_hmac)
        return _text(row, self._records(row), places, all_places)

    def _enter(self, call: RequestContext, store_id: str, version_id: str) -> StoreAccess:
        if ids.VERSION.fullmatch(version_id) is None:
            self._authorizer.enter_store(call, Scope.admin, store_id)
            raise NotFound("memory_version", version_id)
        return self._authorizer.enter_store(call, Scope.admin, store_id, [VersionRow.key(store_id, version_id)])

    def _verdict_rows(self, view: View, store_id: str, after: str | None) -> Iterator[VerdictRow]:
        """Yield the rows of texts; sightings come after all of them in the same partition, and are left out."""
        query = Query("verdicts", store_id, after=after, limit=ROWS_PER_QUERY)
        found = chain.from_iterable(row_pages(view.index, query))
        texts = takewhile(lambda one: _POSITION.fullmatch(one.sort_key) is not None, found)
        yield from (VerdictRow.from_attributes(one.attributes) for one in texts)

    def _row(self, view: View, store: StoreRow, version_id: str) -> VerdictRow:
        """Return the row of a version's text; if the text was erased, that of the verdicts put for the version."""
        key = VersionRow.key(store.store_id, version_id)
        attributes = view.rows.get(key)
        sha256 = None if attributes is None else VersionRow.from_attributes(attributes).content_sha256
        if sha256 is not None:
            content_hmac: str | None = self._verdicts.hmac(store, sha256)
        else:
            judged = self._verdicts.put_for(store.store_id, version_id, self._region.origins)
            content_hmac = judged[0].content_hmac if judged else None
        row = None if content_hmac is None else self._verdicts.row(view.index, store.store_id, content_hmac)
        if row is None or not withheld_ever(row):
            self._region.require_whole(view, "verdicts", "versions")
            raise NotFound("quarantined_text", version_id)
        return row

    def _records(self, row: VerdictRow) -> tuple[VerdictRecord, ...]:
        """List every verdict that was put for the versions that withheld it. A LIST for each, and a GET a verdict.

        Of a verdict whose object is not here, the list has what its mark in the row says.
        """
        marks = (*withheld_ever(row), *releases(row))
        regions = sorted({mark.region for mark in marks})
        versions = sorted({mark.version_id for mark in marks})
        found = [record for id in versions for record in self._verdicts.put_for(row.store_id, id, regions)]
        here = {record.key for record in found}
        found += [record_of(row, mark) for mark in marks if mark.key(row.store_id) not in here]
        of_text = [record for record in found if record.content_hmac == row.content_hmac]
        return tuple(sorted(of_text, key=lambda one: (one.decided_at, one.version_id, one.sequence)))

    def _places(self, view: View, store: StoreRow, content_hmac: str) -> tuple[tuple[Place, ...], bool]:
        """List every version that has the text, newest first, and whether that is all of them."""
        found: list[VersionRow] = []
        known: dict[str, bool] = {}
        rows = self._versions(view, store.store_id)
        for row in islice(rows, VERSIONS_LOOKED_AT):
            sha256 = row.content_sha256
            if sha256 is None:
                continue
            if sha256 not in known:
                known[sha256] = self._verdicts.hmac(store, sha256) == content_hmac
            if known[sha256]:
                found.append(row)
        some = found[:PLACES_MAX]
        heads = self._heads(view, some)
        places = tuple(
            Place(
                row.memory_id or "",
                row.version_id,
                row.operation or "",
                row.path or "",
                row.created_at or 0,
                heads.get(row.memory_id or "") == row.version_id,
            )
            for row in some
        )
        return places, next(rows, None) is None and len(found) <= PLACES_MAX

    def _versions(self, view: View, store_id: str) -> Iterator[VersionRow]:
        query = Query("versions", store_id, limit=ROWS_PER_QUERY, descending=True)
        return rows_of(view.index, query, VersionRow)

    def _heads(self, view: View, rows: Sequence[VersionRow]) -> dict[str, str]:
        """Return the current version of each live memory among these."""
        keys = [MemoryRow.key(row.store_id, id) for row in rows if (id := row.memory_id) is not None]
        keys = list(dict.fromkeys(keys))
        heads: dict[str, str] = {}
        for some in batches(keys, ROWS_PER_READ):
            for attributes in self._region.read(view.index, some).values():
                head = MemoryRow.from_attributes(attributes)
                if is_live(head):
                    heads[head.memory_id] = head.version_id
        return heads

    # ---- releasing ----------------------------------------------------------------------------------------------

    def release(self, call: RequestContext, store_id: str, version_id: str, *, reason: str) -> QuarantinedText:
        """Lift every verdict that withholds the text now. Releasing it again changes nothing.

        At home, for each version that withholds it, what `Verdicts.put` costs; elsewhere one invocation.

        Raises:
            NotFound, Busy, Unavailable, OutcomeUnknown; Unauthenticated, PermissionDenied.
        """
        access = self._enter(call, store_id, version_id)
        request = {"store_id": store_id, "version_id": version_id, "actor": access.actor, "reason": reason}
        seen = self._forwarding.seen_of(access.view, access.store, version_id)
        store, answer = self._forwarding.reach(access.view, access.store, {"call": "release", **request}, seen)
        if answer is None:
            records = self.release_at_home(store, request)
        else:
            records = tuple(VerdictRecord.from_json(text.encode()) for text in answer["verdicts"])
        with once_done(_DOUBT, _AGAIN):
            for record in records if answer is not None else ():
                self._verdicts.fold(access.view, record)
            row = self._verdicts.row(access.view.index, store_id, records[0].content_hmac)
            if row is None:
                raise Unavailable("the verdicts on the text are not indexed here")
        return _text(row, records)

    def release_at_home(self, store: StoreRow, request: Mapping[str, Any]) -> tuple[VerdictRecord, ...]:
        """Put a release for each version that withholds the text; return every verdict put for those versions.

        Raises as `release` and `Fence.term`.
        """
        view = self._region.view([StoreRow.key(store.store_id), VersionRow.key(store.store_id, request["version_id"])])
        store = stored_record(view, store)
        row = self._row(view, store, request["version_id"])
        standing = [self._verdicts.read(row, mark) for mark in withholdings(row)]
        with self._fence.term(view, store, _DOUBT, _AGAIN) if standing else nullcontext():
            self._release(standing, request)
        with once_done(_DOUBT, _AGAIN) if standing else nullcontext():
            return self._records(self._row(view, store, request["version_id"]))

    def _release(self, withheld: Sequence[VerdictRecord], request: Mapping[str, Any]) -> None:
        for number, withholding in enumerate(withheld):
            release = replace(
                withholding,
                outcome=VerdictOutcome.RELEASE,
                decided_at=self._region.clock.now_us(),
                decided_by=request["actor"],
                reason=request["reason"],
                findings=(),
                fingerprints=(),
            )
            with once_done(_DOUBT, _AGAIN) if number else nullcontext():
                self._verdicts.put(release)

    # ---- restoring ----------------------------------------------------------------------------------------------

    def restore(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Memory:
        """Write the newest text of the version's memory that is not withheld, if the head is still what was seen here.

        A head that is not withheld is the answer, and nothing is written. An ordinary update, and the reads that find
        what to write: the memory's versions from the newest down, twenty at a time.

        Raises:
            InvalidRequest: all of its versions are withheld, erased or damaged. NotFound; and as `Memories.update`.
        """
        access = self._enter(call, store_id, version_id)
        attributes = access.view.rows.get(VersionRow.key(store_id, version_id))
        memory_id = None if attributes is None else VersionRow.from_attributes(attributes).memory_id
        if memory_id is None:
            self._region.require_whole(access.view, "versions")
            raise NotFound("memory_version", version_id)
        key = MemoryRow.key(store_id, memory_id)
        row = self._region.read(access.view.index, [key]).get(key)
        head = None if row is None else MemoryRow.from_attributes(row)
        if head is None or not is_live(head):
            self._region.require_whole(access.view, "memories")
            raise NotFound("memory", memory_id)
        known = self._verdicts.of(access.view, access.store, [head.content_sha256 or ""])
        if withheld_by(known.get(head.content_sha256 or "")) is None:
            return self._memories.retrieve(replace(call, demand=ReadConsistency()), store_id, memory_id, full=full)
        content, trust = self._last_good(access, memory_id, head)
        return self._memories.update(
            call,
            store_id,
            memory_id,
            content=content,
            path=None,
            expected_content_sha256=head.content_sha256,
            full=full,
            origin=Origin(at_most=trust, restored=True),
        )

    def _last_good(self, access: StoreAccess, memory_id: str, head: MemoryRow) -> tuple[str, str | None]:
        """Return the newest text that no verdict withholds, and its trust class."""
        store_id = access.store.store_id
        steps = self._history.of_memory(access.view, store_id, memory_id, None, head)
        while some := list(islice(steps, VERSIONS_AT_ONCE)):
            rows = [step.row for step in some if step.row.content_sha256 is not None and step.row.position is not None]
            wanted = [TextRequest(row.ref, row.content_sha256 or "", row.version_id) for row in rows]
            for row, text in zip(rows, self._texts.show_each(access, wanted), strict=True):
                if text.withheld is None and text.content is not None:
                    return text.content, row.trust
        raise InvalidRequest(
            "memory_version_id",
            "every version of the memory is withheld, erased or damaged; delete it, or release a text",
        )


def _text(
    row: VerdictRow,
    verdicts: tuple[VerdictRecord, ...] | None = None,
    places: tuple[Place, ...] | None = None,
    all_places: bool | None = None,
) -> QuarantinedText:
    """Make what the API calls a quarantined_text."""
    marks = sorted(withheld_ever(row), key=lambda mark: (mark.decided_at, mark.version_id))
    return QuarantinedText(
        row.store_id,
        tuple(mark.version_id for mark in marks),
        withheld_by(row),
        verdicts,
        places,
        all_places,
    )
