"""Operations on memories: create, read, list, search, update, delete."""

from __future__ import annotations

from typing import Any

from memolith.app.api.sources import Origin
from memolith.app.kernel.search_filter import SearchFilter
from memolith.core.errors import InvalidRequest
from memolith.core.limits import SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX, SESSION_STORES_MAX
from memolith.core.trust import LETTERS, USER, of_name
from memolith.wire import freshness, json_views
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json
from memolith.wire.requests import Query
from memolith.wire.routes.versions import actor_asked_for


def _origin(sources: list[str] | None, max_trust: str | None) -> Origin:
    return Origin(sources or (), USER if max_trust is None else LETTERS[max_trust])


def create_memory(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import MemoryCreate, parse

    full = exchange.request.query.full(default=False)
    body = parse(MemoryCreate, exchange.request.body())
    return json_views.memory(
        exchange.memolith.memories.create(
            exchange.call,
            exchange.store_id,
            path=body.path,
            content=body.content,
            full=full,
            origin=_origin(body.sources, body.max_trust),
        )
    )


def append_remark(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import RemarkBody, parse

    body = parse(RemarkBody, exchange.request.body())
    said = exchange.memolith.remarks.append(exchange.call, exchange.store_id, body.text)
    return {
        "type": "remark",
        "memory_store_id": said.log.store_id,
        "memory_id": said.log.id,
        "memory_version_id": said.log.version_id,
        "path": said.log.path,
        "number": said.number,
        "unchanged": said.unchanged,
    }


def list_memories(exchange: Exchange) -> Json:
    query = exchange.request.query
    prefix, depth = query.words("path_prefix"), int(query.one_of("depth", "0", "1") or 0)
    as_of = query.instant("as_of")
    if as_of is not None and depth:
        raise InvalidRequest("depth", "cannot be combined with as_of")
    listing: Listing = ("memories", exchange.store_id, prefix, depth, *([] if as_of is None else [as_of]))
    limit, after, full = query.limit(), exchange.position(listing), query.full(default=False)
    if as_of is None:
        answer = exchange.memolith.memories.page(
            exchange.call, exchange.store_id, path_prefix=prefix, depth=depth, limit=limit, after=after, full=full
        )
        return exchange.page(listing, answer, json_views.memory_or_prefix)
    answer = exchange.memolith.snapshots.page(
        exchange.call, exchange.store_id, path_prefix=prefix, limit=limit, after=after, full=full, as_of=as_of
    )
    return exchange.page(listing, answer, json_views.past_memory)


def search_memories(exchange: Exchange) -> Json:
    query = exchange.request.query
    answer = exchange.memolith.search.search(
        exchange.call, exchange.store_id, **_searched(query), as_of=query.instant("as_of")
    )
    return exchange.page(("search",), answer, json_views.hit)


def search_stores(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    named = query.words("memory_store_ids")
    store_ids = None if named is None else named.split(",", SESSION_STORES_MAX)
    answer = exchange.memolith.search.search_several(exchange.call, store_ids, **_searched(query))
    return exchange.page(("search",), answer, json_views.hit)


def _searched(query: Query) -> dict[str, Any]:
    """Read what any search takes. Raises InvalidRequest."""
    text = query.words("query")
    if text is None:
        raise InvalidRequest("query", "must be given")
    trust = query.one_of("min_trust", *LETTERS)
    return {
        "query": text,
        "limit": query.limit(SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX),
        "path_prefix": query.words("path_prefix"),
        "min_trust": None if trust is None else of_name(trust),
        "filter": SearchFilter(
            type=query.words("type"),
            tags=tuple((query.words("tags") or "").split(",")) if query.has("tags") else (),
            created_at_gte=query.instant("created_at[gte]"),
            created_at_lte=query.instant("created_at[lte]"),
            updated_at_gte=query.instant("updated_at[gte]"),
            updated_at_lte=query.instant("updated_at[lte]"),
            author=actor_asked_for(query),
        ),
    }


def load_memories(exchange: Exchange) -> Json:
    listing: Listing = ("load", exchange.store_id)
    answer = exchange.memolith.bulk_read.page(exchange.call, exchange.store_id, after=exchange.position(listing))
    return exchange.page(listing, answer, json_views.memory)


def retrieve_memory(exchange: Exchange) -> Json:
    query = exchange.request.query
    full, as_of = query.full(default=True), query.instant("as_of")
    call, store_id, memory_id = exchange.call, exchange.store_id, exchange.item_id
    if as_of is None:
        return json_views.memory(exchange.memolith.memories.retrieve(call, store_id, memory_id, full=full))
    memory = exchange.memolith.snapshots.retrieve(call, store_id, memory_id, full=full, as_of=as_of)
    return json_views.past_memory(memory)


def update_memory(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import MemoryUpdate, parse

    full = exchange.request.query.full(default=False)
    body = parse(MemoryUpdate, exchange.request.body())
    if body.content is None and body.path is None:
        raise InvalidRequest("content", "must be given, or path, or both")
    return json_views.memory(
        exchange.memolith.memories.update(
            exchange.call,
            exchange.store_id,
            exchange.item_id,
            content=body.content,
            path=body.path,
            expected_content_sha256=body.precondition.content_sha256 if body.precondition else None,
            full=full,
            origin=_origin(body.sources, body.max_trust),
        )
    )


def delete_memory(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    expected = exchange.request.query.sha256("expected_content_sha256")
    id = exchange.memolith.memories.delete(
        exchange.call, exchange.store_id, exchange.item_id, expected_content_sha256=expected
    )
    return json_views.deleted("memory_deleted", id)
