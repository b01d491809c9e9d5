"""Records of sessions: put once where they are made, folded everywhere, found in the bucket if the index is behind.

A workspace's sessions stand in one partition, those of each region of birth in the order of their birth. A listing
merges these ranges, so that it needs no index of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from memolith.app.auth.newest_first import newest
from memolith.app.index.ack_journal import commit_joined_everywhere
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import READ_FIRST, Put, has_body, put_if_absent
from memolith.core import ids
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.object_keys import SESSION_END, SESSION_UPDATES_FROM, SessionKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.session_record import SessionRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.identity import SessionRow
from memolith.core.sealing import named_record
from memolith.core.trust import rank
from memolith.ports.index import Change, Index

UPDATE_ATTEMPTS = 6

_FIRST_CHANGE = f"{SESSION_UPDATES_FROM:010d}"
"""Below the rank of every change of title or metadata, and above that of every context."""


class SessionLog:
    """Puts, folds and finds."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def fold(
        self, view: View, record: SessionRecord, at: SessionKey, name: Named | None = None, own: bool = False
    ) -> None:
        """Join one version of a session's record, which is `at` its key, into every generation of tables.

        The earliest end absorbs, and so does the least trust class; of contexts, as of changes, the one of the highest
        rank. What stands at the key of a change is a change and no context, also where an earlier release put a context
        there: none that is pinned later would be newer. `name` is the record's object, if it is of this home: it is
        logged as acknowledged where the record was new to the index, or the caller is about to acknowledge it as its
        `own`.
        """
        if at.is_update:
            record = replace(record, pinned_at=None, pins=(), updated=at.rank)
        key = SessionRow.key(record.workspace_id, record.session_id)
        context = at.rank if record.pinned_at is not None else None
        commit_joined_everywhere(
            self._region,
            view,
            partial(self._changes, key=key, record=record, context=context),
            name,
            own=own,
            contended="the session's row stayed contended; read before trying again",
        )

    def _changes(self, index: Index, key: RowKey, record: SessionRecord, context: str | None) -> list[Change]:
        attributes = self._region.read(index, [key]).get(key)
        before = None if attributes is None else SessionRow.from_attributes(attributes)
        after = _join(before, record, context).to_attributes()
        return [] if after == attributes else [Change(key, attributes, after)]

    def known(self, view: View, workspace_id: str, session_id: str, row: SessionRow | None) -> SessionRecord | None:
        """Return a session's record, by its row if there is one. Projects nothing.

        What `ended_at` costs, and where there is no row, a GET or two for how it began, in this bucket or its birth
        region's. Raises Unavailable.
        """
        record = self.began(workspace_id, session_id) if row is None else record_of(row)
        ended_at = None if record is None else self.ended_at(view, workspace_id, session_id, row)
        return None if record is None else replace(record, archived_at=ended_at)

    def ended_at(self, view: View, workspace_id: str, session_id: str, row: SessionRow | None) -> int | None:
        """Return when a session was ended, by its row, and by the bucket where there is none or it may be an old one.

        No call where there is a row and the index is complete; otherwise a GET for each region, unless the row knows.

        Raises:
            Unavailable: the bucket does not answer.
        """
        if row is not None and (row.archived_at is not None or view.complete):
            return row.archived_at
        keys = [SessionKey(region, workspace_id, session_id, SESSION_END) for region in self._region.origins]
        bodies = [found.body for key in keys if (found := find(self._region.objects, str(key))) is not None]
        ends = [SessionRecord.from_json(body).archived_at for body in bodies]
        return min((end for end in ends if end is not None), default=None)

    def began(self, workspace_id: str, session_id: str) -> SessionRecord | None:
        """Read the record as the session began, with its context if it began with one; None where it is not found.

        One GET, a second one where it has not arrived. Raises Unavailable.
        """
        birth = ids.birth_region(session_id, self._region.origins)
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

    def newest(self, view: View, workspace_id: str, after: str | None, limit: int) -> list[SessionRow]:
        """Read a workspace's sessions, newest first, from `after` on: a position of `session_order`, or a session's id.

        One query for each region, at once. `limit` rows, fewer only at the end. Raises Unavailable.
        """
        found = newest(self._region, view, "sesn", workspace_id, after, limit)
        return [SessionRow.from_attributes(one.attributes) for one in found]

    def change(
        self, record: SessionRecord, patched: Callable[[SessionRecord], SessionRecord]
    ) -> tuple[SessionRecord, SessionKey, Named]:
        """Put a record with another title or other metadata, and return it, its key, and how a checkpoint names it.

        One PUT; one GET and one more PUT for each that was there.

        A change that was put in this region meanwhile is what `patched` is applied to. Of changes in two regions at
        once, one absorbs the other.

        Raises:
            Busy, Unavailable, OutcomeUnknown.
        """
        for _ in range(UPDATE_ATTEMPTS):
            now_us = max(self._region.clock.now_us(), (record.updated_at or record.created_at) + 1)
            last = SESSION_UPDATES_FROM if record.updated is None else int(record.updated.partition("/")[0])
            sequence = max(SESSION_UPDATES_FROM + now_us // 1_000_000, last + 1)
            key = SessionKey(self._region.name, record.workspace_id, record.session_id, sequence)
            changed = replace(_alone(patched(record)), updated=key.rank, updated_at=now_us)
            body = changed.to_json()
            is_mine = partial(has_body, self._region, str(key), body)
            if put_if_absent(self._region, str(key), body, {}, is_mine=is_mine) is Put.MINE:
                return changed, key, named_record(key, body)
            record = replace(self.context(key), archived_at=record.archived_at)
        raise Busy(f"others kept changing session {record.session_id}; try again")

    def put_trust(self, record: SessionRecord, at: SessionKey, trust: str) -> tuple[SessionRecord, Named]:
        """Put the version of a record that lowers the session's trust class; an object at its key stays. One PUT.

        What is returned says whether the session has ended; the object does not.

        Raises:
            Unavailable, OutcomeUnknown.
        """
        lowered = replace(_alone(record), trust=trust)
        body = lowered.to_json()
        mine = put_if_absent(self._region, str(at), body, {}) is Put.MINE
        return replace(lowered, archived_at=record.archived_at), named_record(at, body) if mine else Named(str(at))

    def put(self, record: SessionRecord, sequence: int) -> tuple[SessionRecord, SessionKey, Named]:
        """Put one version of a record; an object at its key stays, and is what is returned, for the caller to project.

        One PUT; a GET where the key is taken. Return the key as well, and how a checkpoint names the object: with a
        digest where this put made it.

        Raises:
            Busy, Unavailable, OutcomeUnknown.
        """
        key = SessionKey(self._region.name, record.workspace_id, record.session_id, sequence)
        body = record.to_json()
        if put_if_absent(self._region, str(key), body, {}) is Put.MINE:
            return record, key, named_record(key, body)
        try:
            return self.context(key), key, Named(str(key))
        except Unavailable as error:
            raise OutcomeUnknown(
                "the write may have been committed", region=self._region.name, object=str(key), hint=READ_FIRST
            ) from error


def record_of(row: SessionRow) -> SessionRecord:
    """Return a session's record as its row has it."""
    return replace(SessionRecord.from_json(row.record.encode()), archived_at=row.archived_at)


def _alone(record: SessionRecord) -> SessionRecord:
    """Return a record without what versions of their own say: an end, a context, a class that was shown."""
    return replace(record, archived_at=None, pinned_at=None, pins=(), trust=None)


def _join(before: SessionRow | None, record: SessionRecord, context: str | None) -> SessionRow:
    """Join the record as it began or was last changed, the earliest end that is known, the newest context, and the
    least class that the session was shown.
    """
    ranks = (context, before.context if before else None)
    contexts = [rank for rank in ranks if rank is not None and rank < _FIRST_CHANGE]
    ends = [end for end in (record.archived_at, before.archived_at if before else None) if end is not None]
    stands = before is not None and (before.updated or "") > (record.updated or "")
    began = _alone(record).to_json().decode()
    shown = [trust for trust in (record.trust, before.trust if before else None) if trust is not None]
    return SessionRow(
        workspace_id=record.workspace_id,
        session_id=record.session_id,
        record=before.record if before is not None and stands else began,
        archived_at=min(ends, default=None),
        context=max(contexts, default=None),
        updated=before.updated if before is not None and stands else record.updated,
        trust=min(shown, key=rank, default=None),
    )
