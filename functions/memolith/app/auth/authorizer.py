"""Who may do what with which store: keys, workspaces, scopes, and where a store's record is found.

Each call reads the caller's key, the store's record and the rows it needs in one batch, so a revocation holds from the
moment it is folded; nothing is cached. A row that the index lacks is looked for in the bucket, so that a key works and
a store is known as soon as their objects have arrived, or, for a store, as soon as they exist in its birth region.

It is also here that a read's demand is met: what is the home's to answer, or has not come here in time, ends in
`AskHome`, which `memolith.app.api.forwarded_reads` turns into a question to the home.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import (
    Credentials,
    DelegatedCredentials,
    ReadConsistency,
    RequestContext,
    SessionCredentials,
)
from memolith.app.log.store_log import StoreLog
from memolith.core import ids
from memolith.core.epochs import has_cut
from memolith.core.errors import InvalidRequest, NotFound, PermissionDenied, Unauthenticated, Unavailable
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import ApiKeyRow, SessionRow, StoreRow

WAITS_S = (0.05, 0.1, 0.2, 0.4)
"""The pauses in which a version that was asked for may still come, before the home is asked: 0.75 s in all."""


class AskHome(Exception):
    """This read is for the store's home to answer. `view` is what is known here."""

    def __init__(self, home: str, view: View) -> None:
        super().__init__(home)
        self.home = home
        self.view = view


class Scope(IntEnum):
    """What a key may do; each includes those below it."""

    read = 1
    write = 2
    admin = 3


@dataclass(frozen=True, slots=True)
class Access:
    """A caller let in: the index as read, whose workspace it is, the actor its versions carry, and what it may."""

    view: View
    workspace_id: str
    actor: str
    scope: Scope

    @property
    def sees_withheld(self) -> bool:
        """Whether texts that a verdict withholds are shown to this caller: to those who can release them."""
        return self.scope is Scope.admin


@dataclass(frozen=True, slots=True)
class StoreAccess(Access):
    """A caller let in to one store."""

    store: StoreRow

    @property
    def complete_until(self) -> int | None:
        """Up to when this region has everything that was acknowledged in any home that the store has had."""
        homes = {parse_epoch(epoch).home for epoch in self.store.epochs}
        return self.view.complete_until_of(homes)


class Authorizer:
    """Lets callers in, or says why not. One index read."""

    def __init__(self, region: Region, keys: ApiKeys, records: StoreLog) -> None:
        self._region = region
        self._keys = keys
        self._records = records

    def enter(
        self, call: RequestContext, scope: Scope, keys: Sequence[RowKey] = (), marked: Sequence[str] = ()
    ) -> Access:
        """Check an API key and its scope, and read `keys` in the same batch. A session's token is not enough.

        Raises:
            Unauthenticated, PermissionDenied, Unavailable.
        """
        if isinstance(call.credentials, SessionCredentials):
            raise PermissionDenied("a session's token opens its stores' memories and nothing else; use an API key")
        return self._enter(call, scope, keys, marked)

    def enter_any(self, call: RequestContext, scope: Scope, keys: Sequence[RowKey] = ()) -> Access:
        """Check as `enter` does, for any session's token too; the caller checks what that may see."""
        return self._enter(call, scope, keys)

    def _enter(self, call: RequestContext, scope: Scope, keys: Sequence[RowKey], marked: Sequence[str] = ()) -> Access:
        credentials = call.credentials
        if isinstance(credentials, DelegatedCredentials):
            view = self._region.view(keys, marked)
            access = Access(view, credentials.workspace_id, credentials.actor, Scope[credentials.scope])
        elif isinstance(credentials, SessionCredentials):
            session = SessionRow.key(credentials.workspace_id, credentials.session_id)
            view = self._region.view([session, *keys], marked)
            access = _admit_session(view, credentials, scope)
        else:
            view = self._region.view([_key_of(credentials), *keys], marked)
            access = self._admit(view, credentials, scope)
        call.complete_until, call.scope = view.complete_until, access.scope.name
        return access

    def enter_store(
        self, call: RequestContext, scope: Scope, store_id: str, keys: Sequence[RowKey] = (), marked: Sequence[str] = ()
    ) -> StoreAccess:
        """Check as `enter` does, and the store's record; a store outside the workspace, or the token, is not found.

        A read relies on the tables of its `keys`, and on those in `marked`, to say what does not exist and how fresh
        its answer is: their marks are read with them (`Region.view`).

        For a read, the rows are as fresh as it demands. With a `min_version` they are read once more, after that
        version's own row: a batch is not one moment.

        Raises:
            Unauthenticated, PermissionDenied, NotFound, Unavailable.
            InvalidRequest: a `min_version` that the store's home does not know.
            AskHome: a read whose demand the home alone can meet.
        """
        if ids.STORE.fullmatch(store_id) is None:
            self._enter(call, scope, [])
            raise NotFound("memory_store", store_id)
        demand = call.demand if scope is Scope.read else ReadConsistency()
        least = [] if demand.min_version is None else [VersionRow.key(store_id, demand.min_version)]
        tables = sorted({*marked, *(key.table for key in keys if scope is Scope.read)})
        entered = self._enter(call, scope, [StoreRow.key(store_id), *keys, *least], _also(tables, least))
        if isinstance(call.credentials, SessionCredentials):
            entered = _narrowed(entered, call.credentials, scope, store_id)
            call.scope = entered.scope.name
        store = self.store(entered.view, store_id, entered.workspace_id)
        call.home = store.home
        view = entered.view
        if demand.home and store.home != self._region.name:
            self._ask_home(call, store, view)
        if least:
            self._await(call, store, view, least[0])
            later = self._region.view([StoreRow.key(store_id), *keys], tables) if keys else view
            view = replace(later, ticks_us=view.ticks_us)
        access = StoreAccess(view, entered.workspace_id, entered.actor, entered.scope, store)
        call.complete_until = access.complete_until
        return access

    def _ask_home(self, call: RequestContext, store: StoreRow, view: View) -> None:
        if isinstance(call.credentials, DelegatedCredentials):
            raise Unavailable("the store's home has moved; try again")
        raise AskHome(store.home, view)

    def _await(self, call: RequestContext, store: StoreRow, view: View, key: RowKey) -> None:
        """Return once the version is in this region's index; raise if even its home does not know it.

        A home whose failover is under way does not know yet what its bucket has: it raises Unavailable.
        """
        if _knows(view, key):
            return
        if store.home == self._region.name:
            view.require_complete()
            if not has_cut(store):
                raise Unavailable("the store's home is being failed over; try again")
            raise InvalidRequest("x-memolith-min-version", f"{key.sk} is not known in this store")
        for pause_s in WAITS_S:
            self._region.clock.pause(pause_s)
            if _knows(self._region.view([key]), key):
                return
        self._ask_home(call, store, view)

    def store(self, view: View, store_id: str, workspace_id: str, deleted: bool = False) -> StoreRow:
        """Return the record of a store of this workspace, a live one unless `deleted`. Raises NotFound, Unavailable."""
        if ids.STORE.fullmatch(store_id) is None:
            raise NotFound("memory_store", store_id)
        attributes = view.rows.get(StoreRow.key(store_id))
        store = self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)
        if store is None or store.workspace_id != workspace_id or (store.is_deleted and not deleted):
            raise NotFound("memory_store", store_id)
        return store

    def enter_deleted(self, call: RequestContext, store_id: str) -> StoreAccess:
        """Let an admin in to a store of the workspace that may be deleted, and erased too. One index read.

        Raises:
            Unauthenticated, PermissionDenied, NotFound, Unavailable.
        """
        keys = [StoreRow.key(store_id)] if ids.STORE.fullmatch(store_id) is not None else []
        entered = self.enter(call, Scope.admin, keys)
        store = self.store(entered.view, store_id, entered.workspace_id, deleted=True)
        call.home = store.home
        return StoreAccess(entered.view, entered.workspace_id, entered.actor, entered.scope, store)

    def _admit(self, view: View, credentials: Credentials, scope: Scope) -> Access:
        attributes = view.rows.get(_key_of(credentials))
        key = self._keys.find(credentials) if attributes is None else ApiKeyRow.from_attributes(attributes)
        if key is None or not hmac.compare_digest(key.secret_sha256, credentials.secret_sha256):
            raise Unauthenticated("the API key is not known here")
        if key.revoked_at is not None:
            raise Unauthenticated("the API key has been revoked")
        _require(Scope[key.scope], scope, "the API key's scope is")
        return Access(view, key.workspace_id, credentials.actor, Scope[key.scope])


_SCOPES = {"read_only": Scope.read, "read_write": Scope.write}


def _admit_session(view: View, credentials: SessionCredentials, scope: Scope) -> Access:
    """Admit a session whose token's signature was checked, unless the session was ended since."""
    attributes = view.rows.get(SessionRow.key(credentials.workspace_id, credentials.session_id))
    if attributes is not None and SessionRow.from_attributes(attributes).archived_at is not None:
        raise Unauthenticated("the token's session has been ended")
    _require(Scope.write, scope, "a session's token may at most")
    return Access(view, credentials.workspace_id, credentials.actor, Scope.write)


def _narrowed(access: Access, credentials: SessionCredentials, scope: Scope, store_id: str) -> Access:
    """Narrow the access to what a session's token allows for one store. Raises NotFound for an unnamed store."""
    has = _SCOPES.get(credentials.access.get(store_id, ""))
    if has is None:
        raise NotFound("memory_store", store_id)
    _require(has, scope, f"this session's access to {store_id} is")
    return replace(access, scope=has)


def _require(has: Scope, needs: Scope, what: str) -> None:
    if has < needs:
        raise PermissionDenied(f"{what} {has.name}; this needs {needs.name}")


def _also(tables: Sequence[str], keys: Sequence[RowKey]) -> list[str]:
    return sorted({*tables, *(key.table for key in keys)})


def _key_of(credentials: Credentials) -> RowKey:
    return ApiKeyRow.key(credentials.workspace_id, credentials.key_id)


def _knows(view: View, key: RowKey) -> bool:
    """Tell whether the version is indexed; of one that is not, its redaction may be known already."""
    return key in view.rows and VersionRow.from_attributes(view.rows[key]).memory_id is not None
