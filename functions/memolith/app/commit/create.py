"""Creation: the first version of a memory, put after the tail of its path's log."""

from __future__ import annotations

from memolith.app.commit.attempt import Attempt, Step
from memolith.app.commit.log_steps import LogSteps
from memolith.app.commit.quota import Quota
from memolith.app.commit.reservation import Reservation
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.index.path_claims import Claim
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import Put
from memolith.core import decide, fold
from memolith.core.commands import CreateMemory
from memolith.core.errors import PathConflict
from memolith.core.log_position import LogKey, LogRef
from memolith.core.paths import path_hash
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, VersionRow
from memolith.core.settled import ResolvedEntry


class Creation:
    """Commits creations, and finds out what stands at a path that a command asks for."""

    def __init__(self, region: Region, steps: LogSteps, repair: EpochRepair, reservation: Reservation) -> None:
        self._steps = steps
        self._repair = repair
        self._reservation = reservation
        self._quota = Quota(region)

    def commit(self, attempt: Attempt, command: CreateMemory) -> Step:
        """Reserve the path, then put the memory's first version. Costs as `Writer.write` has it.

        Raises:
            IntentConflict: another creator's claim is in the way. InvalidRequest: the store is full. Unavailable, Busy,
            OutcomeUnknown.
        """
        store = attempt.store
        attempt.view.require_complete()
        hash = path_hash(bytes.fromhex(store.salt), command.path)
        log, path_row = self._steps.occupancy(attempt, hash, command.path)
        if self._repair.log(attempt.view, store, hash, log):
            return Step.AGAIN
        occupant = fold.occupant_of(log)
        holder = None if occupant is None else self._steps.fresh_head(attempt, occupant)
        used_before = occupant is None and log is not None
        if self._steps.was_done(attempt, holder, suspect=used_before or occupant == command.memory_id):
            return Step.AGAIN
        if occupant is not None and not is_erased(holder, hash):
            return self.refuse(attempt, occupant, holder, command.path, hash)
        slot = self._steps.free_slot(attempt, hash, log)
        if slot is None:
            return Step.AGAIN
        self._quota.require_room(attempt.view, store.store_id)
        claim = Claim(store.store_id, command.path, f"{command.version_id}.{attempt.number}", LogRef(hash, slot))
        step = self._reservation.make(attempt, claim, path_row, moving_id=None)
        if step is not Step.CLEAR:
            return step
        draft = self._steps.draft(command, attempt)
        entry = decide.created(draft, LogKey(store.store_id, hash, slot), command.path, command.content)
        if self._steps.put(attempt, entry, command.content) is Put.TAKEN:
            self._reservation.withdraw(attempt, claim)
            self._steps.catch_up(attempt, hash, slot, paths_too=True)
            return Step.AGAIN
        known: dict[RowKey, Attributes | None] = {
            MemoryRow.key(store.store_id, command.memory_id): None,
            VersionRow.key(store.store_id, entry.version_id): None,
            LogRow.key(store.store_id, hash): None if log is None else log.to_attributes(),
        }
        self._steps.project_own(attempt, [ResolvedEntry(entry)], known | attempt.claimed)
        attempt.outcome.memory = fold.join_memory(None, entry)
        return Step.DECIDED

    def refuse(self, attempt: Attempt, occupant: str, head: MemoryRow | None, path: str, hash: str) -> Step:
        """Refuse, because `occupant` holds the path, whose row is `head`; unless the log says that it left or died."""
        if head is None or not fold.is_live(head) or head.path_hash != hash:
            tail = self._steps.logs.tail(attempt.store, hash)
            if tail is not None:
                self._steps.observe(attempt, tail, paths_too=True)
                attempt.tails[hash] = tail.slot
            return Step.AGAIN
        if self._steps.has_more(attempt, head):
            return Step.AGAIN
        attempt.outcome.error = PathConflict(path, occupant)
        attempt.outcome.memory = head
        return Step.DECIDED


def is_erased(holder: MemoryRow | None, hash: str) -> bool:
    """Whether a path is free because a home that was lost redacted its last version, with all that followed it gone."""
    return holder is not None and not holder.gone and holder.path is None and holder.path_hash == hash
