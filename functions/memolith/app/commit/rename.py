"""Rename: two puts in two logs. The second, in the source's next slot, commits for both paths at once."""

from __future__ import annotations

from memolith.app.commit.attempt import Attempt, Step
from memolith.app.commit.create import Creation
from memolith.app.commit.log_steps import LogSteps, known_rows
from memolith.app.commit.reservation import Reservation
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.index.path_claims import Claim
from memolith.app.kernel.region import Region
from memolith.app.log.verified_reads import verified_text
from memolith.core import decide, fold
from memolith.core.commands import WriteCommand
from memolith.core.errors import Busy, Unavailable, in_doubt
from memolith.core.ids import derived_version_id
from memolith.core.integrity import Acknowledged
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.objects.entry import Entry
from memolith.core.paths import path_hash
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow


class Rename:
    """Commits the moves of memories to other paths."""

    def __init__(
        self, region: Region, steps: LogSteps, repair: EpochRepair, reservation: Reservation, creation: Creation
    ) -> None:
        self._region = region
        self._steps = steps
        self._repair = repair
        self._reservation = reservation
        self._creation = creation

    def commit(self, attempt: Attempt, command: WriteCommand, head: MemoryRow, commit: decide.Commit) -> Step:
        """Reserve the destination, put the first half there, then the second in the source's next slot.

        Raises:
            IntentConflict: another creator's claim is in the way. Unavailable, Busy; OutcomeUnknown: the first half
            stands, and somebody may finish the rename yet.
        """
        store = attempt.store
        attempt.view.require_complete()
        hash = path_hash(bytes.fromhex(store.salt), commit.path)
        source_slot = self._steps.slot_after(attempt, head)
        if source_slot is None:
            return Step.AGAIN
        log, path_row = self._steps.occupancy(attempt, hash, commit.path)
        if self._repair.log(attempt.view, store, hash, log):
            return Step.AGAIN
        place = self._creation.place(attempt, commit.path, hash, log, moving_id=head.memory_id)
        decision = decide.decide_path(place, moving_id=head.memory_id)
        if not isinstance(decision, decide.Reserve):
            return self._still(attempt, head, self._creation.give_way(attempt, place, log, decision))
        slot = self._steps.free_slot(attempt, hash, log, place.holder)
        if slot is None:
            return Step.AGAIN
        content = commit.content if commit.content is not None else self._content(head)
        draft = self._steps.draft(command, attempt, derived_version_id(command.version_id, attempt.number))
        claim = Claim(store.store_id, commit.path, draft.version_id, LogRef(hash, slot))
        step = self._reservation.make(attempt, claim, path_row, moving_id=head.memory_id)
        if step is not Step.CLEAR:
            return self._still(attempt, head, step)
        arrival = decide.follows(draft, head, LogKey(store.store_id, hash, slot), commit, source=source_slot)
        entry = self._steps.put(attempt, arrival, content)
        if entry is None:
            self._reservation.withdraw(attempt, claim)
            self._steps.catch_up(attempt, hash, slot, paths_too=True)
            return Step.AGAIN
        departure = self._depart(attempt, decide.moved_out(entry))
        if departure is not None:
            both = [ResolvedEntry(entry), ResolvedEntry(departure)]
            self._steps.project_own(attempt, both, known_rows(head, entry))
            attempt.outcome.memory = fold.join_memory(head, entry)
            return Step.DECIDED
        self._steps.project_own(attempt, [ResolvedEntry(entry, void=True)], None)
        self._reservation.withdraw(attempt, claim)
        self._steps.catch_up(attempt, head.path_hash, source_slot)
        return Step.AGAIN

    def _depart(self, attempt: Attempt, departure: Entry) -> Entry | None:
        """Put the commit of a rename. Whoever meets the first half may finish it, so that an error leaves it open."""
        try:
            return self._steps.put(attempt, departure)
        except (Busy, Unavailable) as error:
            raise in_doubt("the rename is half done and may be finished yet", error) from error

    def _still(self, attempt: Attempt, head: MemoryRow, step: Step) -> Step:
        """Let a refusal hold only if the memory stood at its source all the while that the destination was blocked."""
        if step is Step.DECIDED and self._steps.has_more(attempt, head):
            attempt.outcome.error = None
            return Step.AGAIN
        return step

    def _content(self, head: MemoryRow) -> str:
        key = LogKey(head.store_id, head.path_hash, Slot.parse(head.slot))
        return verified_text(self._region, key, Acknowledged(head.content_sha256 or "", head.version_id))
