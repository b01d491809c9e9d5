"""Operations on uses of memories: a session cites, and whoever reads the store sees what was used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.core.retention import DAY_US
from memolith.core.times import rfc3339
from memolith.wire import freshness
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange
from memolith.wire.json_views import Json

if TYPE_CHECKING:
    from memolith.app.api.usage import UsedMemory


def cite_memories(exchange: Exchange) -> Json:
    from memolith.app.api.usage import Citation
    from memolith.wire.request_bodies import parse
    from memolith.wire.transcript_bodies import CitationsBody

    body = parse(CitationsBody, exchange.request.body())
    receipt = exchange.memolith.usage.cite(
        exchange.call,
        exchange.ids[0],
        [Citation(one.path, one.line_start, one.line_end, one.note) for one in body.entries],
        store_id=body.memory_store_id,
        message_id=body.message_id or "",
    )
    return {"type": "citation_receipt", "accepted": len(receipt.events), "duplicates": receipt.duplicates}


def list_usage(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    unused = query.one_of("unused", "true", "false") == "true"
    listing: Listing = ("usage", exchange.store_id, unused)
    answer = exchange.memolith.usage.page(
        exchange.call, exchange.store_id, unused=unused, limit=query.limit(), after=exchange.position(listing)
    )
    return exchange.page(listing, answer, _used)


def _used(one: UsedMemory) -> Json:
    return {
        "type": "memory_usage",
        "memory_id": one.row.memory_id,
        "path": one.row.path,
        "cited": one.use.cited,
        "last_cited_on": _day(one.use.cited_day),
        "read": one.use.read,
        "last_read_on": _day(one.use.read_day),
        "unused": one.is_unused,
        "counted_since": None if one.counted_since is None else rfc3339(one.counted_since),
    }


def _day(day: int) -> str | None:
    return None if day < 0 else rfc3339(day * DAY_US)[:10]
