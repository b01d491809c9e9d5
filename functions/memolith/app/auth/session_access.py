"""Finding the session that a call names, for those who may see it.

An API key finds a session of its workspace whose stores it reaches, all of them; a session's token finds its own.
"""

from __future__ import annotations

from memolith.app.auth.authorizer import Access, Authorizer, Scope
from memolith.app.auth.session_log import SessionLog
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import RequestContext, SessionCredentials
from memolith.core import ids
from memolith.core.errors import NotFound
from memolith.core.object_keys import SessionKey
from memolith.core.objects.session_record import SessionRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.identity import SessionRow


class SessionAccess:
    """Lets callers in to one session."""

    def __init__(self, region: Region, authorizer: Authorizer, records: SessionLog) -> None:
        self._region = region
        self._authorizer = authorizer
        self._records = records

    def enter(
        self, call: RequestContext, session_id: str, scope: Scope = Scope.read
    ) -> tuple[Access, SessionRecord, str | None]:
        """Return the session, and the rank of its context, for its own token or an API key of `scope`.

        One index read; a GET or two for a session that the index lacks.

        Raises:
            NotFound, PermissionDenied, Unauthenticated, Unavailable.
        """
        credentials = call.credentials
        others = isinstance(credentials, SessionCredentials) and credentials.session_id != session_id
        if others or ids.SESSION.fullmatch(session_id) is None:
            self._authorizer.enter_any(call, scope)
            raise NotFound("session", session_id)
        key = SessionRow.key(credentials.workspace_id, session_id)
        access = self._authorizer.enter_any(call, scope, [key])
        record, row = self._known(access, key)
        if row is not None:
            return access, record, row.context
        rank = SessionKey(ids.birth_region(session_id, self._region.origins) or "", "", "", 1).rank
        return access, record, None if record.pinned_at is None else rank

    def find(self, call: RequestContext, scope: Scope, session_id: str) -> tuple[Access, SessionRecord]:
        """Find the session's record of this workspace, for an API key alone. As `enter`. Raises NotFound."""
        if ids.SESSION.fullmatch(session_id) is None:
            self._authorizer.enter(call, scope)
            raise NotFound("session", session_id)
        key = SessionRow.key(call.credentials.workspace_id, session_id)
        access = self._authorizer.enter(call, scope, [key])
        return access, self._known(access, key)[0]

    def _known(self, access: Access, key: RowKey) -> tuple[SessionRecord, SessionRow | None]:
        """Return a session's record, and its row if there is one. Raises NotFound, Unavailable."""
        attributes = access.view.rows.get(key)
        row = None if attributes is None else SessionRow.from_attributes(attributes)
        record = self._records.known(access.view, key.pk, key.sk, row)
        if record is None or not is_reached(access, record):
            raise NotFound("session", key.sk)
        return record, row


def is_reached(access: Access, record: SessionRecord) -> bool:
    """Tell whether the caller's key reaches every store of a session; one that it does not is not found."""
    return access.reaches(*(one.memory_store_id for one in record.attachments))
