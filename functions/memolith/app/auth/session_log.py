"""Records of sessions: put once where they are made, folded everywhere, found in the bucket if the index is behind."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from memolith.app.index.ack_journal import AckJournal, commit_joined
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import put_if_absent
from memolith.core import ids
from memolith.core.errors import Unavailable
from memolith.core.object_keys import SessionKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.session_record import SessionRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.identity import SessionRow
from memolith.ports.index import Change, Index


class SessionLog:
    """Puts, folds and finds."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def fold(
        self, view: View, record: SessionRecord, at: SessionKey, name: Named | None = None, own: bool = False
    ) -> None:
        """Join one version of a session's record, which is `at` its key, into every generation of tables.

        The earliest end absorbs, and of contexts the one of the highest rank. `name` is the record's object, if it is
        of this home: it is logged as acknowledged where the record was new to the index, or the caller is about to
        acknowledge it as its `own`.
        """
        key = SessionRow.key(record.workspace_id, record.session_id)
        context = at.rank if record.pinned_at is not None else None
        for index in view.indexes:
            here = name is not None and index.generation == view.index.generation
            commit_joined(
                self._region,
                index,
                partial(self._changes, index, key, record, context),
                AckJournal(self._region, view.period),
                [name] if here and name is not None else [],
                own=own,
                contended="the session's row stayed contended; read before trying again",
            )

    def _changes(self, index: Index, key: RowKey, record: SessionRecord, context: str | None) -> list[Change]:
        attributes = self._region.read(index, [key]).get(key)
        before = None if attributes is None else SessionRow.from_attributes(attributes)
        after = _join(before, record, context).to_attributes()
        return [] if after == attributes else [Change(key, attributes, after)]

    def find(self, workspace_id: str, session_id: str) -> SessionRecord | None:
        """Find a session that the index lacks, in this bucket or its birth region's. Projects nothing."""
        birth = ids.birth_region(session_id, self._region.regions)
        if birth is None:
            return None
        for region in dict.fromkeys((self._region.name, birth)):
            found = find(self._region.objects, str(SessionKey(birth, workspace_id, session_id, 1)), region)
            if found is not None:
                return SessionRecord.from_json(found.body)
        return None

    def context(self, key: SessionKey) -> SessionRecord:
        """Read the version of a record at a key: from this bucket, or that of the region which wrote it.

        One GET, a second one where it has not arrived. Raises Unavailable.
        """
        for region in dict.fromkeys((self._region.name, key.region)):
            found = find(self._region.objects, str(key), region)
            if found is not None:
                return SessionRecord.from_json(found.body)
        raise Unavailable("the session's context has not arrived here yet; try again")

    def put(self, record: SessionRecord, sequence: int) -> SessionKey:
        """Put one version of a record; an object at its key stays. Return the key, for the caller to project.

        Raises:
            Unavailable, OutcomeUnknown.
        """
        key = SessionKey(self._region.name, record.workspace_id, record.session_id, sequence)
        put_if_absent(self._region, str(key), record.to_json(), {})
        return key


def _join(before: SessionRow | None, record: SessionRecord, context: str | None) -> SessionRow:
    """Join the record as it began, the earliest end that is known of it, and its newest context."""
    contexts = [rank for rank in (context, before.context if before else None) if rank is not None]
    ends = [end for end in (record.archived_at, before.archived_at if before else None) if end is not None]
    began = replace(record, archived_at=None, pinned_at=None, pins=()).to_json().decode()
    return SessionRow(
        workspace_id=record.workspace_id,
        session_id=record.session_id,
        record=began,
        archived_at=min(ends, default=None),
        context=max(contexts, default=None),
    )
