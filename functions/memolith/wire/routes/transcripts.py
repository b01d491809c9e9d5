"""Operations on what was said and done in a session: send events, report them, list them."""

from __future__ import annotations

from dataclasses import asdict

from memolith.app.api.transcripts import EventFilter
from memolith.app.kernel.transcript_results import TranscriptHit
from memolith.core.ages import age
from memolith.core.errors import InvalidRequest
from memolith.core.limits import EVENT_TYPE_MAX_CHARS, LIST_MAX, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX
from memolith.core.times import rfc3339
from memolith.core.trust import name_of
from memolith.wire import freshness
from memolith.wire.cursors import Listing
from memolith.wire.event_views import event_view
from memolith.wire.exchange import Exchange
from memolith.wire.json_views import Json
from memolith.wire.routes.session_parts import PAGE_MAX

TYPES_MAX = 64
"""Types that one listing may name."""


def send_events(exchange: Exchange) -> Json:
    from memolith.wire.transcript_bodies import read_events

    drafts = read_events(exchange.request.body(), sent=True)
    receipt = exchange.memolith.transcripts.record(exchange.call, exchange.ids[0], drafts, live=True)
    return {"data": [event_view(event) for event in receipt.events]}


def record_transcript(exchange: Exchange) -> Json:
    from memolith.wire.transcript_bodies import read_events

    drafts = read_events(exchange.request.body(), sent=False)
    receipt = exchange.memolith.transcripts.record(exchange.call, exchange.ids[0], drafts)
    return {
        "type": "transcript_receipt",
        "accepted": len(receipt.events),
        "duplicates": receipt.duplicates,
        "redactions": receipt.redactions,
    }


def list_events(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    order = query.one_of("order", "asc", "desc") or "asc"
    types = query.each("types", TYPES_MAX, EVENT_TYPE_MAX_CHARS)
    since, until = query.bounds("created_at")
    listing: Listing = ("events", exchange.ids[0], order, ",".join(types), since, until)
    answer = exchange.memolith.transcripts.page(
        exchange.call,
        exchange.ids[0],
        filter=EventFilter(types, since, until, order == "desc"),
        limit=min(query.limit(highest=PAGE_MAX), LIST_MAX),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, event_view)


def search_transcripts(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    asked = query.words("query")
    if asked is None:
        raise InvalidRequest("query", "must be given")
    since, until = query.instant("created_at[gte]"), query.instant("created_at[lte]")
    answer = exchange.memolith.transcript_search.search(
        exchange.call,
        query=asked,
        limit=query.limit(SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX),
        session_id=query.id("session_id"),
        store_id=query.id("memory_store_id"),
        since=since,
        until=until,
    )
    return {
        "type": "transcript_search",
        "hits": [_hit(one, exchange.now_us) for one in answer.hits],
        "sessions_searched": answer.sessions,
        "truncated": answer.truncated,
    }


def _hit(one: TranscriptHit, now_us: int) -> Json:
    return {
        "session_id": one.record.session_id,
        "session_title": one.record.title,
        "memory_store_ids": [attached.memory_store_id for attached in one.record.attachments],
        "event_id": one.event.id,
        "event_type": one.event.type,
        "processed_at": rfc3339(one.event.at),
        "age": age(one.event.at, now_us),
        "trust": name_of(one.event.trust),
        "score": one.score,
        "excerpt": one.excerpt,
    }


def extract_notes(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import parse
    from memolith.wire.transcript_bodies import ExtractBody

    raw = exchange.request.body()
    body = parse(ExtractBody, raw if raw.strip() else b"{}")
    found = exchange.memolith.extractions.extract(
        exchange.call, exchange.ids[0], body.memory_store_id, again=body.again
    )
    return {
        "type": "extraction",
        "session_id": found.session_id,
        "memory_store_id": found.store_id,
        "outcome": found.outcome,
        "proposal_id": found.proposal_id,
        "notes": [
            {"path": note.path, "name": note.name, "note_type": note.type, "evidence": list(note.evidence)}
            for note in found.notes
        ],
        "dropped": dict(found.dropped),
        "model": found.model,
        "prompt_sha256": found.prompt_sha256,
        "usage": asdict(found.usage),
    }
