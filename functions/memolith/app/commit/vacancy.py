"""Vacancies: a path that the head of its memory leaves because the head was erased.

The home that was lost may redact what its successor has as the head. Meanwhile a writer of the successor may be about
to put a change of that head, an update or a late text: nobody may come above or below the path before that is in the
log, or cannot be put any more.
"""

from __future__ import annotations

from memolith.app.commit.attempt import Attempt, Outcome
from memolith.app.commit.log_steps import LogSteps
from memolith.app.commit.reservation import Reservation
from memolith.app.epochs.fence import require_writing_home
from memolith.app.index.path_claims import Claim, Claims, IntentConflict
from memolith.app.index.projector import Projector
from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.region import Region, View
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogRef
from memolith.core.objects.entry import Entry
from memolith.core.paths import path_hash
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Query

PATHS_PER_QUERY = 1_000


class Vacancy:
    """Takes memories whose heads were erased from their paths, at their home."""

    def __init__(
        self, region: Region, steps: LogSteps, claims: Claims, reservation: Reservation, projector: Projector
    ) -> None:
        self._region = region
        self._steps = steps
        self._claims = claims
        self._reservation = reservation
        self._projector = projector

    def make(self, view: View, store: StoreRow, erased: Entry) -> bool:
        """Project a blank that is of a head, and take the slot after it; return whether it was a head's. Repeatable.

        An intent for that slot stands at the path meanwhile, expired, so that whoever comes beside the path takes the
        slot first. A HEAD and a PUT, three reads and four writes. Where the blank has been projected before, a query
        for a thousand paths of the store finds the intent that was left; not where the memory was brought in without a
        text and has had no path. No other call for any other blank.

        Raises:
            Unavailable, OutcomeUnknown: repeat it. Until then the intent may stay, and the path with it.
        """
        attempt = Attempt(view, store, Outcome())
        head = self._head(attempt, erased)
        while head is not None and head.path is not None and self._steps.has_more(attempt, head):
            head = self._head(attempt, erased)
        if head is None:
            return False
        if head.path_hash == path_hash(bytes.fromhex(store.salt), head.memory_id):
            return True
        intent = self._left(view, head) if head.path is None else self._leave(attempt, erased, head, head.path)
        if intent is not None:
            self._reservation.end_expired(attempt, intent)
            if self._claims.has(view, intent):
                raise Unavailable("the path of an erased text is still in the index; try again")
        return True

    def _leave(self, attempt: Attempt, erased: Entry, head: MemoryRow, path: str) -> PathRow:
        view, store = attempt.view, attempt.store
        resolved = self._steps.logs.resolve(erased, store=store)
        require_writing_home(self._region.name, store)
        if not resolved or not self._steps.fence.may_put(view, store):
            raise Unavailable("the store's home is changing, and a text is to be erased; try again")
        slot = self._steps.after_tail(attempt, head.path_hash, None, head)
        claim = Claim(store.store_id, path, _claim_id(head), LogRef(head.path_hash, slot))
        try:
            intent = self._claims.leave_expired(view, claim)
        except IntentConflict as error:
            raise Unavailable("a writer has claimed the path of a text that is to be erased; try again") from error
        self._projector.fold(view, resolved, salt=store.salt)
        return intent

    def _left(self, view: View, head: MemoryRow) -> PathRow | None:
        """Find the intent of a vacancy that was not made to its end: nothing else says the path any more."""
        rows = rows_of(view.index, Query("paths", head.store_id, limit=PATHS_PER_QUERY), PathRow)
        return next((row for row in rows if row.claim_id == _claim_id(head)), None)

    def _head(self, attempt: Attempt, erased: Entry) -> MemoryRow | None:
        head = self._steps.fresh_head(attempt, erased.memory_id)
        return head if head is not None and head.version_id == erased.version_id and not head.gone else None


def _claim_id(head: MemoryRow) -> str:
    return f"{head.version_id}.erased"
