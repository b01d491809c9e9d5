"""What a session was shown: its trust class sinks to the least class of that, and never rises.

The class stands in the session's row, which every call of the session reads anyway. A text of a lower class is recorded
before it is answered: by an object of the session's own, one for each class and region, which replicates and survives a
rebuild like any other. So a session costs this at most once for each class below its own, and most sessions never.
See docs/adr/0040-a-session-sinks-before-it-is-answered.md.
"""

from __future__ import annotations

from memolith.app.auth.session_log import SessionLog
from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region
from memolith.core.errors import Unavailable
from memolith.core.object_keys import SESSION_TRUST_FROM, SessionKey
from memolith.core.rows.identity import SessionRow
from memolith.core.trust import NOTHING_KNOWN, rank


class SessionTrust:
    """Records of what sessions were shown."""

    def __init__(self, region: Region, records: SessionLog) -> None:
        self._region = region
        self._records = records

    def lower(self, workspace_id: str, session_id: str, trust: str | None) -> None:
        """Record that the session was shown a text of this class. Repeatable; it only ever lowers.

        An index read; where this is new, a PUT, an index read and write.

        Raises:
            Unavailable, OutcomeUnknown: it may not be recorded; show nothing, and try again.
        """
        key = SessionRow.key(workspace_id, session_id)
        view = self._region.view([key])
        attributes = view.rows.get(key)
        row = None if attributes is None else SessionRow.from_attributes(attributes)
        if row is not None and row.trust is not None and rank(row.trust) <= rank(trust):
            return
        record = self._records.known(view, workspace_id, session_id, row)
        if record is None:
            raise Unavailable(f"session {session_id} has not arrived in this region yet; try again")
        letter = trust if rank(trust) else NOTHING_KNOWN
        at = SessionKey(self._region.name, workspace_id, session_id, SESSION_TRUST_FROM + rank(letter))
        record, name = self._records.put_trust(record, at, letter or NOTHING_KNOWN)
        self._records.fold(view, record, at, name, own=True)

    def ask_to_lower(self, workspace_id: str, session_id: str, trust: str | None) -> None:
        """Have this region's indexer do what `lower` does, for a function that writes nothing. One invocation.

        Raises:
            Unavailable: it may not be recorded; show nothing, and try again.
        """
        payload = {"call": "session_shown", "workspace_id": workspace_id, "session_id": session_id, "trust": trust}
        with repeatable():
            self._region.peers.call(self._region.name, "indexer", payload)
