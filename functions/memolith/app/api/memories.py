"""Memories: written at home wherever the call lands, read from the index and the bucket of this region."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.linearizable_reads import LinearizableReads
from memolith.app.api.sources import OWN, Origin, class_of, source_keys
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.commit.attempt import Outcome, decode_outcome
from memolith.app.commit.forwarding import Forwarding
from memolith.app.commit.writer import Writer
from memolith.app.epochs.ownership import Ownership
from memolith.app.index.path_listing import ListedPath, PathListing
from memolith.app.kernel.peer_messages import NotHome
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import Memory, MemoryPrefix, Page, RequestContext
from memolith.app.safety.text_access import TextReader, TextRequest, TextView, within_budget
from memolith.app.safety.verdicts import verdict_keys
from memolith.app.safety.write_gate import REDACTED_FLAG
from memolith.core import ids
from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory, to_payload, version_ids
from memolith.core.errors import Busy, InvalidRequest, NotFound, Unavailable, in_doubt
from memolith.core.fold import is_live
from memolith.core.limits import CONTENT_MAX_BYTES, LIST_MAX_FULL, LIST_MAX_FULL_BYTES
from memolith.core.listing import PATH_POSITION, check_position
from memolith.core.log_position import Slot
from memolith.core.paths import check_path, check_path_prefix, path_hash
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, PlacedRecord, to_record

SALTS_KEPT = 1_000
ERASED_HEADS_MAX = 4
"""After how many heads that were superseded, and erased, while it was read a memory is said to be busy."""


class Memories:
    """The use cases of memories."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        writer: Writer,
        forwarding: Forwarding,
        reads: ForwardedReads,
        texts: TextReader,
        linearizable_reads: LinearizableReads,
        records: Ownership,
        listing: PathListing,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._writer = writer
        self._forwarding = forwarding
        self._forwarded = reads
        self._texts = texts
        self._linearizable_reads = linearizable_reads
        self._records = records
        self._listing = listing
        self._salts: dict[str, str] = {}

    # ---- writing ------------------------------------------------------------------------------------------------

    def create(
        self, call: RequestContext, store_id: str, *, path: str, content: str, full: bool, origin: Origin = OWN
    ) -> Memory:
        """Create a memory at a free path. Its text is no more trusted than its `origin`.

        One index read, a write intent, a look, one PUT, one transaction; a HEAD more for a refusal.

        Raises:
            InvalidRequest, NotFound, PathConflict, Busy, Unavailable, OutcomeUnknown; or what `Authorizer` raises.
        """
        return self.write(call, CreateMemory(store_id, "", "", "", path, content), full=full, origin=origin)

    def update(
        self,
        call: RequestContext,
        store_id: str,
        memory_id: str,
        *,
        content: str | None,
        path: str | None,
        expected_content_sha256: str | None,
        full: bool,
        origin: Origin = OWN,
        expected_version_id: str | None = None,
    ) -> Memory:
        """Change content, path, or both, if content, or version, is still the expected one; `origin` as `create`.

        One index read, one PUT, one transaction; a rename adds its write intent, look and second PUT, and a GET for
        kept content; emptying on a precondition an index read and a GET. What is already so makes no new version.

        Raises: as `create`; PreconditionFailed; Damaged.
        """
        if content is None and path is None:
            raise InvalidRequest("", "at least one of content and path must be given")
        restored = origin.restored and not content  # said where it matters alone: an earlier release does not know it
        expected = expected_content_sha256, None, expected_version_id
        command = UpdateMemory(store_id, memory_id, "", "", content, path, *expected, restored=restored)
        return self.write(call, command, full=full, origin=origin)

    def delete(
        self,
        call: RequestContext,
        store_id: str,
        memory_id: str,
        *,
        expected_content_sha256: str | None,
        expected_version_id: str | None = None,
    ) -> str:
        """Delete a memory; its versions stay listable. Two index reads, a PUT, a transaction. Raises as `update`."""
        expected = expected_content_sha256
        return self.write(call, DeleteMemory(store_id, memory_id, "", "", expected, None, expected_version_id)).id

    def write(self, call: RequestContext, command: Command, *, full: bool = False, origin: Origin = OWN) -> Memory:
        """Carry out a command as its caller, whose actor and class it is given here, and new ids where it has none.

        One that has a version's id may be repeated: it is answered with what it did, whatever was written since. What
        `create`, `update` and `delete` cost, and raise.
        """
        began_us = self._region.clock.now_us() if command.version_id else None
        path, content = (None, None) if isinstance(command, DeleteMemory) else (command.path, command.content)
        if path is not None:
            check_path(path)
        if content is not None:
            _check_content(content)
        if not isinstance(command, CreateMemory):
            _check_memory_id(command.memory_id)
        keys = [*self._keys(command), *source_keys(command.store_id, origin.sources)]
        access = self._authorizer.enter_store(call, Scope.write, command.store_id, keys)
        self.remember_salt(access.store)
        command = replace(
            command,
            memory_id=command.memory_id or self._region.new_id("mem"),
            version_id=command.version_id or self._region.new_id("memver"),
            actor=access.actor,
            trust=class_of(access, self._region.name, origin),
        )
        store = self._records.written_by(access.view, access.store, command.memory_id, path)
        outcome = self._carry_out(replace(access, store=store), command, began_us)
        return self._answer(outcome, self._written(access, outcome, content) if full else TextView())

    def _carry_out(self, access: StoreAccess, command: Command, began_us: int | None) -> Outcome:
        """Write here, if this is the store's home; otherwise there, and project the result here."""
        payload = {"call": "write", "workspace_id": access.workspace_id, **to_payload(command)}
        store, answer = self._forwarding.reach(access.view, access.store, payload)
        if answer is None:
            view, store = self._as_home(access.view, store, command)
            return self._once(view, store, command, began_us)
        outcome = decode_outcome(answer)
        self._fold_here(access.view, store, outcome)
        if isinstance(outcome.error, NotFound) and outcome.memory is None:
            self._require_unknown_here(access.view, command)
        return outcome

    def _once(self, view: View, store: StoreRow, command: Command, began_us: int | None) -> Outcome:
        """Write at home, or tell what was written where `view` shows that; `began_us` as `Attempt.passed_on_us`."""
        done = self._writer.done(view, store, command)
        if done is not None:
            return self._writer.recall(view, store, done)
        return self._writer.write(view, store, command, passed_on_us=began_us)

    def _require_unknown_here(self, view: View, command: Command) -> None:
        """Raise Unavailable for a memory that is in the log, and so here, before its home has indexed it."""
        key = MemoryRow.key(command.store_id, command.memory_id)
        if key in view.rows and is_live(MemoryRow.from_attributes(view.rows[key])):
            raise Unavailable("the memory's home has not indexed it yet; try again")

    def _as_home(self, view: View, store: StoreRow, command: Command) -> tuple[View, StoreRow]:
        """Return rows to decide a write by: `view`'s if its own batch named this region the home, else new ones.

        What was read before the home came here is a replica's, which may lack what is acknowledged: it decides nothing.
        No call, or one index read. The lease begins no later than the record was read.
        """
        key = StoreRow.key(store.store_id)
        if key in view.rows and view.rows[key]["slot"] == store.slot:
            return view, store
        fresh = self._region.view([key, *self._keys(command)])
        if key not in fresh.rows:
            return replace(fresh, ticks_us=view.ticks_us), store
        return fresh, self._authorizer.store(fresh, store.store_id, store.workspace_id)

    def _keys(self, command: Command) -> list[RowKey]:
        """Return the rows that a command is decided by, where it has ids its own versions' among them."""
        store_id = command.store_id
        path, content = (None, None) if isinstance(command, DeleteMemory) else (command.path, command.content)
        head = [MemoryRow.key(store_id, command.memory_id)] if command.memory_id else []
        own = [VersionRow.key(store_id, one) for one in version_ids(command)] if command.version_id else []
        return [*head, *own, *self.creation_keys(store_id, path, content)]

    def write_at_home(self, workspace_id: str, command: Command) -> Outcome:
        """Write for a call that landed in another region; return the head it was decided against, too.

        A version_id that is known already is answered with what it did; one that becomes known while this runs, too
        (`Writer.write`). Costs as at home, without the caller's key; a refusal or a no-op a HEAD more.

        Raises:
            NotFound, Busy, Unavailable, OutcomeUnknown. Elsewhere: this is not the store's home; nothing was done.
        """
        began_us = self._region.clock.now_us()
        view = self._region.view([StoreRow.key(command.store_id), *self._keys(command)])
        store = self._authorizer.store(view, command.store_id, workspace_id)
        store = self._records.at_home(view, store)
        if store.home != self._region.name:
            raise NotHome(PlacedRecord(Slot.parse(store.slot), to_record(store, MOVER)))
        self.remember_salt(store)
        view, store = self._as_home(view, store, command)
        outcome = self._once(view, store, command, began_us)
        self._writer.attach_entries(outcome)
        return outcome

    def _fold_here(self, view: View, store: StoreRow, outcome: Outcome) -> None:
        """Project what the home did; that holds even if this region cannot index it now, unless it was a refusal."""
        try:
            self._forwarding.fold(view, store, outcome.resolved)
        except Unavailable as error:
            if outcome.error is not None:
                raise
            raise in_doubt("the store's home took the write, but it is not indexed where it landed", error) from error

    def _written(self, access: StoreAccess, outcome: Outcome, content: str | None) -> TextView:
        """Return the text that was written. Read where the caller did not give it, or it was stored without secrets."""
        memory = outcome.memory
        if memory is None or outcome.error is not None:
            return TextView()
        if content is None or REDACTED_FLAG in (memory.flags or ()):
            return self._kept_content(access, memory)
        return TextView(content)

    def _kept_content(self, access: StoreAccess, memory: MemoryRow) -> TextView:
        try:
            return self._show(access, memory)
        except Unavailable as error:
            raise in_doubt("the memory was written, but its content cannot be read now", error, "read it") from error

    def _show(self, access: StoreAccess, memory: MemoryRow) -> TextView:
        [text] = self._texts.show(access, [_wanted(memory)])
        return text

    def _answer(self, outcome: Outcome, text: TextView) -> Memory:
        if outcome.error is not None:
            raise outcome.error
        if outcome.memory is None:
            raise Unavailable("the write's outcome was not told; read before trying again")
        return replace(to_memory(outcome.memory, text), redacted=outcome.redacted)

    def creation_keys(self, store_id: str, path: str | None, content: str | None) -> list[RowKey]:
        """Return the rows of `path` and of `content`'s verdict, to be read with the first batch.

        None until the salt has been seen: their keys are made with it.
        """
        salt = bytes.fromhex(self._salts.get(store_id, ""))
        if not salt:
            return []
        occupancy = [] if path is None else [LogRow.key(store_id, path_hash(salt, path)), PathRow.key(store_id, path)]
        return [*occupancy, *verdict_keys(store_id, salt, content)]

    def remember_salt(self, store: StoreRow) -> None:
        """So that the next write to this store reads what it needs in one batch."""
        if len(self._salts) >= SALTS_KEPT:
            self._salts.clear()
        self._salts[store.store_id] = store.salt

    # ---- reading ------------------------------------------------------------------------------------------------

    @forwarded("retrieve_memory", as_of=None)
    def retrieve(self, call: RequestContext, store_id: str, memory_id: str, *, full: bool) -> Memory:
        """Return a memory at its head, as this region knows it. One index read; for content a GET beside another one.

        Where the caller demands the home's answer: at its head as its log has it, for one HEAD more.

        Raises:
            NotFound, Unavailable; Busy: others kept writing it; Unauthenticated, PermissionDenied.
        """
        _check_memory_id(memory_id)
        key = MemoryRow.key(store_id, memory_id)
        access = self._authorizer.enter_store(call, Scope.read, store_id, [key])
        attributes = access.view.rows.get(key)
        row = None if attributes is None else MemoryRow.from_attributes(attributes)
        if call.demand.home:
            row = self._linearizable_reads.memory(access.store, row, memory_id, call.known)
            self._linearizable_reads.require_home(access.view, access.store)
        if row is None:
            access.view.require_complete()
        if row is None or not is_live(row):
            raise NotFound("memory", memory_id)
        return self._with_text(access, row, self._show(access, row)) if full else to_memory(row)

    def _with_text(self, access: StoreAccess, row: MemoryRow, text: TextView) -> Memory:
        """Return a live memory with its content. A head that is found erased is no head any more: then the next one.

        Raises:
            NotFound: it is deleted by now. Unavailable; Busy: others kept writing, and erasing, it.
        """
        head: MemoryRow | None = row
        for _ in range(ERASED_HEADS_MAX):
            if not text.blank:
                return to_memory(row, text)
            head = self._linearizable_reads.erased_head(access.store, row)
            if head is None or not is_live(head):
                raise NotFound("memory", row.memory_id)
            row, text = head, self._show(access, head)
        raise Busy("others kept writing this memory; try again")

    @forwarded("list_memories", as_of=None)
    def page(
        self,
        call: RequestContext,
        store_id: str,
        *,
        path_prefix: str | None,
        depth: int,
        limit: int,
        after: str | None,
        full: bool,
    ) -> Page[Memory | MemoryPrefix]:
        """List live memories in byte order of their paths; with depth 1, roll deeper ones up into their folder.

        A memory that keeps its path all the while is on exactly one page. Two index reads and a query; with `full` at
        most 20 items or 850,000 bytes, and a GET for each.

        Raises:
            InvalidRequest, NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        prefix, after = check_path_prefix(path_prefix or "/"), check_position(after, PATH_POSITION)
        access = self._authorizer.enter_store(call, Scope.read, store_id)
        access.view.require_complete()
        limit = min(limit, LIST_MAX_FULL) if full else limit
        listed, more = self._listing.page(access.view, store_id, prefix, depth, limit, after)
        if full:
            fit = within_budget(
                [one.row.content_size_bytes or 0 if one.row else 0 for one in listed], LIST_MAX_FULL_BYTES
            )
            listed, more = listed[:fit], more or fit < len(listed)
        next_after = listed[-1].after if more and listed else None
        items = self._with_content(access, listed) if full else [_without_content(line) for line in listed]
        return Page(tuple(items), next_after)

    def _with_content(self, access: StoreAccess, listed: Sequence[ListedPath]) -> list[Memory | MemoryPrefix]:
        """Return the lines with contents, without memories that have left their path since, and been erased there."""
        rows = [one.row for one in listed if one.row is not None]
        text = iter(self._texts.show_each(access, [_wanted(row) for row in rows]))
        items: list[Memory | MemoryPrefix] = []
        for one in listed:
            if one.row is None:
                items.append(_without_content(one))
                continue
            with suppress(NotFound):
                memory = self._with_text(access, one.row, next(text))
                if memory.path == one.row.path:
                    items.append(memory)
        return items


def to_memory(row: MemoryRow, text: TextView | None = None) -> Memory:
    """Make what the API calls a memory."""
    text = text or TextView()
    return Memory(
        id=row.memory_id,
        store_id=row.store_id,
        version_id=row.version_id,
        path=row.path or "",
        content_sha256=row.content_sha256 or "",
        content_size_bytes=row.content_size_bytes or 0,
        created_at=row.created_at,
        updated_at=row.updated_at,
        content=text.content,
        flags=tuple(dict.fromkeys((*(row.flags or ()), *text.flags))),
        withheld=text.withheld,
        damaged=text.damaged is not None,
        trust=row.trust,
    )


def _without_content(line: ListedPath) -> Memory | MemoryPrefix:
    return MemoryPrefix(line.path) if line.row is None else to_memory(line.row)


def _wanted(row: MemoryRow) -> TextRequest:
    return TextRequest(row.ref, row.content_sha256 or "", row.version_id)


def _check_content(content: str) -> None:
    if len(content) > CONTENT_MAX_BYTES or len(content.encode()) > CONTENT_MAX_BYTES:
        raise InvalidRequest("content", f"must be at most {CONTENT_MAX_BYTES} bytes of UTF-8", too_large=True)


def _check_memory_id(memory_id: str) -> None:
    if ids.MEMORY.fullmatch(memory_id) is None:
        raise NotFound("memory", memory_id)
