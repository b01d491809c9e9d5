"""Remarks: an agent says what it wants kept, and the store writes it down in the log of the day.

    the log's head -> its text and one entry more -> written if the head is still the same -> else once more

Every remark is a version of the log, by who made it. A dream distills it later, and leaves the log as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.api.memories import Memories
from memolith.app.api.sources import Origin
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.kernel.proposal_results import Staged
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import Memory, RequestContext
from memolith.core.errors import Busy, InvalidRequest, NotFound, PathConflict, PreconditionFailed
from memolith.core.limits import CONTENT_MAX_BYTES, REMARK_PARTS_MAX
from memolith.core.remarks import check_remark, entry, is_log, log_path, remarks_of
from memolith.core.rows.content import PathRow

ATTEMPTS = 12


@dataclass(frozen=True, slots=True)
class Remarked:
    """The log that has the remark, and the remark's number in it. `unchanged`: it was its last entry already."""

    log: Memory
    number: int
    unchanged: bool = False


class Remarks:
    """The use case of remarks, for whoever may write to the store."""

    def __init__(self, region: Region, authorizer: Authorizer, memories: Memories) -> None:
        self._region = region
        self._authorizer = authorizer
        self._memories = memories

    def append(self, call: RequestContext, store_id: str, text: str) -> Remarked:
        """Append a remark to the log of the day, in UTC, as of this region's clock. All of it, or none.

        A call that is repeated at once finds its remark as the log's last entry, and writes nothing. The log is of no
        better class than any of its remarks. Two index reads and a GET for the log's text, and what an update costs;
        where another writer was faster, the same again, up to `ATTEMPTS` times.

        Raises:
            InvalidRequest: the text is too long, or the scanner refuses it, or the day's logs are full.
            Busy: others kept writing the log; nothing was written. Staged: the store's policy makes it a proposal,
                which is answered without the text of a log that was there.
            NotFound, PermissionDenied, Unauthenticated, Unavailable, OutcomeUnknown.
        """
        check_remark(text)
        for attempt in range(ATTEMPTS):
            try:
                return self._append(call, store_id, text)
            except PathConflict as error:
                if not is_log(error.conflicting_path):
                    raise
            except NotFound as error:
                if error.kind != "memory":
                    raise
            except PreconditionFailed:
                pass
            self._region.back_off(attempt)
        raise Busy("others kept writing the log of the day; nothing was written, try again")

    def _append(self, call: RequestContext, store_id: str, text: str) -> Remarked:
        now_us = self._region.clock.now_us()
        paths = [log_path(now_us, part) for part in range(1, REMARK_PARTS_MAX + 1)]
        keys = [PathRow.key(store_id, path) for path in paths]
        access = self._authorizer.enter_store(call, Scope.write, store_id, keys)
        rows = {n: access.view.rows[key] for n, key in enumerate(keys) if key in access.view.rows}
        logs = {n: id for n, row in rows.items() if (id := PathRow.from_attributes(row).memory_id) is not None}
        free, said = max(logs, default=-1) + 1, entry(now_us, text)
        if logs:
            log = self._memories.retrieve(call, store_id, logs[free - 1], full=True)
            done = self._continued(call, log, said)
            if done is not None:
                return done
        if free == len(paths):
            raise InvalidRequest("text", "does not fit: the logs of the day are full")
        made = self._memories.create(call, store_id, path=paths[free], content=said, full=False)
        return Remarked(made, 1)

    def _continued(self, call: RequestContext, log: Memory, said: str) -> Remarked | None:
        """Write a log with one entry more; None where that does not fit, or its text is withheld."""
        if log.content is None or log.withheld is not None:  # an admin may have asked to be shown what is withheld
            return None
        remarks, [new] = remarks_of(log.path, log.content), remarks_of(log.path, said)
        if remarks and remarks[-1].text == new.text:
            return Remarked(log, len(remarks), unchanged=True)
        after = f"{log.content.rstrip()}\n{said}".lstrip()
        if len(after.encode()) > CONTENT_MAX_BYTES:
            return None
        try:
            written = self._memories.update(
                call,
                log.store_id,
                log.id,
                content=after,
                path=None,
                expected_content_sha256=log.content_sha256,
                full=False,
                origin=Origin(at_most=log.trust),
            )
        except Staged as staged:  # the proposal's text is the whole log, which the caller did not ask to read
            raise Staged(staged.proposal.without_contents()) from staged
        return Remarked(written, len(remarks) + 1)
