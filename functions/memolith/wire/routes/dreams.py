"""Operations on dreams: begin, list, read, cancel, archive, what one changed, and taking that back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from memolith.app.api.dream_changes import DreamChange
from memolith.app.api.dreams import DreamFilter
from memolith.core.objects.run_record import PROPOSE, UPDATE_EXISTING, DreamStatus, RunRecord
from memolith.core.times import rfc3339
from memolith.core.trust import APPROVED, least, name_of
from memolith.wire import freshness
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json

STATUSES = tuple(status.value for status in DreamStatus)


def create_dream(exchange: Exchange) -> Json:
    from memolith.wire.dream_bodies import DreamCreate
    from memolith.wire.request_bodies import parse

    body = parse(DreamCreate, exchange.request.body())
    return dream(exchange.memolith.dreams.create(exchange.call, body.request()))


def list_dreams(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    after, before = query.instant("created_at[gt]"), query.instant("created_at[lt]")
    archived = query.one_of("include_archived", "true", "false") == "true"
    statuses = query.several_of(("statuses", "statuses[]"), STATUSES)
    listing: Listing = ("dreams", after, before, archived, ",".join(sorted(statuses)))
    answer = exchange.memolith.dreams.page(
        exchange.call,
        filter=DreamFilter(archived, statuses, after, before),
        limit=query.limit(),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, dream)


def retrieve_dream(exchange: Exchange) -> Json:
    return dream(exchange.memolith.dreams.retrieve(exchange.call, exchange.ids[0]))


def cancel_dream(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return dream(exchange.memolith.dreams.cancel(exchange.call, exchange.ids[0]))


def archive_dream(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return dream(exchange.memolith.dreams.archive(exchange.call, exchange.ids[0]))


def list_dream_changes(exchange: Exchange) -> Json:
    from memolith.wire.proposal_views import proposal

    found = exchange.memolith.dream_reversals.changes(exchange.call, exchange.ids[0])
    return {
        "type": "dream_changes",
        "dream_id": found.record.run_id,
        "memory_store_id": found.record.output_store_id,
        "proposal": None if found.proposal is None else proposal(found.proposal),
        "data": [_change(one, found.record.sources.get(one.after.memory_id, ())) for one in found.written],
    }


def revert_dream(exchange: Exchange) -> Json:
    from memolith.wire.proposal_views import proposal

    _check_no_body(exchange)
    found = exchange.memolith.dream_reversals.revert(exchange.call, exchange.ids[0])
    return {
        "type": "dream_reversal",
        "dream_id": found.record.run_id,
        "memory_store_id": found.record.output_store_id,
        "proposal": None if found.proposal is None else proposal(found.proposal),
        "data": [{"type": "dream_reversed_memory", **asdict(one)} for one in found.taken_back],
    }


def _change(one: DreamChange, sources: Sequence[str]) -> Json:
    """Render one memory that a dream wrote."""
    before, after = one.before, one.after
    diff = None
    if one.diff is not None:
        trusts = [version.trust for version in (before, after) if version is not None]
        diff = {"type": "unified_diff", "text": one.diff, "trust": name_of(least(trusts, APPROVED))}
    return {
        "type": "dream_change",
        "memory_id": after.memory_id,
        "operation": after.operation,
        "path": one.path,
        "to": after.path,
        "memory_version_id_before": None if before is None else before.id,
        "memory_version_id": after.id,
        "sources": list(sources),
        "diff": diff,
        "diff_left_out": one.diff_left_out,
    }


def dream(record: RunRecord) -> Json:
    """Render a dream; what is ours stands under ``x_memolith``."""
    inputs: list[Json] = [{"type": "memory_store", "memory_store_id": record.store_id}]
    inputs.append({"type": "sessions", "session_ids": list(record.session_ids)})
    updates = record.behavior == UPDATE_EXISTING
    output = {"type": "memory_store", "memory_store_id": record.output_store_id}
    shown = record.started_at is not None and record.behavior != PROPOSE
    return {
        "type": "dream",
        "id": record.run_id,
        "status": record.status.value,
        "inputs": inputs,
        "outputs": [output] if shown else [],
        "output_behavior": {"type": record.behavior, **({"memory_store_id": record.store_id} if updates else {})},
        "model": {"id": record.model, "speed": record.speed or "standard"},
        "instructions": record.instructions,
        "session_id": record.session_id if record.started_at is not None else None,
        "created_at": rfc3339(record.created_at),
        "ended_at": None if record.ended_at is None else rfc3339(record.ended_at),
        "archived_at": None if record.archived_at is None else rfc3339(record.archived_at),
        "usage": {
            "input_tokens": record.input_tokens,
            "output_tokens": record.output_tokens,
            "cache_creation_input_tokens": record.cache_creation_input_tokens,
            "cache_read_input_tokens": record.cache_read_input_tokens,
        },
        "error": None
        if record.error_type is None
        else {"type": record.error_type, "message": record.error_message or ""},
        "x_memolith": {
            "model_answered": record.model_answered or None,
            "prompt_sha256": record.prompt_sha256 or None,
            "asks": record.asks,
            "cost_usd": None if record.cost_micro_usd is None else record.cost_micro_usd / 1_000_000,
            "created": record.created,
            "changed": record.changed,
            "deleted": record.deleted,
            "proposal_id": record.proposal_id,
            "conflicts": record.conflicts,
            "dropped": list(record.dropped),
        },
    }
