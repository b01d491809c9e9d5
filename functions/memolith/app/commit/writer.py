"""Where a write is decided and committed: the CAS loop of a store's home.

    read the head -> `core.decide` -> put the next slot -> fold -> answer

The put is the commit: the precondition check, the content and the audit entry in one call. If the slot is taken, what
stands there is folded and the command is decided again. Nothing is answered, not even a refusal, that the log could
contradict: a refusal or a no-op is given only once the slot after its head was found free.

A call that was passed on may run twice at once, if the network repeats it. It is done once: whoever puts a version
above another has folded that one first. So a copy that reads its own version's row after the rows it decides by either
finds what the other copy did, or puts into a slot that is taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memolith.app.commit.attempt import Attempt, Outcome
from memolith.app.commit.parts import WriterParts
from memolith.app.index.path_claims import Claim, Claims, IntentConflict
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import ConditionalPut, Put
from memolith.app.safety.verdicts import verdict_keys
from memolith.app.safety.write_gate import TextScanner, admit
from memolith.core import decide, fold
from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory, version_ids
from memolith.core.epochs import current_epoch
from memolith.core.errors import Busy, InvalidRequest, MemolithError, OutcomeUnknown, PathConflict, Unavailable
from memolith.core.ids import derived_version_id
from memolith.core.limits import WRITE_ATTEMPTS
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.objects.entry import Actor, Entry, Operation
from memolith.core.objects.store_record import StoreState
from memolith.core.paths import path_hash
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.settled import ResolvedEntry
from memolith.ports import errors as port_errors

ACCEPTED = "accepted"
"""The outcome under which a write is counted that was not refused; a refusal's is the name of its error."""


WRITE_MIN_US = 1_000
"""Less than any write takes: a head that is newer than a read's beginning by less was written before the read."""


class Writer:
    """Commits commands on memories of stores whose home this region is."""

    def __init__(self, region: Region, scanner: TextScanner, parts: WriterParts) -> None:
        self._region = region
        self._scanner = scanner
        self._logs = parts.logs
        self._slots = ConditionalPut(region, self._logs)
        self._second = parts.second
        self._folder = parts.projector
        self._claims = Claims(region)
        self._capacity = parts.quota
        self._verdicts = parts.verdicts
        self._leases = parts.fence
        self._judging = parts.repair

    # ---- the loop ---------------------------------------------------------------------------------------------

    def write(self, view: View, store: StoreRow, command: Command, passed_on_us: int | None = None) -> Outcome:
        """Scans the text, then carries the command out, or says why not.

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
        flags = admit(self._scanner, store, command)
        attempt = Attempt(view, store, Outcome(), flags, passed_on_us=passed_on_us)
        return self._until_decided(attempt, command, lambda: self._try(attempt, command))

    def _until_decided(self, attempt: Attempt, command: Command, decided: Callable[[], bool]) -> Outcome:
        attempt.own = tuple(version_ids(command))
        for attempt.number in range(WRITE_ATTEMPTS):
            _require_writable(self._region.name, attempt.store, command)
            try:
                if decided():
                    if attempt.outcome.error is None:
                        self._second.confirm(attempt.store)
                    self._require_lease(attempt, command)
                    return attempt.outcome
            except IntentConflict:
                self._region.back_off(attempt.number + 2)
            if attempt.done is not None:
                outcome = self.recall(attempt.view, attempt.store, attempt.done)
                outcome.settled[:0] = attempt.outcome.settled
                return outcome
            self._refresh(attempt)
        raise Busy("others kept writing here; try again")

    def _require_lease(self, attempt: Attempt, command: Command) -> None:
        """Nothing that outlived its lease is answered as the home's, refusals and no-ops neither. No call within it."""
        try:
            if self._leases.stands(attempt.view, attempt.store):
                return
        except Unavailable:
            if not _committed(attempt.outcome, command):
                raise
        if _committed(attempt.outcome, command):
            raise OutcomeUnknown("the store's home may have changed meanwhile; read before trying again")
        raise Unavailable("the store's home changed while this was decided; try again")

    def _refuse_withheld(self, view: View, store: StoreRow, command: Command) -> None:
        """A text that a verdict withholds in this store is not taken in again. A read where `view` has not asked."""
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

    def _try(self, attempt: Attempt, command: Command) -> bool:
        """Whether the command has its outcome; False to decide again."""
        if isinstance(command, CreateMemory):
            return self._create(attempt, command)
        head = self._head(attempt, command.memory_id)
        if self._was_done(attempt, head):
            return False
        if head is not None and self._judging.memory(attempt.view, attempt.store, head):
            return False
        if isinstance(command, DeleteMemory):
            decision = decide.decide_delete(head, command)
        else:
            decision = decide.decide_update(head, command)
        if head is None:
            self._region.require_whole(attempt.view, "memories")
        if isinstance(decision, decide.Commit) and head is not None:
            if decision.operation is Operation.MOVED_IN and isinstance(command, UpdateMemory):
                return self._rename(attempt, command, head, decision)
            return self._append(attempt, command, head, decision)
        if head is not None and not head.gone and self._caught_up(attempt, head):
            return False
        attempt.outcome.memory = head
        if isinstance(decision, decide.Refused):
            attempt.outcome.error = decision.error
        elif head is not None:
            self._second.secure(attempt.store, LogKey(head.store_id, head.path_hash, Slot.parse(head.slot)))
        return True

    def _head(self, attempt: Attempt, memory_id: str) -> MemoryRow | None:
        """The memory's row. No call at first; a read later on, and where a home that has changed does not know it.

        A batch is not one moment: the record in it may be newer than the row, which was missing here before the home
        came.
        """
        key = MemoryRow.key(attempt.store.store_id, memory_id)
        if attempt.number or (key not in attempt.view.rows and len(attempt.store.epochs) > 1):
            return self._fresh(attempt, memory_id)
        return MemoryRow.from_attributes(attempt.view.rows[key]) if key in attempt.view.rows else None

    def _was_done(self, attempt: Attempt, head: MemoryRow | None, suspect: bool = False) -> bool:
        """Whether another copy of a passed-on call has carried it out; `attempt.done` says where then.

        To be asked once the rows that the command would be decided by have been read. One read from the second attempt
        on; at first, where something is `suspect`, or `head` was written while the first batch was being read: a batch
        is not one moment, and its row of the own version may be older than the head.
        """
        if attempt.passed_on_us is None:
            return False
        is_new = head is not None and head.updated_at > attempt.passed_on_us + WRITE_MIN_US
        if suspect or is_new or attempt.number:
            keys = [VersionRow.key(attempt.store.store_id, version_id) for version_id in attempt.own]
            attempt.done = _position(self._region.read(attempt.view.index, keys), keys)
        return attempt.done is not None

    # ---- update and delete ------------------------------------------------------------------------------------

    def _append(
        self, attempt: Attempt, command: UpdateMemory | DeleteMemory, head: MemoryRow, commit: decide.Commit
    ) -> bool:
        slot = self._next(attempt, head)
        if slot is None:
            return False
        draft = self._draft(command, attempt)
        entry = decide.follows(draft, head, LogKey(head.store_id, head.path_hash, slot), commit)
        if self._take(attempt, entry, commit.content) is Put.TAKEN:
            self._catch_up(attempt, head.path_hash, slot)
            return False
        self._fold_own(attempt, [ResolvedEntry(entry)], self._known(head, entry))
        attempt.outcome.memory = fold.join_memory(head, entry)
        return True

    def _known(self, head: MemoryRow, entry: Entry) -> dict[RowKey, Attributes | None]:
        return {
            MemoryRow.key(head.store_id, head.memory_id): head.to_attributes(),
            VersionRow.key(head.store_id, entry.version_id): None,
        }

    # ---- create -----------------------------------------------------------------------------------------------

    def _create(self, attempt: Attempt, command: CreateMemory) -> bool:
        store = attempt.store
        attempt.view.require_complete()
        hash = path_hash(bytes.fromhex(store.salt), command.path)
        log, path_row = self._occupancy(attempt, hash, command.path)
        if self._judging.log(attempt.view, store, hash, log):
            return False
        occupant = fold.occupant_of(log)
        holder = None if occupant is None else self._fresh(attempt, occupant)
        used_before = occupant is None and log is not None
        if self._was_done(attempt, holder, suspect=used_before or occupant == command.memory_id):
            return False
        if occupant is not None and not _is_erased(holder, hash):
            return self._blocked(attempt, occupant, holder, command.path, hash)
        slot = self._free_slot(attempt, hash, log)
        if slot is None:
            return False
        self._capacity.require_room(attempt.view, store.store_id)
        claim = Claim(store.store_id, command.path, f"{command.version_id}.{attempt.number}", LogRef(hash, slot))
        if not self._claim(attempt, claim, path_row, moving_id=None):
            return attempt.outcome.error is not None
        draft = self._draft(command, attempt)
        entry = decide.created(draft, LogKey(store.store_id, hash, slot), command.path, command.content)
        if self._take(attempt, entry, command.content) is Put.TAKEN:
            self._claims.withdraw(attempt.view, claim)
            self._catch_up(attempt, hash, slot, paths_too=True)
            return False
        known: dict[RowKey, Attributes | None] = {
            MemoryRow.key(store.store_id, command.memory_id): None,
            VersionRow.key(store.store_id, entry.version_id): None,
            LogRow.key(store.store_id, hash): None if log is None else log.to_attributes(),
        }
        self._fold_own(attempt, [ResolvedEntry(entry)], known | attempt.claimed)
        attempt.outcome.memory = fold.join_memory(None, entry)
        return True

    def _occupancy(self, attempt: Attempt, hash: str, path: str) -> tuple[LogRow | None, PathRow | None]:
        log_key, path_key = LogRow.key(attempt.store.store_id, hash), PathRow.key(attempt.store.store_id, path)
        rows = attempt.view.rows
        if not attempt.view.asked.issuperset((log_key, path_key)):
            rows = self._region.read(attempt.view.index, [log_key, path_key])
        log = LogRow.from_attributes(rows[log_key]) if log_key in rows else None
        return log, PathRow.from_attributes(rows[path_key]) if path_key in rows else None

    def _blocked(self, attempt: Attempt, occupant: str, head: MemoryRow | None, path: str, hash: str) -> bool:
        """A live memory, whose row is `head`, holds the path: refuse, unless the log says that it has left or died."""
        if head is None or not fold.is_live(head) or head.path_hash != hash:
            tail = self._logs.tail(attempt.store, hash)
            if tail is not None:
                self._observe(attempt, tail, paths_too=True)
                attempt.tails[hash] = tail.slot
            return False
        if self._caught_up(attempt, head):
            return False
        attempt.outcome.error = PathConflict(path, occupant)
        attempt.outcome.memory = head
        return True

    def _free_slot(self, attempt: Attempt, hash: str, log: LogRow | None) -> Slot | None:
        """The position after the tail that the index knows; None when the log had more, which is folded now."""
        slot = self._after_tail(attempt, hash, log)
        if slot.epoch != current_epoch(attempt.store):
            self._catch_up(attempt, hash, slot, paths_too=True)
            return None
        return slot

    def _after_tail(self, attempt: Attempt, hash: str, log: LogRow | None) -> Slot:
        """After what the index knows of the log, and what this call has met of it: of a void no row may tell."""
        tail = fold.tail_of(log)
        known = [slot for slot in (None if tail is None else Slot.parse(tail), attempt.tails.get(hash)) if slot]
        return self._logs.next_slot(attempt.store, hash, max(known, default=None))

    def _claim(self, attempt: Attempt, claim: Claim, before: PathRow | None, moving_id: str | None) -> bool:
        """Claims, then looks. False: a neighbour stands in the way (the outcome says which), or the log moved on."""
        if before is not None and before.claim_id is not None and self._claims.expired(before):
            self._break(attempt, before)
            return False
        row = self._claims.make(attempt.view, claim, before)
        attempt.claimed = {claim.key: row.to_attributes()}
        for neighbour in self._claims.neighbours(attempt.view, claim.path, claim.store_id, moving_id):
            self._yield_to(attempt, claim, neighbour)
            return False
        return True

    def _yield_to(self, attempt: Attempt, claim: Claim, neighbour: PathRow) -> None:
        """Refuses for a live neighbour that the log confirms; waits for a claimed one; breaks an expired claim."""
        self._claims.withdraw(attempt.view, claim)
        if neighbour.memory_id is not None:
            head = self._fresh(attempt, neighbour.memory_id)
            if head is None or not fold.is_live(head) or head.path != neighbour.path:
                return
            if not self._caught_up(attempt, head):
                attempt.outcome.error = PathConflict(neighbour.path, neighbour.memory_id)
                attempt.outcome.memory = head
            return
        if not self._claims.expired(neighbour):
            raise IntentConflict
        self._break(attempt, neighbour)

    def _break(self, attempt: Attempt, claimed: PathRow) -> None:
        """Takes the slot that an expired claim names, so that its stalled creator cannot put it any more."""
        if claimed.claim_position is None:
            return
        position = LogRef.parse(claimed.claim_position)
        if position.slot.epoch == current_epoch(attempt.store):
            key = position.key_in(attempt.store.store_id)
            entry = decide.void(key, self._region.new_id("memver"), self._region.clock.now_us())
            if self._take(attempt, entry) is Put.MINE:
                self._fold_own(attempt, [ResolvedEntry(entry)], None)
            else:
                self._catch_up(attempt, position.path_hash, position.slot, paths_too=True)
        self._claims.remove_broken(attempt.view, claimed)

    # ---- rename -----------------------------------------------------------------------------------------------

    def _rename(self, attempt: Attempt, command: UpdateMemory, head: MemoryRow, commit: decide.Commit) -> bool:
        """Two puts; the second, in the source's next slot, commits for both paths at once."""
        store = attempt.store
        attempt.view.require_complete()
        hash = path_hash(bytes.fromhex(store.salt), commit.path)
        source_slot = self._next(attempt, head)
        if source_slot is None:
            return False
        log, path_row = self._occupancy(attempt, hash, commit.path)
        if self._judging.log(attempt.view, store, hash, log):
            return False
        occupant = fold.occupant_of(log)
        if occupant == head.memory_id:
            self._catch_up(attempt, hash, self._after_tail(attempt, hash, log), paths_too=True)
            return False
        holder = None if occupant is None else self._fresh(attempt, occupant)
        if occupant is not None and not _is_erased(holder, hash):
            return self._blocked(attempt, occupant, holder, commit.path, hash) and self._still(attempt, head)
        slot = self._free_slot(attempt, hash, log)
        if slot is None:
            return False
        content = commit.content if commit.content is not None else self._content(head)
        draft = self._draft(command, attempt, derived_version_id(command.version_id, attempt.number))
        claim = Claim(store.store_id, commit.path, draft.version_id, LogRef(hash, slot))
        if not self._claim(attempt, claim, path_row, moving_id=head.memory_id):
            return attempt.outcome.error is not None and self._still(attempt, head)
        entry = decide.follows(draft, head, LogKey(store.store_id, hash, slot), commit, source=source_slot)
        if self._take(attempt, entry, content) is Put.TAKEN:
            self._claims.withdraw(attempt.view, claim)
            self._catch_up(attempt, hash, slot, paths_too=True)
            return False
        departure = decide.moved_out(entry)
        if self._depart(attempt, departure) is Put.MINE:
            self._fold_own(attempt, [ResolvedEntry(entry), ResolvedEntry(departure)], self._known(head, entry))
            attempt.outcome.memory = fold.join_memory(head, entry)
            return True
        self._fold_own(attempt, [ResolvedEntry(entry, void=True)], None)
        self._claims.withdraw(attempt.view, claim)
        self._catch_up(attempt, head.path_hash, source_slot)
        return False

    def _depart(self, attempt: Attempt, departure: Entry) -> Put:
        """The commit of a rename. Whoever meets the first half may finish it, so that an error leaves it open."""
        try:
            return self._take(attempt, departure)
        except (Busy, Unavailable) as error:
            raise OutcomeUnknown("the rename is half done and may be finished yet; read before trying again") from error

    def _still(self, attempt: Attempt, head: MemoryRow) -> bool:
        """Whether the refusal holds: the memory stood at its source all the while that the destination was blocked."""
        if not self._caught_up(attempt, head):
            return True
        attempt.outcome.error = None
        return False

    def _content(self, head: MemoryRow) -> str:
        key = LogKey(head.store_id, head.path_hash, Slot.parse(head.slot))
        try:
            return self._region.objects.get(str(key)).body.decode()
        except port_errors.PortError as error:
            raise Unavailable("the memory's content cannot be read now; try again") from error

    def refresh(self, view: View, store: StoreRow, head: MemoryRow) -> bool:
        """Folds what the log has after `head`; whether there was anything. One HEAD where there was not."""
        return self._caught_up(Attempt(view, store, Outcome()), head)

    def done(self, view: View, command: Command) -> LogRef | None:
        """Where a version of the command's own stands, by the rows that `view` has. No call."""
        return _position(view.rows, [VersionRow.key(command.store_id, id) for id in version_ids(command)])

    def recall(self, view: View, store: StoreRow, position: LogRef) -> Outcome:
        """What a write that stands at `position` did. One HEAD, two for a rename; the lease as for any answer.

        Raises:
            OutcomeUnknown: this cannot be told now; it was done, if the store's home has not changed meanwhile.
        """
        _require_home(self._region.name, store)
        key = position.key_in(store.store_id)
        try:
            entry = self._logs.entry(key)
            if entry is not None:
                outcome = Outcome(fold.join_memory(None, entry), settled=list(self._logs.settle(entry)))
                self._second.secure(store, key)
                self._second.confirm(store)
                if self._leases.stands(view, store):
                    return outcome
        except Unavailable as error:
            raise OutcomeUnknown("what this write did cannot be read now; read before trying again") from error
        raise OutcomeUnknown("what this write did cannot be told now; read before trying again")

    def bring_back(self, outcome: Outcome) -> None:
        """Adds the head that an outcome was decided against, where nothing on the way was it. One HEAD, or two."""
        row = outcome.memory
        if row is None or any(one.entry.version_id == row.version_id for one in outcome.settled):
            return
        entry = self._logs.entry(LogKey(row.store_id, row.path_hash, Slot.parse(row.slot)))
        if entry is not None:
            outcome.settled.extend(self._logs.settle(entry))

    def help(self, view: View, store: StoreRow, moved_in: Entry) -> list[ResolvedEntry]:
        """Finishes somebody's rename whose second put is missing, and folds what came of it. Repeatable.

        One of an epoch that is over is not to be finished any more: the cut has decided.
        """
        attempt = Attempt(view, store, Outcome())
        if moved_in.slot.epoch == current_epoch(store):
            self._observe(attempt, moved_in)
        return attempt.outcome.settled

    def seal(self, store: StoreRow, moved_in: Entry) -> bool:
        """Takes the source slot of a rename of this region's whose epoch is over; whether that is now void. Repeatable.

        Whoever began it may still be about to take the slot: of the two, one does. A HEAD and a PUT.

        Raises:
            Unavailable, OutcomeUnknown: repeat it.
        """
        if moved_in.source is None or moved_in.slot.epoch.rank >= current_epoch(store).rank:
            return False
        key = moved_in.source.key_in(store.store_id)
        now_us = self._region.clock.now_us()
        entry = decide.void(key, self._region.new_id("memver"), now_us)
        return self._slots.take(entry, _body(entry, None)) is Put.MINE

    def _take(self, attempt: Attempt, entry: Entry, content: str | None = None) -> Put:
        """The put, in as many regions as the store asks for; none once the home's term may have ended.

        Raises: as `SyncReplica.take`; Unavailable: the store's home is changing, and nothing was done.
        """
        if not self._leases.may_put(attempt.view, attempt.store):
            raise Unavailable("the store's home changed while this was decided; try again")
        return self._second.take(self._slots, attempt.store, entry, _body(entry, content))

    # ---- what stands in the log --------------------------------------------------------------------------------

    def _next(self, attempt: Attempt, head: MemoryRow) -> Slot | None:
        """The slot after the head; None when the log had more than the index knew, which is folded now."""
        slot = self._after(attempt, head)
        if slot.epoch != current_epoch(attempt.store):
            self._catch_up(attempt, head.path_hash, slot)
            return None
        return slot

    def _caught_up(self, attempt: Attempt, head: MemoryRow) -> bool:
        """Whether the log had more than `head`, which is folded now. One HEAD where it had not."""
        return self._catch_up(attempt, head.path_hash, self._after(attempt, head)) > 0

    def _after(self, attempt: Attempt, head: MemoryRow) -> Slot:
        """The slot after the head, and after what this call has met above it: a void leaves the head where it was."""
        known = Slot.parse(head.slot)
        tail = max(known, attempt.tails.get(head.path_hash, known))
        return self._logs.next_slot(attempt.store, head.path_hash, tail)

    def _catch_up(self, attempt: Attempt, hash: str, slot: Slot, paths_too: bool = False) -> int:
        """Folds everything from `slot` to the log's tail; how much it was. `paths_too` as `Projector.fold` has it."""
        met = 0
        while (entry := self._logs.entry(LogKey(attempt.store.store_id, hash, slot))) is not None:
            self._observe(attempt, entry, paths_too)
            attempt.tails[hash] = slot
            slot = self._logs.next_slot(attempt.store, hash, slot)
            met += 1
        if slot.epoch != current_epoch(attempt.store):
            raise Unavailable("an older version of this memory has not arrived in its home yet; try again")
        return met

    def _observe(self, attempt: Attempt, entry: Entry, paths_too: bool = False) -> None:
        """Folds one entry that was met, finishing its rename where that is half done."""
        settled = self._logs.settle(entry, self._finish, store=attempt.store)
        self._folder.fold(attempt.view, settled, paths_too=paths_too)
        attempt.outcome.settled.extend(settled)

    def _finish(self, moved_in: Entry) -> None:
        departure = decide.moved_out(moved_in)
        self._slots.take(departure, _body(departure, None))

    def _fresh(self, attempt: Attempt, memory_id: str) -> MemoryRow | None:
        key = MemoryRow.key(attempt.store.store_id, memory_id)
        rows = self._region.read(attempt.view.index, [key])
        return MemoryRow.from_attributes(rows[key]) if key in rows else None

    def _fold_own(
        self, attempt: Attempt, settled: Sequence[ResolvedEntry], known: dict[RowKey, Attributes | None] | None
    ) -> None:
        """Folds what this call committed: it stands in the log, so an index that fails now leaves it unacknowledged."""
        try:
            self._folder.fold(attempt.view, settled, known, own=True)
        except Unavailable as error:
            raise OutcomeUnknown("the write was committed, but is not indexed yet; read before trying again") from error
        attempt.outcome.settled.extend(settled)

    def _draft(self, command: Command, attempt: Attempt, version_id: str | None = None) -> decide.Draft:
        actor = Actor.parse(command.actor)
        now_us = self._region.clock.now_us() if attempt.told_us is None else attempt.told_us
        return decide.Draft(
            version_id or command.version_id,
            command.memory_id,
            actor,
            now_us,
            attempt.flags,
            attempt.imported,
            adopts=attempt.adopts,
        )


def _committed(outcome: Outcome, command: Command) -> bool:
    """Whether the outcome is a version of the command's own."""
    return outcome.memory is not None and outcome.memory.version_id in version_ids(command)


def _position(rows: Mapping[RowKey, Attributes], keys: Sequence[RowKey]) -> LogRef | None:
    """Where the first of these versions stands, of those that are known to stand anywhere."""
    for key in keys:
        row = VersionRow.from_attributes(rows[key]) if key in rows else None
        if row is not None and row.position is not None:
            return LogRef.parse(row.position)
    return None


def _is_erased(holder: MemoryRow | None, hash: str) -> bool:
    """Whether a path is free because a home that was lost redacted its last version, with all that followed it gone."""
    return holder is not None and not holder.gone and holder.path is None and holder.path_hash == hash


def _require_home(here: str, store: StoreRow) -> None:
    """Raises OutcomeUnknown for a write that stands in the log of a home whose term is ending: it may come late."""
    if store.state != StoreState.ACTIVE or store.home != here:
        raise OutcomeUnknown("the write stands where the store's home is about to leave; read before trying again")


def _require_writable(here: str, store: StoreRow, command: Command) -> None:
    """By the record as it was read last: between two attempts the store may have moved, and its home may be elsewhere.

    Source: docs/api-compatibility.md §1.8: an archived store takes no new text; deletions still go through.
    """
    if store.state != StoreState.ACTIVE or store.home != here:
        raise Unavailable("the store's home is being moved; try again")
    if store.archived_at is not None and not isinstance(command, DeleteMemory):
        raise InvalidRequest("memory_store_id", "the memory store is archived and takes no new content")


def _body(entry: Entry, content: str | None) -> bytes:
    """The content; or, for an entry without any, a record that says what it is to whoever reads the bucket."""
    if entry.has_content:
        return (content or "").encode()
    return json.dumps({"operation": entry.operation.value, "version_id": entry.version_id}).encode()
