"""Operations on what a session consists of: its resources, its one thread, and what comes of its events."""

from __future__ import annotations

from functools import partial

from memolith.app.api.transcripts import EventFilter
from memolith.app.kernel.results import Page
from memolith.core import ids
from memolith.core.limits import LIST_MAX
from memolith.wire import freshness, json_views
from memolith.wire.cursors import Listing
from memolith.wire.event_streams import EventStream
from memolith.wire.event_views import event_view
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json
from memolith.wire.routes.sessions import STATUSES
from memolith.wire.shown_texts import lower_class

PAGE_MAX = 1_000
"""Rows that a caller may ask for in one page, as the API says."""

DELTAS = ("agent.message", "agent.thinking")


def list_session_resources(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    listing: Listing = ("session_resources", exchange.ids[0])
    answer = exchange.memolith.sessions.parts.resources(
        exchange.call,
        exchange.ids[0],
        limit=exchange.request.query.limit(PAGE_MAX, PAGE_MAX),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, json_views.session_resource)


def retrieve_session_resource(exchange: Exchange) -> Json:
    return json_views.session_resource(exchange.memolith.sessions.parts.resource(exchange.call, *exchange.ids))


def add_session_resource(exchange: Exchange) -> Json:
    """Refuse a file, which is all that the SDK adds, as there is no container to mount it in."""
    from memolith.wire.request_bodies import parse
    from memolith.wire.session_bodies import ResourceToAdd

    parse(ResourceToAdd, exchange.request.body())
    rule = "must be memory_store, and given when the session begins: Memolith runs no container to mount files in"
    exchange.memolith.sessions.parts.refuse_resource(exchange.call, exchange.ids[0], "type", rule)


def update_session_resource(exchange: Exchange) -> Json:
    """Refuse a token for a repository, which is all that the SDK updates, as no resource is one."""
    from memolith.wire.request_bodies import parse
    from memolith.wire.session_bodies import ResourceUpdate

    parse(ResourceUpdate, exchange.request.body())
    session_id, resource_id = exchange.ids
    rule = "is for a github_repository, and this resource is a memory store"
    parts = exchange.memolith.sessions.parts
    parts.refuse_resource(exchange.call, session_id, "authorization_token", rule, resource_id)


def delete_session_resource(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    session_id, resource_id = exchange.ids
    rule = "names a memory store that the session's token opens until its end"
    exchange.memolith.sessions.parts.refuse_resource(exchange.call, session_id, "resource_id", rule, resource_id)


def list_session_threads(exchange: Exchange) -> Json:
    """List the one thread. No page of it goes on, so that behind any cursor there is nothing."""
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    query.limit(PAGE_MAX, PAGE_MAX)
    statuses = query.several_of(("statuses", "statuses[]"), STATUSES)
    listing: Listing = ("session_threads", exchange.ids[0])
    position = exchange.position(listing)
    threads = exchange.memolith.sessions.parts.threads(exchange.call, exchange.ids[0])
    shown = tuple(one for one in threads if position is None and (not statuses or one.status in statuses))
    return exchange.page(listing, Page(shown, None), json_views.session_thread)


def retrieve_session_thread(exchange: Exchange) -> Json:
    return json_views.session_thread(exchange.memolith.sessions.parts.thread(exchange.call, *exchange.ids))


def archive_session_thread(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    exchange.memolith.sessions.parts.refuse_end_of_thread(exchange.call, *exchange.ids)


def list_thread_events(exchange: Exchange) -> Json:
    """List the events of the one thread, which are the session's."""
    freshness.check_none(exchange.call.demand)
    _check_thread(exchange)
    listing: Listing = ("thread_events", exchange.ids[0])
    answer = exchange.memolith.transcripts.page(
        exchange.call,
        exchange.ids[0],
        filter=EventFilter(),
        limit=min(exchange.request.query.limit(highest=PAGE_MAX), LIST_MAX),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, event_view)


def stream_events(exchange: Exchange) -> EventStream:
    """Send the session's events as they come. `event_deltas` changes nothing: each event comes whole."""
    freshness.check_none(exchange.call.demand)
    exchange.request.query.several_of(("event_deltas", "event_deltas[]"), DELTAS)
    tail = exchange.memolith.transcripts.tail(exchange.call, exchange.ids[0])
    show = partial(lower_class, exchange.memolith, exchange.call, writes=False)
    return EventStream(tail, exchange.present, show)


def stream_thread_events(exchange: Exchange) -> EventStream:
    """Send the events of the one thread, which are the session's."""
    _check_thread(exchange)
    return stream_events(exchange)


def _check_thread(exchange: Exchange) -> None:
    """Refuse another thread than the one that the session has. No call where it is that one."""
    session_id, thread_id = exchange.ids
    if thread_id != ids.primary_thread(session_id):
        exchange.memolith.sessions.parts.thread(exchange.call, session_id, thread_id)
