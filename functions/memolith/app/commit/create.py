"""Creation: the first version of a memory at its path, put after the tail of the path's log."""

from __future__ import annotations

from dataclasses import replace

from memolith.app.commit.attempt import Attempt, Step
from memolith.app.commit.log_steps import LogSteps, known_rows
from memolith.app.commit.quota import Quota
from memolith.app.commit.reservation import Reservation
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.index.path_claims import Claim
from memolith.app.kernel.region import Region
from memolith.core import decide, fold, late_creation
from memolith.core.commands import AdoptVersion, WriteCommand
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.paths import path_hash
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow


class Creation:
    """Commits creations, and finds out what stands at a path that a command asks for."""

    def __init__(
        self, region: Region, steps: LogSteps, repair: EpochRepair, reservation: Reservation, quota: Quota
    ) -> None:
        self._region = region
        self._steps = steps
        self._repair = repair
        self._reservation = reservation
        self._quota = quota

    def commit(self, attempt: Attempt, command: WriteCommand, commit: decide.Commit) -> Step:
        """Reserve the path, then put the memory's first version; DECIDED without it for a late one that is left apart.

        Costs as `Writer.write` has it.

        Raises:
            IntentConflict: another creator's claim is in the way. InvalidRequest: the store is full. Unavailable, Busy,
            OutcomeUnknown.
        """
        store = attempt.store
        attempt.view.require_complete()
        hash = path_hash(bytes.fromhex(store.salt), commit.path)
        log, path_row = self._steps.occupancy(attempt, hash, commit.path)
        if self._repair.log(attempt.view, store, hash, log):
            return Step.AGAIN
        place = self.place(attempt, commit.path, hash, log)
        used_before = place.occupant is None and log is not None
        suspect = used_before or place.occupant == command.memory_id
        if self._steps.was_done(attempt, place.holder, suspect):
            return Step.AGAIN
        decision = decide.decide_path(place)
        if not isinstance(decision, decide.Reserve):
            return self.give_way(attempt, place, log, decision)
        slot = self._steps.free_slot(attempt, hash, log, place.holder)
        if slot is None:
            return Step.AGAIN
        if self._stays_apart(attempt, log, slot, command):
            return Step.DECIDED
        self._quota.require_room(attempt.view, store.store_id)
        claim = Claim(store.store_id, commit.path, f"{command.version_id}.{attempt.number}", LogRef(hash, slot))
        step = self._reserve(attempt, command, claim, path_row, moving_id=None)
        if step is not Step.CLEAR:
            return step
        draft = self._steps.draft(command, attempt)
        entry = decide.created(draft, LogKey(store.store_id, hash, slot), commit.path, commit.content or "")
        put = self._steps.put(attempt, entry, commit.content)
        if put is None:
            self._reservation.withdraw(attempt, claim)
            self._steps.catch_up(attempt, hash, slot, paths_too=True)
            return Step.AGAIN
        known: dict[RowKey, Attributes | None] = {
            MemoryRow.key(store.store_id, command.memory_id): None,
            VersionRow.key(store.store_id, entry.version_id): None,
            LogRow.key(store.store_id, hash): None if log is None else log.to_attributes(),
        }
        self._steps.project_own(attempt, [ResolvedEntry(put)], known | attempt.claimed)
        attempt.outcome.memory = fold.join_memory(None, put)
        return Step.DECIDED

    def _stays_apart(self, attempt: Attempt, log: LogRow | None, slot: Slot, command: WriteCommand) -> bool:
        """Return whether a late version was refused for a neighbour, or a creation's path was taken or left since.

        `slot` is the free one. No call if nothing was put there in a later epoch; otherwise a HEAD, and one for each
        abort that is passed. Of a change, a HEAD for each version there: it comes back once others have left.
        """
        if not isinstance(command, AdoptVersion):
            return False
        late, tail = command.straggler, fold.tail_of(log)
        known = None if log is None else log.arrived or log.vacated
        newest = slot.preceding or (None if tail is None else Slot.parse(tail))
        for taken in self._steps.logs.slots_down(attempt.store, late.key.path_hash, newest):
            if taken.epoch.rank <= late.slot.epoch.rank:
                break
            last = self._steps.logs.entry(replace(late.key, slot=taken))
            if last is None:
                raise Unavailable("what followed at this path has not arrived in its home yet; try again")
            if late_creation.is_refusal(last, late):
                return True
            if known is None or taken.rank > Slot.parse(known).rank or late.operation is not Operation.CREATED:
                continue
            # A row that was taken from a snapshot says that the path was left in the last slot; that may be an abort's.
            if fold.occupant_of(log) is not None or last.operation not in (Operation.VOID, Operation.MOVED_IN):
                return late_creation.is_since(last, late)
        return False

    def _reserve(
        self, attempt: Attempt, command: WriteCommand, claim: Claim, before: PathRow | None, moving_id: str | None
    ) -> Step:
        """Reserve a path as `Reservation.make`. That a late version is refused for a neighbour is recorded there."""
        step = self._reservation.make(attempt, claim, before, moving_id)
        if step is Step.DECIDED and isinstance(command, AdoptVersion):
            return self._record_refusal(attempt, claim.position.key_in(claim.store_id), command.straggler)
        return step

    def _record_refusal(self, attempt: Attempt, key: LogKey, late: Entry) -> Step:
        """Record that a late version was refused for a neighbour; AGAIN where its slot was taken meanwhile.

        The neighbour may leave, and no row of another path tells later that it was there.
        """
        attempt.outcome.error = attempt.outcome.memory = None
        put = self._steps.put(attempt, late_creation.refusal(late, key, self._region.clock.now_us()))
        if put is None:
            self._steps.catch_up(attempt, key.path_hash, key.slot, paths_too=True)
            return Step.AGAIN
        self._steps.project_own(attempt, [ResolvedEntry(put)], None)
        return Step.DECIDED

    def begin_blank(self, attempt: Attempt, command: WriteCommand) -> Step:
        """Put a first version whose text is erased, in a log that is named after the memory and that no path has."""
        store_id = attempt.store.store_id
        hash = path_hash(bytes.fromhex(attempt.store.salt), command.memory_id)
        key = LogRow.key(store_id, hash)
        rows = self._region.read(attempt.view.index, [key])
        slot = self._steps.free_slot(attempt, hash, LogRow.from_attributes(rows[key]) if key in rows else None)
        if slot is None:
            return Step.AGAIN
        draft = self._steps.draft(command, attempt)
        entry = decide.created(draft, LogKey(store_id, hash, slot), "", "").blanked()
        return self._steps.append(attempt, entry, "", None, None, paths_too=True)

    def come_back(self, attempt: Attempt, command: WriteCommand, head: MemoryRow, commit: decide.Commit) -> Step:
        """Reserve the path of a memory whose head is blank, then put a text that is seen there again."""
        slot = self._steps.slot_after(attempt, head)
        if slot is None:
            return Step.AGAIN
        log, path_row = self._steps.occupancy(attempt, head.path_hash, commit.path)
        if self._repair.log(attempt.view, attempt.store, head.path_hash, log):
            return Step.AGAIN
        place = self.place(attempt, commit.path, head.path_hash, log, moving_id=head.memory_id)
        decision = decide.Reserve() if place.occupant == head.memory_id else decide.decide_path(place)
        if not isinstance(decision, decide.Reserve):
            return self.give_way(attempt, place, log, decision)
        if self._stays_apart(attempt, log, slot, command):
            return Step.DECIDED
        claim_id = f"{command.version_id}.{attempt.number}"
        claim = Claim(head.store_id, commit.path, claim_id, LogRef(head.path_hash, slot))
        step = self._reserve(attempt, command, claim, path_row, moving_id=head.memory_id)
        if step is not Step.CLEAR:
            return step
        draft = self._steps.draft(command, attempt)
        entry = decide.follows(draft, head, LogKey(head.store_id, head.path_hash, slot), commit)
        step = self._steps.append(attempt, entry, commit.content, head, known_rows(head, entry), paths_too=True)
        self._reservation.withdraw(attempt, claim)
        return step

    def place(
        self, attempt: Attempt, path: str, hash: str, log: LogRow | None, moving_id: str | None = None
    ) -> decide.Place:
        """Return what stands at a path, by its log's row and its holder's. One read where it has a holder."""
        occupant = fold.occupant_of(log)
        holder = None if occupant in (None, moving_id) else self._steps.fresh_head(attempt, occupant or "")
        return decide.Place(path, hash, occupant, holder)

    def give_way(
        self, attempt: Attempt, place: decide.Place, log: LogRow | None, decision: decide.Refused | decide.CatchUp
    ) -> Step:
        """Refuse if the log has nothing after the head of the path's holder; otherwise catch up with the log."""
        if decision is decide.CatchUp.ONWARD:
            slot = self._steps.after_tail(attempt, place.path_hash, log)
            self._steps.catch_up(attempt, place.path_hash, slot, paths_too=True)
        elif decision is decide.CatchUp.TAIL:
            tail = self._steps.logs.tail(attempt.store, place.path_hash)
            if tail is not None:
                self._steps.observe(attempt, tail, paths_too=True)
        elif isinstance(decision, decide.Refused) and place.holder is not None:
            return self._steps.refuse(attempt, place.holder, decision)
        return Step.AGAIN
