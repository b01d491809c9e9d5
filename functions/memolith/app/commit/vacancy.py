"""Vacancies: a path that the head of its memory leaves because the head was erased.

The home that was lost may redact what its successor has as the head. Meanwhile a writer of the successor may be about
to put a change of that head, an update or a late text: nobody may come above or below the path before that is in the
log, or cannot be put any more.
"""

from __future__ import annotations

from memolith.app.commit.attempt import Attempt, Outcome
from memolith.app.commit.log_steps import LogSteps
from memolith.app.commit.reservation import Reservation
from memolith.app.index.path_claims import Claim, Claims, IntentConflict
from memolith.app.index.projector import Projector
from memolith.app.kernel.region import View
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogRef
from memolith.core.objects.entry import Entry
from memolith.core.rows.content import MemoryRow
from memolith.core.rows.identity import StoreRow


class Vacancy:
    """Takes memories whose heads were erased from their paths, at their home."""

    def __init__(self, steps: LogSteps, claims: Claims, reservation: Reservation, projector: Projector) -> None:
        self._steps = steps
        self._claims = claims
        self._reservation = reservation
        self._projector = projector

    def make(self, view: View, store: StoreRow, erased: Entry) -> bool:
        """Project a blank that is of a listed head, and take the slot after it; return whether it was one. Repeatable.

        An intent for that slot stands at the path meanwhile, expired, so that whoever comes beside the path takes the
        slot first. A HEAD and a PUT, two reads and four writes; no write for any other blank.

        Raises:
            Unavailable, OutcomeUnknown: repeat it. Where the process ends before the slot is taken, the intent stays
            until somebody comes.
        """
        attempt = Attempt(view, store, Outcome())
        head = self._listed(attempt, erased)
        while head is not None and self._steps.has_more(attempt, head):
            head = self._listed(attempt, erased)
        if head is None or head.path is None:
            return False
        resolved = self._steps.logs.resolve(erased, store=store)
        if not resolved or not self._steps.fence.may_put(view, store):
            raise Unavailable("the store's home is changing, and a text is to be erased; try again")
        slot = self._steps.after_tail(attempt, head.path_hash, None, head)
        claim = Claim(store.store_id, head.path, f"{head.version_id}.erased", LogRef(head.path_hash, slot))
        try:
            intent = self._claims.leave_expired(view, claim)
        except IntentConflict as error:
            raise Unavailable("a writer has claimed the path of a text that is to be erased; try again") from error
        self._projector.fold(view, resolved, salt=store.salt)
        self._reservation.end_expired(attempt, intent)
        return True

    def _listed(self, attempt: Attempt, erased: Entry) -> MemoryRow | None:
        head = self._steps.fresh_head(attempt, erased.memory_id)
        is_erased = head is not None and head.path is not None and head.version_id == erased.version_id
        return head if is_erased else None
