"""Opening a proposal at the store's home: its edits are resolved against what the store holds, scanned, and put."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from memolith.app.kernel.batching import batches
from memolith.app.kernel.region import Region, View
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.app.safety.text_access import TextReader, withheld_by
from memolith.app.safety.verdicts import Verdicts
from memolith.app.safety.write_gate import TextScanner, admit
from memolith.core.commands import CreateMemory
from memolith.core.decide import sha256_hex
from memolith.core.errors import InvalidRequest, NotFound, PathConflict, PreconditionFailed
from memolith.core.fold import is_live
from memolith.core.ids import keyed_id
from memolith.core.integrity import Acknowledged
from memolith.core.limits import PROPOSAL_LIFETIME_US, PROPOSALS_OPEN_MAX
from memolith.core.objects.proposal_record import ProposalRecord, ProposalStep, ProposedEdit
from memolith.core.proposals import is_pending, str_replaced
from memolith.core.proposed_edits import (
    SAME_PATH,
    SAME_TEXT,
    EditRequest,
    check_content_size,
    check_texts_size,
    request_digest,
    write_digest,
)
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import MemoryRow, PathRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.proposals import ProposalRow
from memolith.core.trust import least
from memolith.ports.index import Query

ROWS_PER_READ = 100
_USED = "was used for another proposal of this store; choose another one"


class ProposalDrafts:
    """Makes the first record of a proposal, where the store's writes are decided."""

    def __init__(
        self, region: Region, log: ProposalLog, scanner: TextScanner, verdicts: Verdicts, texts: TextReader
    ) -> None:
        self._region = region
        self._log = log
        self._scanner = scanner
        self._verdicts = verdicts
        self._texts = texts

    def draft(self, view: View, store: StoreRow, request: Mapping[str, Any]) -> ProposalRecord:
        """Return the record to put; or the one that an earlier copy of the request has put.

        Two index reads for the edits, more beyond a hundred rows, a read of the verdicts on their texts, another for
        those in which a part is to be replaced, and a GET for each of these.

        Raises:
            InvalidRequest: an edit breaks a rule, the scanner refuses a text, or the store has too many proposals.
            PathConflict, PreconditionFailed, NotFound: the store does not hold what an edit builds on. Unavailable.
        """
        edits = [EditRequest.from_payload(one) for one in request["edits"]]
        digest = request_digest(bytes.fromhex(store.salt), request["actor"], request["why"], edits)
        known = self._log.row(view.index, store.store_id, request["proposal_id"])
        stored = None if known is None else self._log.record(known, ProposalStep.OPENED)
        if stored is not None:
            return self.same(stored, digest, request["actor"])
        self._require_room(view, store)
        why = self._why(store, request["why"], "why")
        resolved = self._resolved(view, store, edits, request["trust"])
        return self._record(store, request["proposal_id"], request["actor"], why, resolved, digest)

    def staged(
        self, view: View, store: StoreRow, request: Mapping[str, Any]
    ) -> tuple[ProposalRow | None, ProposalRecord]:
        """Return the row, if there is one, and the first record of the proposal that a direct write is, or becomes.

        The write is resolved first: though its proposal is open, it is refused where it is in conflict by now, and is
        another write where the memory has another text by now. Costs as `draft`, without the query for a proposal that
        is there, and a LIST for each home that the store had before; after n decisions about the same write, some
        2 log n index reads more. Raises as `draft`.
        """
        edits = self._resolved(
            view, store, [EditRequest.from_payload(one) for one in request["edits"]], request["trust"]
        )
        digest = write_digest(bytes.fromhex(store.salt), request["actor"], edits[0])
        proposal_id, row = self._next_of_write(view, store, digest)
        stored = None if row is None else self._log.record(row, ProposalStep.OPENED)
        if stored is not None:
            return row, stored
        self._require_room(view, store)
        return row, self._record(store, proposal_id, request["actor"], "", edits, digest)

    def _next_of_write(self, view: View, store: StoreRow, digest: str) -> tuple[str, ProposalRow | None]:
        """Return the id and the row of the first proposal of a write that is new, or can still be approved.

        The proposals of one write are numbered. The numbers are doubled and bisected: no look at each that was decided.
        """
        now_us = self._region.clock.now_us()
        found: dict[int, tuple[str, ProposalRow | None]] = {}

        def is_next(number: int) -> bool:
            proposal_id = keyed_id("prop", store.store_id, digest, str(number))
            row = self._log.row(view.index, store.store_id, proposal_id)
            row = self._log.caught_up(view, store, proposal_id, row)
            found[number] = proposal_id, row
            return row is None or is_pending(row, now_us)

        above = 1
        while not is_next(above - 1):
            above *= 2
        return found[bisect_left(range(above), True, above // 2, above - 1, key=is_next)]

    def _record(
        self, store: StoreRow, proposal_id: str, actor: str, why: str, edits: tuple[ProposedEdit, ...], digest: str
    ) -> ProposalRecord:
        now_us = self._region.clock.now_us()
        return ProposalRecord(
            store_id=store.store_id,
            proposal_id=proposal_id,
            step=ProposalStep.OPENED,
            epoch=store.epochs[-1],
            at=now_us,
            by=actor,
            why=why,
            edits=edits,
            expires_at=now_us + PROPOSAL_LIFETIME_US,
            request_hmac=digest,
        )

    @staticmethod
    def same(stored: ProposalRecord, digest: str | None, actor: str) -> ProposalRecord:
        """Return the record that is stored, if it is of the same request. Raises InvalidRequest.

        Of one that was erased nothing says what was asked for. It counts as the same if the same actor asks.
        """
        if stored.request_hmac == digest or (not stored.has_text and stored.by == actor):
            return stored
        raise InvalidRequest("key", _USED)

    def _require_room(self, view: View, store: StoreRow) -> None:
        prefix = ProposalRow.listing_prefix(is_open=True)
        query = Query("stores", store.store_id, prefix=prefix, limit=PROPOSALS_OPEN_MAX)
        if len(view.index.query(query)) >= PROPOSALS_OPEN_MAX:
            raise InvalidRequest(
                "memory_store_id", f"the store has {PROPOSALS_OPEN_MAX} open proposals, which is its limit; decide some"
            )

    # ---- edits --------------------------------------------------------------------------------------------------

    def _resolved(
        self, view: View, store: StoreRow, edits: Sequence[EditRequest], trust: str | None
    ) -> tuple[ProposedEdit, ...]:
        store_id = store.store_id
        paths = [
            path for edit in edits for path in (None if edit.memory_id else edit.path, edit.to) if path is not None
        ]
        versions = {source for edit in edits for source in edit.sources}
        asked: list[RowKey] = [PathRow.key(store_id, path) for path in paths]
        rows = self._read(view, [*asked, *(VersionRow.key(store_id, one) for one in sorted(versions))])
        occupants = {path: _occupant(rows, store_id, path) for path in paths}
        named = {edit.memory_id for edit in edits if edit.memory_id is not None}
        ids = sorted(named.union(id for id in occupants.values() if id is not None))
        rows |= self._read(view, [MemoryRow.key(store_id, id) for id in ids])
        if any(MemoryRow.key(store_id, id) not in rows for id in named):
            self._region.require_whole(view, "memories")
        self._refuse_withheld(view, store, _replaced_in(edits, rows, store_id, occupants))
        resolved = tuple(
            self._edit(store, rows, occupants, edit, f"edits.{number}", trust) for number, edit in enumerate(edits)
        )
        check_texts_size(edit.content for edit in resolved)
        new = {edit.content_sha256: f"edits.{number}.content" for number, edit in enumerate(resolved)}
        self._refuse_withheld(view, store, {sha256: field for sha256, field in new.items() if sha256 is not None})
        return resolved

    def _read(self, view: View, keys: Sequence[RowKey]) -> dict[RowKey, Attributes]:
        rows: dict[RowKey, Attributes] = {}
        for some in batches(keys, ROWS_PER_READ):
            rows |= self._region.read(view.index, some)
        return rows

    def _edit(
        self,
        store: StoreRow,
        rows: Mapping[RowKey, Attributes],
        occupants: Mapping[str, str | None],
        edit: EditRequest,
        field: str,
        trust: str | None,
    ) -> ProposedEdit:
        """Resolve one edit; the text that it asks for is scanned as a write's."""
        head = _head(rows, store.store_id, edit.memory_id or occupants[edit.path])
        if edit.memory_id is not None:
            edit = _by_id(edit, head, field)
        taken = edit.path if edit.op == "create" else edit.to
        holder = None if taken is None else _head(rows, store.store_id, occupants[taken])
        if taken is not None and holder is not None:
            raise PathConflict(taken, holder.memory_id)
        content = edit.content
        if edit.op != "create":
            if head is None:
                raise NotFound("memory", f"{field}.path", "this store has none there")
            if edit.expected_content_sha256 not in (None, head.content_sha256):
                raise PreconditionFailed(edit.path)
            if edit.op == "str_replace":
                trust = least([head.trust], trust)  # whoever proposes it, the rest of the text is the memory's
                text = self._text(store, head, field)
                content = str_replaced(text, edit.old or "", edit.new or "", f"{field}.old")
                check_content_size(content, f"{field}.new")
        content = self._scanned(store, edit, content, field)
        if content is not None and head is not None and sha256_hex(content) == head.content_sha256:
            if edit.memory_id is None or edit.op != "rename":
                raise InvalidRequest(f"{field}.content", SAME_TEXT)
            content = None  # a write asks for all that it sends; its text is the memory's only without the secrets
        return ProposedEdit(
            op="replace" if edit.op == "str_replace" else edit.op,
            path=edit.path,
            to=edit.to,
            content=content,
            content_sha256=None if content is None else sha256_hex(content),
            memory_id=None if head is None else head.memory_id,
            expected_content_sha256=None if head is None else head.content_sha256,
            why=self._why(store, edit.why, f"{field}.why"),
            sources=edit.sources,
            trust=_class_of(rows, store.store_id, edit, trust, field),
        )

    def _text(self, store: StoreRow, head: MemoryRow, field: str) -> str:
        """Return a text that is not withheld. Raises InvalidRequest for one that was erased."""
        text = self._texts.read(store.store_id, head.ref, Acknowledged(head.content_sha256 or "", head.version_id))
        if text is None:
            raise InvalidRequest(f"{field}.path", "names a memory whose text was erased")
        return text

    def _scanned(self, store: StoreRow, edit: EditRequest, content: str | None, field: str) -> str | None:
        """Return an edit's text as a write of it would be stored: without secrets, where the store redacts them."""
        if content is None and edit.to is None:
            return None
        at = {"path": f"{field}.to" if edit.to is not None else f"{field}.path", "content": f"{field}.content"}
        text = self._clean(store, content or "", edit.to or edit.path, at)
        return None if content is None else text

    def _clean(self, store: StoreRow, text: str, path: str, at: Mapping[str, str]) -> str:
        """Scan a text, and a path, as the store has its writes scanned. Raises InvalidRequest, by the names of `at`."""
        try:
            _, admitted = admit(self._scanner, store, CreateMemory(store.store_id, "", "", "", path, text))
        except InvalidRequest as error:
            raise InvalidRequest(at.get(error.field, error.field), error.rule, findings=error.findings) from error
        return admitted.text

    def _why(self, store: StoreRow, why: str, field: str) -> str:
        """Return a reason as it may be stored: it is shown to people, and must not carry a secret past the scanner."""
        return self._clean(store, why, "/why", {"content": field, "path": field}) if why else ""

    def _refuse_withheld(self, view: View, store: StoreRow, fields: Mapping[str, str]) -> None:
        """Refuse texts that are withheld in this store, given as their hashes with the field that names each."""
        for sha256, row in self._verdicts.of(view, store, fields).items():
            if withheld_by(row) is not None:
                raise InvalidRequest(fields[sha256], "is, or names, a text that the safety scanner withholds here")


def _replaced_in(
    edits: Sequence[EditRequest], rows: Mapping[RowKey, Attributes], store_id: str, occupants: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the hashes of the texts in which a part is to be replaced, each with the field that names its memory.

    A withheld one is refused before it is read: how often `old` is in it would tell it letter by letter, and what the
    scanner finds in it would show it.
    """
    found = {}
    for number, edit in enumerate(edits):
        head = _head(rows, store_id, edit.memory_id or occupants[edit.path]) if edit.op == "str_replace" else None
        if head is not None and head.content_sha256 is not None:
            found[head.content_sha256] = f"edits.{number}.path"
    return found


def _occupant(rows: Mapping[RowKey, Attributes], store_id: str, path: str) -> str | None:
    attributes = rows.get(PathRow.key(store_id, path))
    return None if attributes is None else PathRow.from_attributes(attributes).memory_id


def _head(rows: Mapping[RowKey, Attributes], store_id: str, memory_id: str | None) -> MemoryRow | None:
    attributes = None if memory_id is None else rows.get(MemoryRow.key(store_id, memory_id))
    row = None if attributes is None else MemoryRow.from_attributes(attributes)
    return row if row is not None and is_live(row) else None


def _by_id(edit: EditRequest, head: MemoryRow | None, field: str) -> EditRequest:
    """Return an edit of a memory by its id as it is here. Raises NotFound, InvalidRequest for one that asks nothing."""
    if head is None or head.path is None:
        raise NotFound("memory", edit.memory_id or "")
    at_home = edit.at_home(head.path, head.content_sha256)
    if at_home.op == "replace" and at_home.content is None:
        raise InvalidRequest(f"{field}.to", SAME_PATH)
    return at_home


def _class_of(
    rows: Mapping[RowKey, Attributes], store_id: str, edit: EditRequest, trust: str | None, field: str
) -> str | None:
    """Return the least class of the author, of what the author said, and of the sources. Raises InvalidRequest."""
    classes: list[str | None] = [edit.at_most]
    for number, source in enumerate(edit.sources):
        attributes = rows.get(VersionRow.key(store_id, source))
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        if row is None or row.memory_id is None:
            raise InvalidRequest(f"{field}.sources.{number}", "must be a version of this store")
        classes.append(row.trust)
    return least(classes, trust)
