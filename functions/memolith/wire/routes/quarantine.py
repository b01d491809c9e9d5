"""Operations on withheld texts: list, read, release, restore."""

from __future__ import annotations

from memolith.wire import freshness, json_views
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json


def list_quarantine(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    released = exchange.request.query.one_of("include_released", "true", "false") == "true"
    listing: Listing = ("quarantine", exchange.store_id, released)
    answer = exchange.memolith.quarantine.page(
        exchange.call,
        exchange.store_id,
        include_released=released,
        limit=exchange.request.query.limit(),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, json_views.quarantined_text)


def retrieve_quarantined(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    return json_views.quarantined_text(
        exchange.memolith.quarantine.retrieve(exchange.call, exchange.store_id, exchange.item_id)
    )


def release_quarantined(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import Release, parse

    body = parse(Release, exchange.request.body())
    return json_views.quarantined_text(
        exchange.memolith.quarantine.release(exchange.call, exchange.store_id, exchange.item_id, reason=body.reason)
    )


def restore_quarantined(exchange: Exchange) -> Json:
    full = exchange.request.query.full(default=False)
    _check_no_body(exchange)
    return json_views.memory(
        exchange.memolith.quarantine.restore(exchange.call, exchange.store_id, exchange.item_id, full=full)
    )
