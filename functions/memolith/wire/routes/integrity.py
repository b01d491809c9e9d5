"""Operations that prove: one version, and the public keys that a proof is checked with."""

from __future__ import annotations

from memolith.wire import freshness
from memolith.wire.exchange import Exchange
from memolith.wire.json_views import Json


def prove_version(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    proof = exchange.memolith.proofs.of_version(exchange.call, exchange.store_id, exchange.item_id)
    return {"type": "memory_version_proof", **proof}


def list_integrity_keys(exchange: Exchange) -> Json:
    keys = exchange.memolith.proofs.keys(exchange.call)
    shown = [{**key, "kid": id, "region": region} for region, id, key in keys]
    return {"type": "integrity_keys", "keys": shown}
