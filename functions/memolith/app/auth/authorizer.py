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
from dataclasses import dataclass, field, replace
from enum import IntEnum

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.key_rates import KeyRates
from memolith.app.auth.session_log import SessionLog
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
from memolith.core.api_keys import reaches, why_ended
from memolith.core.epochs import ended_us, homes_of, is_of_the_last_term
from memolith.core.errors import InvalidRequest, NotFound, PermissionDenied, Unauthenticated, Unavailable
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import ApiKeyRow, SessionRow, StoreRow
from memolith.core.trust import USER, of_holder, of_session

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
    """A caller let in: the index as read, whose workspace it is, the actor its versions carry, and what it may.

    `key` is the API key that it came in with; None for a session's token, and for a caller that another region let in.
    `trust` is the class of what the caller writes (`memolith.core.trust`).
    """

    view: View
    workspace_id: str
    actor: str
    scope: Scope
    key: ApiKeyRow | None = None
    trust: str | None = None

    @property
    def sees_all_stores(self) -> bool:
        """Whether the caller's key is limited to no stores."""
        return self.key is None or self.key.stores is None

    @property
    def limited_to(self) -> Sequence[str]:
        """The stores that the caller's key is limited to; none where it is not limited."""
        return () if self.key is None else self.key.stores or ()

    def reaches(self, *store_ids: str) -> bool:
        """Tell whether the caller's key is limited to none, or to stores with all of these among them."""
        return reaches(self.key, store_ids)


@dataclass(frozen=True, slots=True)
class StoreAccess(Access):
    """A caller let in to one store. `asks_withheld`: the caller asked to be shown withheld texts."""

    store: StoreRow = field(kw_only=True)
    asks_withheld: bool = field(kw_only=True)

    @property
    def sees_withheld(self) -> bool:
        """Whether texts that a verdict withholds are shown to this caller: to one who can release them, and who asked.

        An agent often has its owner's key, so that the key alone does not say that a person will read the text.
        """
        return self.asks_withheld and self.scope is Scope.admin

    @property
    def complete_until(self) -> int | None:
        """Up to when this region has everything that was acknowledged in any home that the store has had."""
        return self.view.complete_until_of(homes_of(self.store))


class Authorizer:
    """Lets callers in, or says why not. One index read.

    A request counts once against its key's limit, however often it is let in; what another region passes on was
    counted there. Whatever lets a caller in raises `RateLimited` where the limit is used up.
    """

    def __init__(self, region: Region, keys: ApiKeys, sessions: SessionLog, records: StoreLog, rates: KeyRates) -> None:
        self._region = region
        self._keys = keys
        self._sessions = sessions
        self._records = records
        self._rates = rates

    def admit(self, call: RequestContext, named: Sequence[str] = ()) -> None:
        """Look the caller's credentials up before anything is made of what it sent. One index read.

        The rows of what the path has `named`, a store and perhaps something in it, are read in the same batch and kept
        with the call: what lets it in then reads only the rows that the body names, and nothing if there are none.

        Raises:
            Unauthenticated, Unavailable.
        """
        call.opened = self._enter(call, Scope.read, _rows_of(call.credentials.workspace_id, named)).view

    def enter(
        self, call: RequestContext, scope: Scope, keys: Sequence[RowKey] = (), marked: Sequence[str] = ()
    ) -> Access:
        """Check an API key and its scope, and read `keys` in the same batch. A session's token is not enough.

        Raises Unauthenticated, PermissionDenied, Unavailable.
        """
        if isinstance(call.credentials, SessionCredentials):
            self.admit(call)
            raise PermissionDenied("a session's token opens its stores' memories and nothing else; use an API key")
        return self._enter(call, scope, keys, marked)

    def enter_any(self, call: RequestContext, scope: Scope, keys: Sequence[RowKey] = ()) -> Access:
        """Check as `enter` does, for any session's token too; the caller checks what that may see."""
        return self._enter(call, scope, keys)

    def _enter(self, call: RequestContext, scope: Scope, keys: Sequence[RowKey], marked: Sequence[str] = ()) -> Access:
        credentials = call.credentials
        if isinstance(credentials, DelegatedCredentials):
            view = self._view(call, keys, marked)
            access = Access(view, credentials.workspace_id, credentials.actor, Scope[credentials.scope])
        elif isinstance(credentials, SessionCredentials):
            session = SessionRow.key(credentials.workspace_id, credentials.session_id)
            behind = [ApiKeyRow.key(credentials.workspace_id, key_id) for key_id in credentials.key_ids]
            view = self._view(call, [session, *behind, *keys], marked)
            access = self._admit_session(view, credentials, scope, counts=not call.admitted)
        else:
            view = self._view(call, [_key_of(credentials), *keys], marked)
            access = self._admit(view, credentials, scope, counts=not call.admitted)
        call.complete_until, call.scope, call.admitted = view.complete_until, access.scope.name, True
        call.trust = access.trust
        return access

    def _view(self, call: RequestContext, keys: Sequence[RowKey], marked: Sequence[str]) -> View:
        """Read the rows; those that `admit` has read are not read again, once. No call, or one index read.

        What is missing is read from the generation that `admit` found serving, and later than the rest: as when a
        writer reads what it finds that it needs. Where an answer rests on marks, everything is read anew.
        """
        opened, call.opened = call.opened, None
        if opened is None or marked:
            return self._region.view(keys, marked)
        missing = [key for key in dict.fromkeys(keys) if key not in opened.asked]
        if not missing:
            return opened
        rows = self._region.read(opened.index, missing)
        return replace(opened, rows={**opened.rows, **rows}, asked=opened.asked | frozenset(missing))

    def enter_store(
        self, call: RequestContext, scope: Scope, store_id: str, keys: Sequence[RowKey] = (), marked: Sequence[str] = ()
    ) -> StoreAccess:
        """Check as `enter` does, and the store's record. A store outside the workspace, the token, or what the key is
        limited to, is not found.

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
        if not entered.reaches(store_id):
            raise NotFound("memory_store", store_id)
        store = self.store(entered.view, store_id, entered.workspace_id)
        call.home = store.home
        view = entered.view
        if demand.home and store.home != self._region.name:
            self._ask_home(call, store, view)
        if least:
            self._await(call, store, view, least[0])
            later = self._region.view([StoreRow.key(store_id), *keys], tables) if keys else view
            if not later.complete and store.home != self._region.name:
                self._ask_home(call, store, later)  # of an emptied table, older rows may come back first
            later.require_complete()
            view = replace(later, ticks_us=view.ticks_us)
        access = _in_store(replace(entered, view=view), store, call)
        call.complete_until = access.complete_until
        return access

    def _ask_home(self, call: RequestContext, store: StoreRow, view: View) -> None:
        if isinstance(call.credentials, DelegatedCredentials):
            raise Unavailable("the store's home has moved; try again")
        raise AskHome(store.home, view)

    def _await(self, call: RequestContext, store: StoreRow, view: View, key: RowKey) -> None:
        """Return once the version is in this region's index; raise if even its home does not know it.

        While a home's term begins or ends it raises Unavailable: a new home has not indexed yet what its bucket has,
        and an old one may have missed that another region has begun to write. So it does while a version of an earlier
        home may be on its way: a new home begins with the newest versions alone.
        """
        if _knows(view, key):
            return
        if store.home == self._region.name:
            view.require_complete()
            earlier = set(homes_of(store)) - {self._region.name}
            is_known = is_of_the_last_term(store, key.sk) or not view.may_lack(earlier, ended_us(store))
            if store.state != StoreState.ACTIVE or not is_known:
                raise Unavailable("the store's home is changing; try again")
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
        store = self._records.known(view, store_id)
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
        if not entered.reaches(store_id):
            raise NotFound("memory_store", store_id)
        store = self.store(entered.view, store_id, entered.workspace_id, deleted=True)
        call.home = store.home
        return _in_store(entered, store, call)

    def _admit(self, view: View, credentials: Credentials, scope: Scope, *, counts: bool) -> Access:
        attributes = view.rows.get(_key_of(credentials))
        row = None if attributes is None else ApiKeyRow.from_attributes(attributes)
        key = row or self._keys.find(credentials, complete=view.complete)
        if key is None or not hmac.compare_digest(key.secret_sha256, credentials.secret_sha256):
            raise Unauthenticated("the API key is not known here")
        if row is not None:
            key = self._keys.with_its_end(view, row)
        ended = why_ended(key, self._region.clock.now_us())
        if ended is not None:
            raise Unauthenticated(f"the API key {ended}")
        if counts:
            self._rates.take(key)
        _require(Scope[key.scope], scope, "the API key's scope is")
        return Access(view, key.workspace_id, credentials.actor, Scope[key.scope], key, of_holder(key.holder))

    def _admit_session(self, view: View, credentials: SessionCredentials, scope: Scope, *, counts: bool) -> Access:
        """Admit a session whose token's signature was checked, unless it, or a key that it comes from, has ended.
        The call counts as one of each of those keys, and may do no more than each of them.

        Its row says what it was shown, and a key's row who holds it. Where one has not arrived, or its table was
        emptied, what it writes is of unknown class. The bucket says then whether it ended, for a GET for each region.
        """
        workspace_id, session_id = credentials.workspace_id, credentials.session_id
        attributes = view.rows.get(SessionRow.key(workspace_id, session_id))
        session = None if attributes is None else SessionRow.from_attributes(attributes)
        if self._sessions.ended_at(view, workspace_id, session_id, session) is not None:
            raise Unauthenticated("the token's session has been ended")
        read = None if session is None or not view.complete else session.trust or USER
        keys: list[ApiKeyRow] = []
        for key_id in _keys_behind(credentials, session):
            key = self.find_key(view, workspace_id, key_id)
            if key is None:
                read = None
                continue
            keys.append(key)
            if (ended := why_ended(key, self._region.clock.now_us())) is not None:
                raise Unauthenticated(f"the API key that the token comes from {ended}")
            if counts:
                self._rates.take(key)
        may = min([Scope.write, *(Scope[key.scope] for key in keys)])
        _require(may, scope, "a session's token, with the API keys that it comes from, may at most")
        return Access(view, workspace_id, credentials.actor, may, trust=of_session((key.holder for key in keys), read))

    def find_key(self, view: View, workspace_id: str, key_id: str) -> ApiKeyRow | None:
        """Find a key by its id, whoever asks: None where no object of it has arrived. Raises Unavailable.

        No call where `view` asked for its row and there is one; an index read where it did not; and for a row that is
        not there a LIST a region: no stranger can name such a key.
        """
        place = ApiKeyRow.key(workspace_id, key_id)
        rows = view.rows if place in view.asked else self._region.read(view.index, [place])
        if place in rows:
            return self._keys.with_its_end(view, ApiKeyRow.from_attributes(rows[place]))
        return self._keys.search(workspace_id, key_id)


def _keys_behind(credentials: SessionCredentials, row: SessionRow | None) -> Sequence[str]:
    """Name the keys that a token comes from. A token outlives the release that signed it, which named no keys."""
    if credentials.key_ids or row is None:
        return credentials.key_ids
    key_id = SessionRecord.from_json(row.record.encode()).key_id
    return () if key_id is None else (key_id,)


_SCOPES = {"read_only": Scope.read, "read_write": Scope.write}


def _narrowed(access: Access, credentials: SessionCredentials, scope: Scope, store_id: str) -> Access:
    """Narrow the access to what a session's token allows for one store. Raises NotFound for an unnamed store."""
    has = _SCOPES.get(credentials.access.get(store_id, ""))
    if has is None:
        raise NotFound("memory_store", store_id)
    _require(has, scope, f"this session's access to {store_id} is")
    return replace(access, scope=has)


def _in_store(access: Access, store: StoreRow, call: RequestContext) -> StoreAccess:
    return StoreAccess(
        access.view,
        access.workspace_id,
        access.actor,
        access.scope,
        access.key,
        access.trust,
        store=store,
        asks_withheld=call.shows_withheld,
    )


def _require(has: Scope, needs: Scope, what: str) -> None:
    if has < needs:
        raise PermissionDenied(f"{what} {has.name}; this needs {needs.name}")


def _also(tables: Sequence[str], keys: Sequence[RowKey]) -> list[str]:
    return sorted({*tables, *(key.table for key in keys)})


def _rows_of(workspace_id: str, named: Sequence[str]) -> list[RowKey]:
    """Return the rows of a path's ids, by their form; an id of no form that is known here names none."""
    store_id = next((id for id in named[:1] if ids.STORE.fullmatch(id)), None)
    rows = [] if store_id is None else [StoreRow.key(store_id)]
    for id in named:
        if ids.SESSION.fullmatch(id):
            rows.append(SessionRow.key(workspace_id, id))
        elif store_id is not None and ids.MEMORY.fullmatch(id):
            rows.append(MemoryRow.key(store_id, id))
        elif store_id is not None and ids.VERSION.fullmatch(id):
            rows.append(VersionRow.key(store_id, id))
    return rows


def _key_of(credentials: Credentials) -> RowKey:
    return ApiKeyRow.key(credentials.workspace_id, credentials.key_id)


def _knows(view: View, key: RowKey) -> bool:
    """Tell whether the version is indexed; of one that is not, its redaction may be known already."""
    return key in view.rows and VersionRow.from_attributes(view.rows[key]).memory_id is not None
