"""Reservations of paths: a creator or mover claims its path, looks at the neighbours, and gives way where it must.

`index.path_claims` says why. Nothing is put before the look; what is put in a claimed slot by somebody else ends the
claim.
"""

from __future__ import annotations

from memolith.app.commit.attempt import Attempt, Step
from memolith.app.commit.log_steps import LogSteps
from memolith.app.index.path_claims import Claim, Claims, IntentConflict
from memolith.app.kernel.region import Region
from memolith.core import decide
from memolith.core.epochs import current_epoch
from memolith.core.log_position import LogRef
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import PathRow


class Reservation:
    """Claims paths for the attempts of one writer."""

    def __init__(self, region: Region, steps: LogSteps, claims: Claims) -> None:
        self._region = region
        self._steps = steps
        self._claims = claims

    def make(self, attempt: Attempt, claim: Claim, before: PathRow | None, moving_id: str | None) -> Step:
        """Claim the path, then look for neighbours. `before` is the path's row, `moving_id` the memory being renamed.

        CLEAR: the slot that the claim names may be put. DECIDED: the outcome says which neighbour is in the way. AGAIN:
        the log had moved on, or an expired claim was broken.

        Raises:
            IntentConflict: somebody else's claim stands in the way. Unavailable, Busy, OutcomeUnknown.
        """
        decision = decide.decide_claim(before, is_expired=before is not None and self._claims.expired(before))
        if isinstance(decision, decide.Break) and before is not None:
            self.end_expired(attempt, before)
            return Step.AGAIN
        if isinstance(decision, decide.Wait):
            raise IntentConflict
        row = self._claims.make(attempt.view, claim, before)
        attempt.claimed = {claim.key: row.to_attributes()}
        for neighbour in self._claims.neighbours(attempt.view, claim.path, claim.store_id, moving_id):
            return self._yield_to(attempt, claim, neighbour)
        return Step.CLEAR

    def withdraw(self, attempt: Attempt, claim: Claim) -> None:
        """Take the claim back: see `Claims.withdraw`."""
        self._claims.withdraw(attempt.view, claim)

    def end_expired(self, attempt: Attempt, claimed: PathRow) -> None:
        """Take the slot that an expired claim names, so that nobody can put it any more, and remove the claim."""
        if claimed.claim_position is None:
            return
        position = LogRef.parse(claimed.claim_position)
        if position.slot.epoch == current_epoch(attempt.store):
            key = position.key_in(attempt.store.store_id)
            entry = decide.void(key, self._region.new_id("memver"), self._region.clock.now_us())
            put = self._steps.put(attempt, entry)
            if put is not None:
                self._steps.project_own(attempt, [ResolvedEntry(put)], None)
            else:
                self._steps.catch_up(attempt, position.path_hash, position.slot, paths_too=True)
        self._claims.remove_broken(attempt.view, claimed)

    def _yield_to(self, attempt: Attempt, claim: Claim, neighbour: PathRow) -> Step:
        """Withdraw the claim; then refuse for a live neighbour, wait for a claimed one, or break an expired claim."""
        self._claims.withdraw(attempt.view, claim)
        resident = None if neighbour.memory_id is None else self._steps.fresh_head(attempt, neighbour.memory_id)
        decision = decide.decide_neighbour(neighbour, resident, is_expired=self._claims.expired(neighbour))
        if isinstance(decision, decide.Refused) and resident is not None:
            return self._steps.refuse(attempt, resident, decision)
        if isinstance(decision, decide.Wait):
            raise IntentConflict
        if isinstance(decision, decide.Break):
            self.end_expired(attempt, neighbour)
        return Step.AGAIN
