"""Operations on API keys: create, list, revoke.

On AWS the function `keys` alone answers them, which alone may put a key's object; a laptop's server answers them too.
"""

from __future__ import annotations

from memolith.app.kernel.results import IssuedKey
from memolith.core.errors import InvalidRequest
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.rows.identity import ApiKeyRow
from memolith.core.times import LAST_US, parse_rfc3339, rfc3339
from memolith.wire import freshness
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json


def create_key(exchange: Exchange) -> Json:
    from memolith.wire.key_bodies import KeyCreate
    from memolith.wire.request_bodies import parse

    body = parse(KeyCreate, exchange.request.body())
    try:
        issued = exchange.memolith.keys.create(
            exchange.call,
            body.name,
            body.scope,
            expires_at=None if body.expires_at is None else _instant(body.expires_at),
            stores=body.memory_store_ids,
            holder=body.holder,
            requests_per_minute=body.requests_per_minute,
        )
    except InvalidRequest as error:
        if error.field == "stores":  # as an operator's call names them
            raise InvalidRequest("memory_store_ids", error.rule) from error
        raise
    return {**_shown(issued), "api_key": issued.api_key}


def list_keys(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    answer = exchange.memolith.keys.page(
        exchange.call, limit=exchange.request.query.limit(), after=exchange.position(("keys",))
    )
    return exchange.page(("keys",), answer, _shown)


def revoke_key(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return _shown(exchange.memolith.keys.revoke(exchange.call, exchange.ids[0]))


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
        instant_us = parse_rfc3339(text)
    except ValueError as error:
        raise InvalidRequest("expires_at", "must be an RFC 3339 date and time") from error
    if instant_us > LAST_US:
        raise InvalidRequest("expires_at", "must be before the year 10000 in UTC")
    return instant_us
