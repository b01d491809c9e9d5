"""Operations on API keys: create, list, revoke. A laptop alone has them: a deployment's keys are its operator's."""

from __future__ import annotations

from memolith.app.api.keys import Keys
from memolith.app.kernel.results import IssuedKey
from memolith.core.errors import InvalidRequest
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.rows.identity import ApiKeyRow
from memolith.core.times import parse_rfc3339, rfc3339
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json
from memolith.wire.routes.table import Route

LISTED_MAX = 1_000
"""So many keys are listed, the newest: a person's machine has fewer."""


def key_routes(keys: Keys) -> tuple[Route, ...]:
    """Make the routes that lead to these use cases."""

    def create_key(exchange: Exchange) -> Json:
        from memolith.wire.key_bodies import KeyCreate
        from memolith.wire.request_bodies import parse

        body = parse(KeyCreate, exchange.request.body())
        issued = keys.create(
            exchange.call,
            body.name,
            body.scope,
            expires_at=None if body.expires_at is None else _instant(body.expires_at),
            stores=body.memory_store_ids,
            holder=body.holder,
            requests_per_minute=body.requests_per_minute,
        )
        return {**_shown(issued), "api_key": issued.api_key}

    def list_keys(exchange: Exchange) -> Json:
        rows = keys.all(exchange.call)[-LISTED_MAX:]
        return {"data": [_shown(row) for row in reversed(rows)], "next_page": None}

    def revoke_key(exchange: Exchange) -> Json:
        _check_no_body(exchange)
        return _shown(keys.revoke(exchange.call, exchange.ids[0]))

    return (
        Route(("v1", "api_keys"), {"GET": list_keys, "POST": create_key}),
        Route(("v1", "api_keys", "*", "revoke"), {"POST": revoke_key}),
    )


def _shown(key: IssuedKey | ApiKeyRow | ApiKeyRecord) -> Json:
    """Render a key without its secret."""
    revoked_at = None if isinstance(key, IssuedKey) else key.revoked_at
    return {
        "type": "api_key",
        "id": key.key_id,
        "name": key.name,
        "scope": key.scope,
        "created_at": rfc3339(key.created_at),
        "expires_at": None if key.expires_at is None else rfc3339(key.expires_at),
        "revoked_at": None if revoked_at is None else rfc3339(revoked_at),
        "memory_store_ids": None if key.stores is None else list(key.stores),
        "holder": key.holder,
        "requests_per_minute": key.requests_per_minute,
    }


def _instant(text: str) -> int:
    """Parse an instant. Raises InvalidRequest."""
    try:
        return parse_rfc3339(text)
    except ValueError as error:
        raise InvalidRequest("expires_at", "must be an RFC 3339 date and time") from error
