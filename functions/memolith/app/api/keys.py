"""API keys, as an admin of a workspace manages them over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.authorizer import Access, Authorizer, Scope
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import IssuedKey, Page, RequestContext
from memolith.core import ids
from memolith.core.errors import NotFound, PermissionDenied
from memolith.core.listing import check_position
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.rows.identity import ApiKeyRow


class Keys:
    """The use cases of keys. They take an API key of scope admin that is limited to no stores."""

    def __init__(self, region: Region, authorizer: Authorizer, api_keys: ApiKeys) -> None:
        self._region = region
        self._authorizer = authorizer
        self._api_keys = api_keys

    def create(
        self,
        call: RequestContext,
        name: str,
        scope: str,
        *,
        expires_at: int | None,
        stores: Sequence[str] | None,
        holder: str | None,
        requests_per_minute: int | None,
    ) -> IssuedKey:
        """Issue a key of the caller's workspace; see `ApiKeys.create`. One index read more.

        Raises:
            InvalidRequest, PermissionDenied, Unavailable, OutcomeUnknown; Unauthenticated.
        """
        access = self._enter(call)
        return self._api_keys.create(access.workspace_id, name, scope, expires_at, stores, holder, requests_per_minute)

    def page(self, call: RequestContext, *, limit: int, after: str | None) -> Page[ApiKeyRow]:
        """List the workspace's keys, newest first, revoked ones too. Two index reads and a query for each region.

        Raises:
            InvalidRequest: a position that is no key's. PermissionDenied, Unavailable; Unauthenticated.
        """
        check_position(after, ids.KEY)
        access = self._enter(call)
        rows = self._api_keys.newest(access.view, access.workspace_id, after, limit + 1)
        self._region.require_whole(access.view, "keys")
        return Page(tuple(rows[:limit]), rows[limit - 1].key_id if len(rows) > limit else None)

    def revoke(self, call: RequestContext, key_id: str) -> ApiKeyRecord:
        """Revoke a key of the workspace, also the caller's own; see `ApiKeys.revoke`. Repeatable.

        Raises:
            NotFound, PermissionDenied, Unavailable, OutcomeUnknown; Unauthenticated.
        """
        access = self._enter(call)
        if ids.KEY.fullmatch(key_id) is None:
            raise NotFound("api_key", key_id)
        return self._api_keys.revoke(access.workspace_id, key_id)[0]

    def _enter(self, call: RequestContext) -> Access:
        access = self._authorizer.enter(call, Scope.admin)
        if not access.sees_all_stores:
            raise PermissionDenied("a key that is limited to stores manages no keys")
        return access
