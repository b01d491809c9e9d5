"""Who may do what with which store: keys, workspaces, scopes, and where a store's record is found.

Each call reads the caller's key, the store's record and the rows it needs in one batch, so a revocation holds from the
moment it is folded; nothing is cached. A row that the index lacks is looked for in the bucket, so that a key works and
a store is known as soon as their objects have arrived, or, for a store, as soon as they exist in its birth region.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from cairn.app.answers import Call, Credentials
from cairn.app.keys import Keys
from cairn.app.records import Records
from cairn.app.region import Region, View
from cairn.core import ids
from cairn.core.errors import NotFound, PermissionDenied, Unauthenticated
from cairn.core.records import StoreState
from cairn.core.rows import ApiKeyRow, RowKey, StoreRow


class Scope(IntEnum):
    """What a key may do; each includes those below it."""

    read = 1
    write = 2
    admin = 3


@dataclass(frozen=True, slots=True)
class Access:
    """A caller let in: the index as read, the key's row, the actor its versions carry."""

    view: View
    key: ApiKeyRow

    @property
    def actor(self) -> str:
        return f"api_key:{self.key.key_id}"


@dataclass(frozen=True, slots=True)
class StoreAccess(Access):
    """A caller let in to one store."""

    store: StoreRow


class Door:
    """Lets callers in, or says why not. One index read."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._keys = Keys(region)
        self._records = Records(region)

    def enter(self, call: Call, scope: Scope, keys: Sequence[RowKey] = ()) -> Access:
        """Checks the key and its scope, and reads `keys` in the same batch.

        Raises:
            Unauthenticated, PermissionDenied, Unavailable.
        """
        view = self._region.view([_key_of(call.credentials), *keys])
        return Access(view, self._admit(view, call.credentials, scope))

    def enter_store(self, call: Call, scope: Scope, store_id: str, keys: Sequence[RowKey] = ()) -> StoreAccess:
        """As `enter`, and the store's record; a store of another workspace is not found.

        Raises:
            Unauthenticated, PermissionDenied, NotFound, Unavailable.
        """
        if ids.STORE.fullmatch(store_id) is None:
            self.enter(call, scope)
            raise NotFound("memory_store", store_id)
        access = self.enter(call, scope, [StoreRow.key(store_id), *keys])
        store = self.store(access.view, store_id, access.key.workspace_id)
        call.home = store.home
        return StoreAccess(access.view, access.key, store)

    def store(self, view: View, store_id: str, workspace_id: str) -> StoreRow:
        """The record of a live store of this workspace. Raises NotFound, Unavailable."""
        if ids.STORE.fullmatch(store_id) is None:
            raise NotFound("memory_store", store_id)
        attributes = view.rows.get(StoreRow.key(store_id))
        store = self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)
        if store is None or store.workspace_id != workspace_id or store.state == StoreState.DELETED:
            raise NotFound("memory_store", store_id)
        return store

    def _admit(self, view: View, credentials: Credentials, scope: Scope) -> ApiKeyRow:
        attributes = view.rows.get(_key_of(credentials))
        key = self._keys.find(credentials) if attributes is None else ApiKeyRow.from_attributes(attributes)
        if key is None or not hmac.compare_digest(key.secret_sha256, credentials.secret_sha256):
            raise Unauthenticated("the API key is not known here")
        if key.revoked_at is not None:
            raise Unauthenticated("the API key has been revoked")
        if Scope[key.scope] < scope:
            raise PermissionDenied(f"the API key's scope is {key.scope}; this needs {scope.name}")
        return key


def _key_of(credentials: Credentials) -> RowKey:
    return ApiKeyRow.key(credentials.workspace_id, credentials.key_id)
