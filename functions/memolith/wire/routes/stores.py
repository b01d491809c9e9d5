"""Operations on memory stores.

Bodies are parsed with pydantic, imported only where there is one: the reader has none, and starts faster without.
"""

from __future__ import annotations

from memolith.app.kernel.results import UNSET
from memolith.wire import freshness, json_views
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json


def create_store(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import parse
    from memolith.wire.store_bodies import StoreCreate

    body = parse(StoreCreate, exchange.request.body())
    return json_views.store(
        exchange.memolith.stores.create(
            exchange.call,
            name=body.name,
            description=body.description or "",
            metadata=body.metadata or {},
            scan_policy=None if body.scan_policy is None else body.scan_policy.model_dump(exclude_none=True),
            retention=None if body.retention is None else body.retention.model_dump(),
            durability=body.durability,
            second_region=body.second_region,
        )
    )


def list_stores(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    since, until = query.instant("created_at[gte]"), query.instant("created_at[lte]")
    archived = query.one_of("include_archived", "true", "false") == "true"
    deleted = query.one_of("deleted", "true", "false") == "true"
    listing: Listing = ("stores", since, until, archived, *(("deleted",) if deleted else ()))
    answer = exchange.memolith.stores.page(
        exchange.call,
        created_at_gte=since,
        created_at_lte=until,
        include_archived=archived,
        limit=query.limit(),
        after=exchange.position(listing),
        deleted=deleted,
    )
    return exchange.page(listing, answer, json_views.deleted_store if deleted else json_views.store)


def retrieve_store(exchange: Exchange) -> Json:
    return json_views.store(exchange.memolith.stores.retrieve(exchange.call, exchange.store_id))


def update_store(exchange: Exchange) -> Json:
    """Update a store. Null and absence are one: ``""`` clears `description`, null inside `metadata` removes a pair."""
    from memolith.wire.request_bodies import parse
    from memolith.wire.store_bodies import StoreUpdate

    body = parse(StoreUpdate, exchange.request.body())
    return json_views.store(
        exchange.memolith.stores.update(
            exchange.call,
            exchange.store_id,
            name=UNSET if body.name is None else body.name,
            description=UNSET if body.description is None else body.description,
            metadata=UNSET if body.metadata is None else body.metadata,
            scan_policy=UNSET if body.scan_policy is None else body.scan_policy.model_dump(exclude_none=True),
            retention=UNSET if body.retention is None else body.retention.model_dump(),
            durability=UNSET if body.durability is None else body.durability,
            second_region=UNSET if body.second_region is None else body.second_region,
            **({} if body.approval is None else {"approval": body.approval.model_dump(exclude_none=True)}),
            **({} if body.pipelines is None else {"pipelines": body.pipelines.model_dump(exclude_none=True)}),
        )
    )


def archive_store(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return json_views.store(exchange.memolith.stores.archive(exchange.call, exchange.store_id))


def delete_store(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return json_views.deleted("memory_store_deleted", exchange.memolith.stores.delete(exchange.call, exchange.store_id))


def restore_store(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return json_views.store(exchange.memolith.stores.restore(exchange.call, exchange.store_id))
