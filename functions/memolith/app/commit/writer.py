"""Where a write is decided and committed: the CAS loop of a store's home.

    read the facts -> `core.decide` -> reserve the path -> put the next slot -> fold -> answer

The put is the commit: the precondition check, the content and the audit entry in one call. If the slot is taken, what
stands there is folded and the command is decided again. Nothing is answered, not even a refusal, that the log could
contradict: a refusal or a no-op is given only once the slot after its head was found free.

The store's approval policy judges here too, by the head and the path of each decision: what a region knew of the memory
when the call landed may be old. A version that is to wait for a person is refused, and where the call landed it becomes
a proposal.

A call that was passed on may run twice at once, if the network repeats it. It is done once: whoever puts a version
above another has folded that one first. So a copy that reads its own version's row after the rows it decides by either
finds what the other copy did, or puts into a slot that is taken.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from memolith.app.commit.attempt import Attempt, Outcome, Step
from memolith.app.commit.log_steps import body_of, known_rows, known_version
from memolith.app.commit.parts import WriterParts
from memolith.app.epochs.fence import require_writing_home
from memolith.app.index.path_claims import IntentConflict
from memolith.app.kernel.region import Region, View
from memolith.app.safety.verdicts import verdict_keys
from memolith.app.safety.write_gate import TextScanner, admit
from memolith.core import decide, fold
from memolith.core.approval import waits
from memolith.core.commands import (
    AdoptVersion,
    Command,
    DeleteMemory,
    ImportVersion,
    WriteCommand,
    is_deletion,
    version_ids,
)
from memolith.core.epochs import current_epoch
from memolith.core.errors import (
    Busy,
    InvalidRequest,
    MemolithError,
    NeedsApproval,
    NotFound,
    OutcomeUnknown,
    PathConflict,
    Unavailable,
    in_doubt,
)
from memolith.core.integrity import contradicts, is_made_of
from memolith.core.limits import WRITE_ATTEMPTS
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.store_record import StoreState
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import VerdictRow

ACCEPTED = "accepted"
"""The outcome under which a write is counted that was not refused; a refusal's is the name of its error."""


class Writer:
    """Commits commands on memories of stores whose home this region is."""

    def __init__(self, region: Region, scanner: TextScanner, parts: WriterParts) -> None:
        self._region = region
        self._scanner = scanner
        self._verdicts = parts.verdicts
        self._steps = parts.steps
        self._facts = parts.facts
        self._repair = parts.repair
        self._creation = parts.creation
        self._rename = parts.rename
        self._vacancy = parts.vacancy

    # ---- the loop ---------------------------------------------------------------------------------------------

    def write(self, view: View, store: StoreRow, command: Command, passed_on_us: int | None = None) -> Outcome:
        """Scan the text, then carry the command out, or say why not. Where the store has secrets redacted, the text
        that is decided on and put is the one without them.

        `view.rows` may hold the rows concerned already; what is missing is read. An update costs one PUT and one
        transaction; a creation adds its claim and its look; a refusal costs one HEAD. With `passed_on_us` (`Attempt`) a
        copy of the call that runs beside this one does not do it again: one read more for each slot lost to others.

        Raises:
            InvalidRequest: the scanner refuses the text, or the store takes none. Busy, Unavailable: nothing was done.
            OutcomeUnknown: it may have been.
        """
        try:
            outcome = self._carry_out(view, store, command, passed_on_us)
        except MemolithError as error:
            self._region.metrics.count("writes", outcome=type(error).__name__)
            raise
        self._region.metrics.count("writes", outcome=type(outcome.error).__name__ if outcome.error else ACCEPTED)
        return outcome

    def _carry_out(self, view: View, store: StoreRow, command: Command, passed_on_us: int | None) -> Outcome:
        self._refuse_withheld(view, store, command)
        clean, admitted = admit(self._scanner, store, command)
        if admitted.redacted:
            self._refuse_withheld(view, store, clean)
        outcome = self.commit(view, store, clean, admitted.flags, passed_on_us)
        outcome.redacted = admitted.redacted
        return outcome

    def commit(
        self,
        view: View,
        store: StoreRow,
        command: WriteCommand,
        flags: tuple[str, ...] = (),
        passed_on_us: int | None = None,
    ) -> Outcome:
        """Decide, put and fold until the log agrees, without scanning. `flags` are the version's; otherwise as `write`.

        Raises:
            InvalidRequest: the store takes none. Busy, Unavailable: nothing was done. OutcomeUnknown: it may have been.
        """
        attempt = Attempt(view, store, Outcome(), flags, passed_on_us, own=tuple(version_ids(command)))
        for attempt.number in range(WRITE_ATTEMPTS):
            _require_writable(self._region.name, attempt.store, command)
            if self._try(attempt, command) is Step.DECIDED:
                return self._answer(attempt, command)
            if attempt.done is not None:
                outcome = self.recall(attempt.view, attempt.store, attempt.done)
                outcome.resolved[:0] = attempt.outcome.resolved
                return outcome
            self._refresh(attempt)
        raise Busy("others kept writing here, or a call that failed may hold the path for ten seconds; try again")

    def _try(self, attempt: Attempt, command: WriteCommand) -> Step:
        """Read the facts that the decision asks for, then carry it out."""
        facts = decide.Facts(bytes.fromhex(attempt.store.salt))
        while isinstance(decision := decide.decide(facts, command), decide.Look):
            known = self._facts.look(attempt, command, facts, decision)
            if known is None:
                return Step.AGAIN
            facts = known
        head = facts.head if isinstance(facts.head, MemoryRow) else None
        if isinstance(decision, decide.Commit) and waits(attempt.store.approval, command, head, decision):
            decision = decide.Refused(NeedsApproval())
        try:
            return self._do(attempt, command, head, decision)
        except IntentConflict:
            self._region.back_off(attempt.number + 2)
            return Step.AGAIN

    def _do(self, attempt: Attempt, command: WriteCommand, head: MemoryRow | None, decision: decide.Decision) -> Step:
        """Carry a decision out; DECIDED without a version for a late one that is left apart."""
        match decision:
            case decide.Commit(operation=Operation.CREATED, blank=True):
                return self._creation.begin_blank(attempt, command)
            case decide.Commit(operation=Operation.CREATED):
                return self._creation.commit(attempt, command, decision)
            case decide.Commit(operation=Operation.MOVED_IN) if head is not None:
                return self._rename.commit(attempt, command, head, decision)
            case decide.Commit(reserves=True) if head is not None:
                return self._creation.come_back(attempt, command, head, decision)
            case decide.Commit() if head is not None:
                return self._append(attempt, command, head, decision)
            case decide.NoChange() | decide.Refused():
                return self._confirm(attempt, head, decision)
            case decide.LeftApart():
                return self._leave_apart(attempt, command, head)
            case decide.Commit():
                raise ValueError(f"a version that is {decision.operation} needs a head to follow")

    def _append(self, attempt: Attempt, command: WriteCommand, head: MemoryRow, commit: decide.Commit) -> Step:
        """Put a version in the slot after its memory's head: a change or a deletion."""
        slot = self._steps.slot_after(attempt, head)
        if slot is None:
            return Step.AGAIN
        key = LogKey(head.store_id, head.path_hash, slot)
        entry = decide.follows(self._steps.draft(command, attempt), head, key, commit)
        entry = entry.blanked() if commit.blank else entry
        return self._steps.append(attempt, entry, commit.content, head, known_rows(head, entry))

    def _confirm(self, attempt: Attempt, head: MemoryRow | None, decision: decide.NoChange | decide.Refused) -> Step:
        """Let a refusal or a no-op hold if the log has nothing after the head that it was decided by. One HEAD."""
        if head is not None and not head.gone and self._steps.has_more(attempt, head):
            return Step.AGAIN
        attempt.outcome.memory = head
        if isinstance(decision, decide.Refused):
            attempt.outcome.error = decision.error
        elif head is not None:
            self._steps.replica.secure(attempt.store, LogKey(head.store_id, head.path_hash, Slot.parse(head.slot)))
        return Step.DECIDED

    def _leave_apart(self, attempt: Attempt, command: WriteCommand, head: MemoryRow | None) -> Step:
        """Leave a late version apart, unless its log has a memory that the index did not know, which is folded now.

        An imported one is refused: another memory has its head's path.

        Who adopted that memory may have died before the fold, and its original, if erased since, asks no more. Nobody
        puts above what is not folded, so that it is the last in its log. A memory that the present epoch began without
        is over, though its creation may be the last that is known of its path. A few HEADs, where the index knows no
        memory.
        """
        if isinstance(command, ImportVersion):
            attempt.outcome.error = PathConflict("")  # the path of an erased head is known to no row
        if head is not None or not isinstance(command, AdoptVersion):
            return Step.DECIDED
        tail = self._steps.logs.tail(attempt.store, command.straggler.key.path_hash)
        if tail is None or tail.memory_id != command.memory_id:
            return Step.DECIDED
        if self._repair.had_ended(attempt.store, tail.slot.epoch, tail.memory_id):
            return Step.DECIDED
        self._steps.observe(attempt, tail, paths_too=True)
        return Step.DECIDED if self._steps.fresh_head(attempt, command.memory_id) is None else Step.AGAIN

    def _answer(self, attempt: Attempt, command: WriteCommand) -> Outcome:
        """Return the outcome, once nothing says that this region was not the home while it was decided."""
        if attempt.outcome.error is None:
            self._steps.replica.confirm(attempt.store)
        self._require_lease(attempt, command)
        return attempt.outcome

    def _require_lease(self, attempt: Attempt, command: WriteCommand) -> None:
        """Nothing that outlived its lease is answered as the home's, refusals and no-ops neither. No call within it."""
        try:
            if self._steps.fence.is_current(attempt.view, attempt.store):
                return
        except Unavailable:
            if not _committed(attempt.outcome, command):
                raise
        if _committed(attempt.outcome, command):
            self._put_rows_right(attempt)
            raise OutcomeUnknown("the store's home may have changed meanwhile; read before trying again")
        raise Unavailable("the store's home changed while this was decided; try again")

    def _put_rows_right(self, attempt: Attempt) -> None:
        """Repair what was projected after the home had changed, as its event may have been handled before that.

        A read, and what `EpochRepair.versions` costs. Where it fails, the daily repair does it.
        """
        key = StoreRow.key(attempt.store.store_id)
        with suppress(Busy, Unavailable, OutcomeUnknown):
            attributes = self._region.read(attempt.view.index, [key]).get(key)
            if attributes is not None:
                self._repair.versions(attempt.view, StoreRow.from_attributes(attributes), attempt.outcome.resolved)

    def _refuse_withheld(self, view: View, store: StoreRow, command: Command) -> None:
        """Refuse a text that a verdict withholds in this store. A read where `view` has not asked."""
        if isinstance(command, DeleteMemory):
            return
        for key in verdict_keys(store.store_id, bytes.fromhex(store.salt), command.content):
            rows = view.rows if key in view.asked else self._region.read(view.index, [key])
            if key in rows:
                self._verdicts.refuse_if_withheld(VerdictRow.from_attributes(rows[key]))

    def _refresh(self, attempt: Attempt) -> None:
        """Before deciding again: which tables serve, and the store's record, as they are now."""
        key = StoreRow.key(attempt.store.store_id)
        lease_us = attempt.view.ticks_us
        attempt.view = self._region.view([key])
        if key in attempt.view.rows:
            attempt.store = StoreRow.from_attributes(attempt.view.rows[key])
        else:
            attempt.view = replace(attempt.view, ticks_us=lease_us)

    # ---- what others ask of the writer -------------------------------------------------------------------------

    def refresh(self, view: View, store: StoreRow, head: MemoryRow) -> bool:
        """Folds what the log has after `head`; whether there was anything. One HEAD where there was not."""
        return self._steps.has_more(Attempt(view, store, Outcome()), head)

    def done(self, view: View, store: StoreRow, command: WriteCommand) -> VersionRow | None:
        """Return the row of a version of the command's own that stands already and counts, of those that `view` has.

        No call where it is of the present epoch, or none stands; otherwise as `EpochRepair.is_late`.
        """
        row = known_version(view.rows, [VersionRow.key(command.store_id, id) for id in version_ids(command)])
        return None if row is None or self._repair.is_late(view, store, row) else row

    def recall(self, view: View, store: StoreRow, done: VersionRow) -> Outcome:
        """Return what the write of a version did. One HEAD, two for a rename; the lease as for any answer.

        Of a text that has been erased since, nothing is left to tell: neither its path nor its hash. A deletion has
        none.

        Raises:
            OutcomeUnknown: this cannot be told now; it was done, if the store's home has not changed meanwhile.
        """
        _require_home(self._region.name, store)
        key = done.ref.key_in(store.store_id)
        try:
            entry = self._steps.logs.acknowledged_entry(
                key, lambda one: not contradicts(done, None, fold.join_version(None, one))
            )
            if entry is not None and (entry.operation is Operation.DELETED or not entry.blank):
                outcome = Outcome(fold.join_memory(None, entry), resolved=list(self._steps.logs.resolve(entry)))
                self._steps.replica.secure(store, key)
                self._steps.replica.confirm(store)
                if self._steps.fence.is_current(view, store):
                    return outcome
        except Unavailable as error:
            raise in_doubt("what this write did cannot be read now", error) from error
        raise OutcomeUnknown("what this write did cannot be told now; read before trying again")

    def answer_for(self, view: View, store: StoreRow, position: LogRef) -> None:
        """Make sure of a version that stands already. No call for a store in one region, within the lease.

        Raises:
            Unavailable, OutcomeUnknown: it may not be in the second region, or another region may be the home by now.
        """
        self._steps.replica.secure(store, position.key_in(store.store_id))
        self._steps.replica.confirm(store)
        if not self._steps.fence.is_current(view, store):
            raise Unavailable("the store's home changed while this was decided; try again")

    def attach_entries(self, outcome: Outcome) -> None:
        """Add the head that an outcome was decided against, where nothing on the way was it. One HEAD, or two.

        Only what this region's row of it says: the region that asked would believe an altered object.
        """
        row = outcome.memory
        if row is None or any(one.entry.version_id == row.version_id for one in outcome.resolved):
            return
        key = row.ref.key_in(row.store_id)
        entry = self._steps.logs.acknowledged_entry(key, lambda one: is_made_of(row, fold.join_memory(None, one)))
        if entry is not None:
            outcome.resolved.extend(self._steps.logs.resolve(entry))

    def help(self, view: View, store: StoreRow, moved_in: Entry) -> list[ResolvedEntry]:
        """Finishes somebody's rename whose second put is missing, and folds what came of it. Repeatable.

        One of an epoch that is over is not to be finished any more: the cut has decided.
        """
        attempt = Attempt(view, store, Outcome())
        if moved_in.slot.epoch == current_epoch(store):
            self._steps.observe(attempt, moved_in)
        return attempt.outcome.resolved

    def vacate(self, view: View, store: StoreRow, erased: Entry) -> bool:
        """Take a memory whose head was erased from its path; return whether it is its head. See `Vacancy.make`."""
        return self._vacancy.make(view, store, erased)

    def seal(self, store: StoreRow, moved_in: Entry) -> bool:
        """Take the source slot of a rename of this region's whose epoch is over; return whether it is void. Repeatable.

        Whoever began it may still be about to take the slot: of the two, one does. A HEAD and a PUT.

        Raises:
            Unavailable, OutcomeUnknown: repeat it.
        """
        if moved_in.source is None or moved_in.slot.epoch.rank >= current_epoch(store).rank:
            return False
        key = moved_in.source.key_in(store.store_id)
        now_us = self._region.clock.now_us()
        entry = decide.void(key, self._region.new_id("memver"), now_us)
        return self._steps.slots.take(entry, body_of(entry, None)) is not None


def _committed(outcome: Outcome, command: WriteCommand) -> bool:
    """Whether the outcome is a version of the command's own."""
    return outcome.memory is not None and outcome.memory.version_id in version_ids(command)


def _require_home(here: str, store: StoreRow) -> None:
    """Raise OutcomeUnknown for a write in the log of a home whose term is ending: it may arrive too late."""
    if store.state != StoreState.ACTIVE or store.home != here:
        raise OutcomeUnknown("the write stands where the store's home is about to leave; read before trying again")


def _require_writable(here: str, store: StoreRow, command: WriteCommand) -> None:
    """By the record as it was read last: between two attempts the store may have moved, and its home may be elsewhere.

    Source: docs/api-compatibility.md §1.8: an archived store takes no new text; deletions still go through.
    A deleted store takes what came late, and nothing else: if it is restored, all of it is there. An archived one takes
    what its former home had written before it archived the store.
    """
    archived_since = command.archived_since if isinstance(command, AdoptVersion) else None
    if store.is_deleted and not isinstance(command, AdoptVersion):
        raise NotFound("memory_store", store.store_id)
    require_writing_home(here, store)
    if store.archived_at not in (None, archived_since) and not is_deletion(command):
        raise InvalidRequest("memory_store_id", "the memory store is archived and takes no new content")
