"""API keys, as an admin of a workspace manages them over HTTP. A deployment has no route that leads here."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.authorizer import Access, Authorizer, Scope
from memolith.app.kernel.results import IssuedKey, RequestContext
from memolith.core import ids
from memolith.core.errors import NotFound, PermissionDenied
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.rows.identity import ApiKeyRow


class Keys:
    """The use cases of keys. They take an API key of scope admin that is limited to no stores."""

    def __init__(self, authorizer: Authorizer, api_keys: ApiKeys) -> None:
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

    def all(self, call: RequestContext) -> list[ApiKeyRow]:
        """List every key of the workspace, oldest first, revoked ones too. Two index reads for some hundred keys.

        Raises:
            PermissionDenied, Unavailable; Unauthenticated.
        """
        return self._api_keys.of_workspace(self._enter(call).workspace_id)

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
