"""Operations on versions that a failover left apart: list, read, restore, dismiss."""

from __future__ import annotations

from memolith.wire import freshness, json_views
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json


def list_divergent(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    listing: Listing = ("divergent", exchange.store_id)
    answer = exchange.memolith.divergent.page(
        exchange.call, exchange.store_id, limit=exchange.request.query.limit(), after=exchange.position(listing)
    )
    return exchange.page(listing, answer, json_views.divergent_version)


def retrieve_divergent(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    return json_views.divergent_version(
        exchange.memolith.divergent.retrieve(exchange.call, exchange.store_id, exchange.item_id)
    )


def restore_divergent(exchange: Exchange) -> Json:
    full = exchange.request.query.full(default=False)
    _check_no_body(exchange)
    restored = exchange.memolith.divergent.restore(exchange.call, exchange.store_id, exchange.item_id, full=full)
    return json_views.restored_version(exchange.item_id, restored)


def dismiss_divergent(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    dismissed = exchange.memolith.divergent.dismiss(exchange.call, exchange.store_id, exchange.item_id)
    return json_views.deleted("divergent_version_dismissed", dismissed)
