"""Operations on sessions: begin, list, read, change, renew a token, end, and the context for a prompt."""

from __future__ import annotations

from memolith.app.kernel.results import UNSET, SessionAgent, StoreToAttach
from memolith.app.kernel.session_filter import SessionFilter
from memolith.core.trust import of_name
from memolith.wire import freshness, json_views
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json

STATUSES = ("running", "idle", "rescheduling", "terminated")
"""What the API says of sessions and threads; here they are ``idle`` until they have ended."""

AGENT_VERSION_MAX = 999_999_999


def create_session(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import parse
    from memolith.wire.session_bodies import SessionCreate

    body = parse(SessionCreate, exchange.request.body())
    stores = [StoreToAttach(one.memory_store_id, one.access, one.instructions or "") for one in body.resources]
    session = exchange.memolith.sessions.create(
        exchange.call,
        stores,
        title=body.title,
        metadata=body.metadata or {},
        token_lifetime_s=body.token_lifetime_seconds,
        agent=SessionAgent(*body.agent_named, body.environment_named),
    )
    return json_views.session(session)


def list_sessions(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    query.one_of("order", "desc")
    since, until = query.bounds("created_at")
    archived = query.one_of("include_archived", "true", "false") == "true"
    store_id, key_id, agent_id = query.id("memory_store_id"), query.id("api_key_id"), query.id("agent_id")
    version = None if query.text("agent_version") is None else query.number("agent_version", 0, AGENT_VERSION_MAX, 0)
    deployment_id = query.id("deployment_id")
    statuses = query.several_of(("statuses", "statuses[]"), STATUSES)
    listing: Listing = ("sessions", since, until, archived, store_id, key_id, agent_id)
    if version is not None or deployment_id or statuses:
        listing = (*listing, version, deployment_id, ",".join(sorted(statuses)))
    answer = exchange.memolith.sessions.page(
        exchange.call,
        filter=SessionFilter(archived, store_id, key_id, agent_id, since, until, version, deployment_id, statuses),
        limit=query.limit(),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, json_views.session)


def update_session(exchange: Exchange) -> Json:
    """Change a session. Null and absence are one: ``""`` clears `title`, null inside `metadata` removes a pair."""
    from memolith.wire.request_bodies import parse
    from memolith.wire.session_bodies import SessionUpdate

    body = parse(SessionUpdate, exchange.request.body())
    session = exchange.memolith.sessions.update(
        exchange.call,
        exchange.ids[0],
        title=UNSET if body.title is None else body.title,
        metadata=body.metadata,
    )
    return json_views.session(session)


def delete_session(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return json_views.deleted("session_deleted", exchange.memolith.sessions.delete(exchange.call, exchange.ids[0]))


def retrieve_session(exchange: Exchange) -> Json:
    return json_views.session(exchange.memolith.sessions.retrieve(exchange.call, exchange.ids[0]))


def renew_session_token(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import parse
    from memolith.wire.session_bodies import SessionToken

    raw = exchange.request.body()
    body = parse(SessionToken, raw if raw.strip() else b"{}")
    session = exchange.memolith.sessions.renew(
        exchange.call, exchange.ids[0], token_lifetime_s=body.token_lifetime_seconds
    )
    return json_views.session(session)


def archive_session(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return json_views.session(exchange.memolith.sessions.archive(exchange.call, exchange.ids[0]))


def session_context(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import parse
    from memolith.wire.session_bodies import SessionContext

    raw = exchange.request.body()
    body = parse(SessionContext, raw if raw.strip() else b"{}")
    return json_views.session_context(
        exchange.memolith.sessions.context(
            exchange.call,
            exchange.ids[0],
            refresh=body.refresh or False,
            min_trust=None if body.min_trust is None else of_name(body.min_trust),
        )
    )
