"""Sessions: which stores an agent has for a while, and the token by which it, and what acts for it, comes in.

A session's record is an object like a key's: written where the call lands, replicated, folded everywhere. Ending a
session absorbs. The token needs no record to be true, so that it works in a region before the record has arrived there.
A session ends with the API key that began it, and a token also with the key that asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memolith.app.api.session_context import SessionContexts
from memolith.app.api.session_parts import SessionParts
from memolith.app.api.transcripts import Transcripts
from memolith.app.auth.authorizer import Access, Authorizer, Scope
from memolith.app.auth.session_access import SessionAccess, is_reached
from memolith.app.auth.session_log import SessionLog, record_of
from memolith.app.auth.session_tokens import READ_WRITE, SessionTokens
from memolith.app.auth.session_trust import SessionTrust
from memolith.app.kernel.answer_size import RECORDS_MAX_BYTES
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import (
    NO_AGENT,
    UNSET,
    Page,
    RequestContext,
    Session,
    SessionAgent,
    SessionContext,
    SessionCredentials,
    StoreToAttach,
)
from memolith.app.kernel.session_filter import SessionFilter
from memolith.core import ids, session_order
from memolith.core.api_keys import why_ended
from memolith.core.errors import InvalidRequest, NotFound, Unavailable, once_done
from memolith.core.limits import LIST_MAX, SESSION_STORES_MAX
from memolith.core.listing import check_position
from memolith.core.metadata import patched
from memolith.core.object_keys import SESSION_END, SESSION_UPDATES_FROM, SessionKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.session_record import Attachment, SessionRecord
from memolith.core.rows.identity import ApiKeyRow, SessionRow, StoreRow
from memolith.core.trust import AGENT, least

MOUNT_ROOT = "/mnt/memory"

FURTHER_PAGES = 4
"""Of a hundred sessions each, read for one page of a listing: a filter that few pass must not have it read for ever."""


class Sessions:
    """The use cases of sessions. API keys alone make, list, change, prolong or end them; its own token may ask for a
    session's context, and for its `parts`.
    """

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        tokens: SessionTokens,
        records: SessionLog,
        contexts: SessionContexts,
        trust: SessionTrust,
        access: SessionAccess,
        transcripts: Transcripts,
        parts: SessionParts,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._tokens = tokens
        self._records = records
        self._contexts = contexts
        self._trust = trust
        self._access = access
        self._transcripts = transcripts
        self.parts = parts

    def verify(self, token: str) -> SessionCredentials:
        """See `SessionTokens.verify`."""
        return self._tokens.verify(token)

    def create(
        self,
        call: RequestContext,
        stores: Sequence[StoreToAttach],
        *,
        title: str | None,
        metadata: Mapping[str, str],
        token_lifetime_s: int,
        agent: SessionAgent = NO_AGENT,
    ) -> Session:
        """Create a session and its token, and pin what its context will show.

        One index read, one PUT, one index read and write; for the context as much as `SessionContexts.pinned` says.

        Raises:
            InvalidRequest: too many stores, the same one twice, or one that is archived.
            PermissionDenied: a key that may not write cannot grant writing.
            NotFound, Unavailable, OutcomeUnknown; Unauthenticated.
        """
        _check(stores)
        needs = Scope.write if any(one.access == READ_WRITE for one in stores) else Scope.read
        malformed = next((one.memory_store_id for one in stores if not ids.STORE.fullmatch(one.memory_store_id)), None)
        if malformed is not None:
            self._authorizer.enter(call, needs)
            raise NotFound("memory_store", malformed)
        access = self._authorizer.enter(call, needs, [StoreRow.key(one.memory_store_id) for one in stores])
        unreached = next((one.memory_store_id for one in stores if not access.reaches(one.memory_store_id)), None)
        if unreached is not None:
            raise NotFound("memory_store", unreached)
        rows = [self._authorizer.store(access.view, one.memory_store_id, access.workspace_id) for one in stores]
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
            key_id=None if access.key is None else access.key.key_id,
            agent_id=agent.id,
            agent_version=agent.version,
            environment_id=agent.environment_id,
        )
        record = self._contexts.pinned(access.view, record)
        token, expires_at = self._tokens.issue(record, token_lifetime_s, _given(access.key))
        self._keep(access.view, record, 1)
        return Session(record, token, expires_at)

    def create_unasked(self, view: View, store: StoreRow, *, title: str, created_by: str) -> SessionRecord:
        """Create a session of one store without a caller, a key, a token or a context, for a pipeline of the store.

        One PUT, one index read and write. Raises Unavailable, OutcomeUnknown.
        """
        record = SessionRecord(
            workspace_id=store.workspace_id,
            session_id=self._region.new_regional_id("sesn"),
            title=title,
            metadata={},
            attachments=_attachments([StoreToAttach(store.store_id, READ_WRITE, "")], [store]),
            created_at=self._region.clock.now_us(),
            created_by=created_by,
        )
        self._keep(view, record, 1)
        return record

    def retrieve(self, call: RequestContext, session_id: str) -> Session:
        """Return a session, ended or not, without its token. One index read."""
        return Session(self._access.find(call, Scope.read, session_id)[1])

    def renew(self, call: RequestContext, session_id: str, token_lifetime_s: int) -> Session:
        """Issue another token of a session; earlier ones are valid until their own end. One index read.

        The token ends also with the key that asks for it. Where that is not the key that began the session, one index
        read more.

        Raises:
            InvalidRequest: the session has been ended, or its key has. PermissionDenied, NotFound, Unavailable;
            Unauthenticated.
        """
        access, record = self._access.find(call, Scope.read, session_id)
        if record.archived_at is not None:
            raise InvalidRequest("session_id", "names a session that has been ended")
        if access.scope < Scope.write and any(one.access == READ_WRITE for one in record.attachments):
            self._authorizer.enter(call, Scope.write)
        keys = self._keys_behind(access, record)
        ended = next((why for why in (why_ended(key, self._region.clock.now_us()) for key in keys) if why), None)
        if ended is not None:
            raise InvalidRequest("session_id", f"names a session whose API key {ended}")
        token, expires_at = self._tokens.issue(record, token_lifetime_s, keys)
        return Session(record, token, expires_at)

    def _keys_behind(self, access: Access, record: SessionRecord) -> list[ApiKeyRow]:
        """Return the key that began the session, and the caller's, if that is another one."""
        own = access.key
        if record.key_id is None or (own is not None and own.key_id == record.key_id):
            return _given(own)
        return _given(self._authorizer.find_key(access.view, access.workspace_id, record.key_id)) + _given(own)

    def page(self, call: RequestContext, *, filter: SessionFilter, limit: int, after: str | None) -> Page[Session]:
        """List the workspace's sessions that the caller's key reaches, newest first.

        Two index reads and a query for each region, more queries if many are filtered out; then a page may be short,
        or empty, and be continued all the same. It ends before its records take more than `RECORDS_MAX_BYTES`, with one
        at least.

        Raises:
            InvalidRequest: a position that is no session's. Unavailable; Unauthenticated, PermissionDenied.
        """
        check_position(after, ids.SESSION)
        access = self._authorizer.enter(call, Scope.admin)
        page = self._page(access, filter, limit, after)
        self._region.require_whole(access.view, "keys")
        return page

    def _page(self, access: Access, filter: SessionFilter, limit: int, after: str | None) -> Page[Session]:
        found, size = list[Session](), 0
        position, last = after, after
        if after is None and filter.created_at_lte is not None:
            position = session_order.until(filter.created_at_lte)
        for wanted in (limit + 1, *[LIST_MAX] * FURTHER_PAGES):
            rows = self._records.newest(access.view, access.workspace_id, position, wanted)
            for row in rows:
                if filter.created_at_gte is not None and session_order.is_before(row.session_id, filter.created_at_gte):
                    return Page(tuple(found), None)
                record = record_of(row)
                if filter.shows(record) and is_reached(access, record):
                    size += len(record.to_json())
                    if found and (len(found) == limit or size > RECORDS_MAX_BYTES):
                        return Page(tuple(found), last)
                    found.append(Session(record))
                position = last = row.session_id
            if len(rows) < wanted:
                return Page(tuple(found), None)
        return Page(tuple(found), last)

    def update(
        self, call: RequestContext, session_id: str, *, title: object, metadata: Mapping[str, str | None] | None
    ) -> Session:
        """Change the title, the metadata or both; UNSET and None leave it alone. Refused once the session has ended.

        Metadata is a merge patch in which None deletes a key. Of changes in two regions at once, one absorbs the other.
        One index read, one PUT, one index read and write; nothing is put where nothing changes. One index read more
        where the session has no row.

        Raises:
            InvalidRequest: the session has been ended, or would have too many pairs. NotFound, PermissionDenied,
            Busy, OutcomeUnknown; Unauthenticated.
            Unavailable: also while the index is being rebuilt, which may lack earlier changes that this would undo.
        """
        access, record = self._access.find(call, Scope.write, session_id)
        if record.archived_at is not None:
            raise InvalidRequest("session_id", "names a session that has been ended")
        access.view.require_complete()
        if SessionRow.key(record.workspace_id, session_id) not in access.view.rows:
            self._region.require_whole(access.view, "keys")

        def changed(before: SessionRecord) -> SessionRecord:
            to_show = before.title if title is UNSET else str(title) or None
            return replace(before, title=to_show, metadata=patched(before.metadata, metadata))

        if changed(record) == record:
            return Session(record)
        after, key, name = self._records.change(record, changed)
        self._project(access.view, after, key, name)
        return Session(after)

    def delete(self, call: RequestContext, session_id: str) -> str:
        """End a session, as `archive` does, and have its transcript erased in every region. Repeatable.

        Its record stays, as versions name it as their author. As `archive`, and as much again for the order to erase.
        """
        access, record = self._access.find(call, Scope.write, session_id)
        self._archive(access, record)
        with once_done(f"{session_id} was ended, but its transcript may not be erased", "repeat the call"):
            self._transcripts.erase(access, record)
        return session_id

    def archive(self, call: RequestContext, session_id: str) -> Session:
        """End a session: its tokens open nothing from the moment that this is projected, here at once. Repeatable.

        One index read, one PUT, one index read and write. Of two that end it at once here, the first to put counts.
        """
        access, record = self._access.find(call, Scope.write, session_id)
        return self._archive(access, record)

    def _archive(self, access: Access, record: SessionRecord) -> Session:
        row = access.view.rows.get(SessionRow.key(record.workspace_id, record.session_id))
        if row is not None and SessionRow.from_attributes(row).archived_at is not None:
            return Session(record)
        # An end that is in the bucket alone is projected too: a row that comes without it would open the session again.
        ended = replace(record, archived_at=record.archived_at or max(self._region.clock.now_us(), record.created_at))
        stored = self._keep(access.view, ended, SESSION_END)
        return Session(replace(ended, archived_at=stored.archived_at))

    def context(
        self, call: RequestContext, session_id: str, *, refresh: bool, min_trust: str | None = None
    ) -> SessionContext:
        """Return what the session's stores had when it began, or was last refreshed: the same bytes until a refresh.

        With `min_trust`, without the texts of lower classes; the session sinks to the least class that is shown, once
        for each class, for an index read, a PUT, an index read and write.

        For the session's own token and for API keys. An index read, a GET of the pins, an index read of what has become
        of them, and for each store its texts at once and what the verdicts say of them. With `refresh` as much as for a
        new session, and its PUT, before; so it is where the session began without a context, after a GET or two.

        Raises:
            InvalidRequest: a refresh of a session that has been ended. NotFound, OutcomeUnknown, Unauthenticated.
            Unavailable: a text or the index does not answer; or the session has no context yet, and the index of
            this region is being rebuilt.
        """
        access, record, rank = self._access.enter(call, session_id)
        record = self._pin_again(access, record, rank) if refresh else self._pinned(access, record, rank)
        context = self._contexts.build(access, record, min_trust)
        shown = least((one.trust for one in context.stores if one.text), AGENT)
        if shown != AGENT:
            self._trust.lower(access.workspace_id, session_id, shown)
        return context

    def _pinned(self, access: Access, record: SessionRecord, rank: str | None) -> SessionRecord:
        """Return the version with a session's context; pin it where the session began without one.

        A row names no context also where another version of the session came here before its beginning.
        """
        if rank is not None:
            return self._records.context(_key_at(record, rank))
        began = self._records.began(record.workspace_id, record.session_id)
        return self._pin_again(access, record, rank) if began is None or began.pinned_at is None else began

    def _pin_again(self, access: Access, record: SessionRecord, rank: str | None) -> SessionRecord:
        """Pin a session's context as it is now, and keep it. A second one of the same second is the first."""
        if record.archived_at is not None:
            raise InvalidRequest("session_id", "names a session that has been ended")
        access.view.require_complete()
        before = SESSION_END if rank is None else int(rank.partition("/")[0])
        if before >= SESSION_UPDATES_FROM:  # an earlier release took a change for a context
            before = SESSION_END
        sequence = max(self._region.clock.now_us() // 1_000_000, before + 1)
        pinned = self._contexts.pinned(access.view, record)
        if pinned.pinned_at is None:
            raise Unavailable("a table of this region's index has been emptied; it must be rebuilt; try another region")
        return self._keep(access.view, pinned, sequence)

    def _keep(self, view: View, record: SessionRecord, sequence: int) -> SessionRecord:
        """Put and project one version of a record; return the one that another call had put there before, if any."""
        stored, key, name = self._records.put(record, sequence)
        self._project(view, stored, key, name)
        return stored

    def _project(self, view: View, stored: SessionRecord, key: SessionKey, name: Named) -> None:
        with once_done(f"a record of {stored.session_id} was put, but is not indexed yet"):
            self._records.fold(view, stored, key, name, own=True)


def _key_at(record: SessionRecord, rank: str) -> SessionKey:
    sequence, _, region = rank.partition("/")
    return SessionKey(region, record.workspace_id, record.session_id, int(sequence))


def _given(key: ApiKeyRow | None) -> list[ApiKeyRow]:
    return [] if key is None else [key]


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
    """Make a slug: the name in lower case, every run of other characters one hyphen; a number where it is taken.

    Source: docs/api-compatibility.md §1.12; hyphens at an end, an empty slug and a taken one are ours to decide.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "store"
    candidate, number = slug, 2
    while candidate in taken:
        candidate, number = f"{slug}-{number}", number + 1
    return candidate


def _path(slug: str) -> str:
    return f"{MOUNT_ROOT}/{slug}"
