"""What a session consists of: its resources, which are its memory stores, and its one thread.

Both are read from the session's record; nothing more is stored. Neither changes: the session's token names its stores,
and no agent runs here that could begin another thread. What would change them is refused, with what to do instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from memolith.app.auth.authorizer import Scope
from memolith.app.auth.session_access import SessionAccess
from memolith.app.kernel.results import Page, RequestContext
from memolith.core import ids
from memolith.core.errors import InvalidRequest, NotFound
from memolith.core.listing import check_position
from memolith.core.objects.session_record import Attachment, SessionRecord

RESOURCE = "session_resource"
THREAD = "session_thread"


class SessionParts:
    """The use cases of resources and threads. Who reads a session's events may read them: its own token, and API keys.

    Each costs one index read.
    """

    def __init__(self, sessions: SessionAccess) -> None:
        self._sessions = sessions

    def resources(self, call: RequestContext, session_id: str, *, limit: int, after: str | None) -> Page[Attachment]:
        """List a session's stores, in the order in which they were attached.

        Raises:
            InvalidRequest: a position that is none of this session's stores. NotFound, PermissionDenied,
            Unauthenticated, Unavailable.
        """
        check_position(after, ids.STORE)
        attached = self._sessions.enter(call, session_id)[1].attachments
        first = 0 if after is None else _place(attached, after) + 1
        page = attached[first : first + limit]
        more = first + limit < len(attached)
        return Page(page, page[-1].memory_store_id if more else None)

    def resource(self, call: RequestContext, session_id: str, resource_id: str) -> Attachment:
        """Return one of a session's stores; its id as a resource is the store's. Raises as `resources`."""
        return _resource(self._sessions.enter(call, session_id)[1], resource_id)

    def refuse_resource(
        self, call: RequestContext, session_id: str, field: str, rule: str, resource_id: str | None = None
    ) -> NoReturn:
        """Refuse to change a session's resources, for API keys that may write. `field` and `rule` say what is asked.

        Raises:
            InvalidRequest. NotFound: no such session, or no such resource; PermissionDenied, Unauthenticated,
            Unavailable.
        """
        record = self._sessions.find(call, Scope.write, session_id)[1]
        if resource_id is not None:
            _resource(record, resource_id)
        raise InvalidRequest(field, f"{rule}; the stores of a session do not change: create another session with POST "
                             "/v1/sessions, whose resources name the stores that it needs")  # fmt: skip

    def thread(self, call: RequestContext, session_id: str, thread_id: str) -> SessionRecord:
        """Return the session that a thread is the one thread of.

        Raises:
            NotFound: no such session, or no such thread. PermissionDenied, Unauthenticated, Unavailable.
        """
        record = self._sessions.enter(call, session_id)[1]
        _check_thread(session_id, thread_id)
        return record

    def threads(self, call: RequestContext, session_id: str) -> list[SessionRecord]:
        """Return the session of each thread: there is one. Raises as `thread`."""
        return [self._sessions.enter(call, session_id)[1]]

    def refuse_end_of_thread(self, call: RequestContext, session_id: str, thread_id: str) -> NoReturn:
        """Refuse to archive a session's one thread, for API keys that may write. Raises InvalidRequest; as `thread`."""
        self._sessions.find(call, Scope.write, session_id)
        _check_thread(session_id, thread_id)
        raise InvalidRequest(
            "thread_id",
            f"names the session's primary thread, which ends with it; archive the session with POST "
            f"/v1/sessions/{session_id}/archive",
        )


def _resource(record: SessionRecord, resource_id: str) -> Attachment:
    found = next((one for one in record.attachments if one.memory_store_id == resource_id), None)
    if found is None:
        raise NotFound(RESOURCE, resource_id)
    return found


def _place(attached: Sequence[Attachment], store_id: str) -> int:
    for place, one in enumerate(attached):
        if one.memory_store_id == store_id:
            return place
    raise InvalidRequest("page", "is not a cursor of this listing; pass next_page as it came, or omit page")


def _check_thread(session_id: str, thread_id: str) -> None:
    if thread_id != ids.primary_thread(session_id):
        raise NotFound(THREAD, thread_id)
