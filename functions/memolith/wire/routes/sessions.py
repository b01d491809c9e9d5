"""Operations on sessions: begin, read, renew a token, end, and the context for a prompt."""

from __future__ import annotations

from memolith.app.kernel.results import StoreToAttach
from memolith.wire import json_views
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json


def create_session(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import SessionCreate, parse

    body = parse(SessionCreate, exchange.request.body())
    stores = [StoreToAttach(one.memory_store_id, one.access, one.instructions or "") for one in body.resources]
    session = exchange.memolith.sessions.create(
        exchange.call,
        stores,
        title=body.title,
        metadata=body.metadata or {},
        token_lifetime_s=body.token_lifetime_seconds,
    )
    return json_views.session(session)


def retrieve_session(exchange: Exchange) -> Json:
    return json_views.session(exchange.memolith.sessions.retrieve(exchange.call, exchange.ids[0]))


def renew_session_token(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import SessionToken, parse

    raw = exchange.request.body()
    body = parse(SessionToken, raw if raw.strip() else b"{}")
    return json_views.session(
        exchange.memolith.sessions.renew(exchange.call, exchange.ids[0], token_lifetime_s=body.token_lifetime_seconds)
    )


def archive_session(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return json_views.session(exchange.memolith.sessions.archive(exchange.call, exchange.ids[0]))


def session_context(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import SessionContext, parse

    raw = exchange.request.body()
    body = parse(SessionContext, raw if raw.strip() else b"{}")
    return json_views.session_context(
        exchange.memolith.sessions.context(exchange.call, exchange.ids[0], refresh=body.refresh or False)
    )
