"""Sessions: which stores an agent has for a while, and the token by which it, and what acts for it, comes in.

A session's record is an object like a key's: written where the call lands, replicated, folded everywhere. Ending a
session absorbs. The token needs no record to be true, so that it works in a region before the record has arrived there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cairn.app.access import Access, Door, Scope
from cairn.app.answers import Call, Session, SessionCredentials, StoreToAttach
from cairn.app.region import Region
from cairn.app.session_records import SessionRecords
from cairn.app.tokens import READ_WRITE, Tokens
from cairn.core import ids
from cairn.core.errors import InvalidRequest, NotFound
from cairn.core.limits import SESSION_STORES_MAX
from cairn.core.records import Attachment, SessionRecord
from cairn.core.rows import SessionRow, StoreRow

MOUNT_ROOT = "/mnt/memory"


class Sessions:
    """The use cases of sessions. API keys alone may use them: a session cannot make, prolong or end one."""

    def __init__(self, region: Region, door: Door, tokens: Tokens) -> None:
        self._region = region
        self._door = door
        self._tokens = tokens
        self._records = SessionRecords(region)

    def verify(self, token: str) -> SessionCredentials:
        """See `Tokens.verify`."""
        return self._tokens.verify(token)

    def create(
        self,
        call: Call,
        stores: Sequence[StoreToAttach],
        *,
        title: str | None,
        metadata: Mapping[str, str],
        token_lifetime_s: int,
    ) -> Session:
        """A new session and its token. One index read, one PUT, one index read and write.

        Raises:
            InvalidRequest: too many stores, the same one twice, or one that is archived.
            PermissionDenied: a key that may not write gives no leave to.
            NotFound, Unavailable, OutcomeUnknown; Unauthenticated.
        """
        _check(stores)
        needs = Scope.write if any(one.access == READ_WRITE for one in stores) else Scope.read
        access = self._door.enter(call, needs, [StoreRow.key(one.memory_store_id) for one in stores])
        rows = [self._door.store(access.view, one.memory_store_id, access.workspace_id) for one in stores]
        for position, row in enumerate(rows):
            if row.archived_at is not None:
                field = f"resources.{position}.memory_store_id"
                raise InvalidRequest(field, "names an archived store, which cannot be attached to a new session")
        record = SessionRecord(
            workspace_id=access.workspace_id,
            session_id=self._region.new_regional_id("sesn"),
            title=title,
            metadata=dict(metadata),
            attachments=_attachments(stores, rows),
            created_at=self._region.clock.now_us(),
            created_by=access.actor,
        )
        token, expires_at = self._tokens.issue(record, token_lifetime_s)
        name = self._records.put(record, 1)
        self._records.fold(access.view, record, name, own=True)
        return Session(record, token, expires_at)

    def retrieve(self, call: Call, session_id: str) -> Session:
        """A session, ended or not, without its token. One index read."""
        return Session(self._find(call, Scope.read, session_id)[1])

    def renew(self, call: Call, session_id: str, token_lifetime_s: int) -> Session:
        """Another token of a session; earlier ones hold until their own end. One index read.

        Raises:
            InvalidRequest: the session has been ended. PermissionDenied, NotFound, Unavailable; Unauthenticated.
        """
        access, record = self._find(call, Scope.read, session_id)
        if record.archived_at is not None:
            raise InvalidRequest("session_id", "names a session that has been ended")
        if access.scope < Scope.write and any(one.access == READ_WRITE for one in record.attachments):
            self._door.enter(call, Scope.write)
        token, expires_at = self._tokens.issue(record, token_lifetime_s)
        return Session(record, token, expires_at)

    def archive(self, call: Call, session_id: str) -> Session:
        """Ends a session: its tokens open nothing from the moment that this is folded, here at once. Repeatable.

        One index read, one PUT, one index read and write.
        """
        access, record = self._find(call, Scope.write, session_id)
        if record.archived_at is not None:
            return Session(record)
        ended = replace(record, archived_at=max(self._region.clock.now_us(), record.created_at))
        name = self._records.put(ended, 2)
        self._records.fold(access.view, ended, name, own=True)
        return Session(ended)

    def _find(self, call: Call, scope: Scope, session_id: str) -> tuple[Access, SessionRecord]:
        """The session's record of this workspace, from the index, or else as an object. Raises NotFound."""
        if ids.SESSION.fullmatch(session_id) is None:
            self._door.enter(call, scope)
            raise NotFound("session", session_id)
        workspace_id = call.credentials.workspace_id
        key = SessionRow.key(workspace_id, session_id)
        access = self._door.enter(call, scope, [key])
        attributes = access.view.rows.get(key)
        record = self._records.find(workspace_id, session_id) if attributes is None else _record(attributes)
        if record is None:
            raise NotFound("session", session_id)
        return access, record


def _record(attributes: Mapping[str, object]) -> SessionRecord:
    row = SessionRow.from_attributes(attributes)
    return replace(SessionRecord.from_json(row.record.encode()), archived_at=row.archived_at)


def _check(stores: Sequence[StoreToAttach]) -> None:
    if not 1 <= len(stores) <= SESSION_STORES_MAX:
        raise InvalidRequest("resources", f"must name 1 to {SESSION_STORES_MAX} memory stores")
    seen: set[str] = set()
    for position, one in enumerate(stores):
        if one.memory_store_id in seen:
            raise InvalidRequest(f"resources.{position}.memory_store_id", "names a store that is attached already")
        seen.add(one.memory_store_id)


def _attachments(stores: Sequence[StoreToAttach], rows: Sequence[StoreRow]) -> tuple[Attachment, ...]:
    slugs: set[str] = set()
    made = []
    for one, row in zip(stores, rows, strict=True):
        slug = _slug(row.name, slugs)
        slugs.add(slug)
        made.append(
            Attachment(one.memory_store_id, one.access, one.instructions, row.name, row.description, _path(slug))
        )
    return tuple(made)


def _slug(name: str, taken: set[str]) -> str:
    """The store's name in lower case, every run of other characters one hyphen; a number where it is taken.

    Source: docs/api-compatibility.md §1.12; what stands at an end, an empty slug and a taken one are ours to decide.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "store"
    candidate, number = slug, 2
    while candidate in taken:
        candidate, number = f"{slug}-{number}", number + 1
    return candidate


def _path(slug: str) -> str:
    return f"{MOUNT_ROOT}/{slug}"
