"""Operations on versions: list, read, redact, and import a history."""

from __future__ import annotations

from memolith.app.kernel.results import VersionFilter
from memolith.core.errors import InvalidRequest
from memolith.wire import json_views
from memolith.wire.cursors import Listing
from memolith.wire.exchange import Exchange, _check_no_body
from memolith.wire.json_views import Json
from memolith.wire.requests import Query


def list_versions(exchange: Exchange) -> Json:
    query = exchange.request.query
    filter = VersionFilter(
        memory_id=query.id("memory_id"),
        operation=query.one_of("operation", "created", "modified", "deleted"),
        created_by=actor_asked_for(exchange.request.query),
        created_at_gte=query.instant("created_at[gte]"),
        created_at_lte=query.instant("created_at[lte]"),
    )
    listing: Listing = (
        "versions",
        exchange.store_id,
        filter.memory_id,
        filter.operation,
        filter.created_by,
        filter.created_at_gte,
        filter.created_at_lte,
    )
    answer = exchange.memolith.versions.page(
        exchange.call,
        exchange.store_id,
        filter,
        limit=query.limit(),
        after=exchange.position(listing),
        full=query.full(default=False),
    )
    return exchange.page(listing, answer, json_views.version)


def retrieve_version(exchange: Exchange) -> Json:
    full = exchange.request.query.full(default=True)
    return json_views.version(
        exchange.memolith.versions.retrieve(exchange.call, exchange.store_id, exchange.item_id, full=full)
    )


def import_versions(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import VersionsToImport, imported_version, parse

    body = parse(VersionsToImport, exchange.request.body())
    versions = [
        imported_version(one, f"versions.{n}", exchange.call.credentials.actor, body.max_trust)
        for n, one in enumerate(body.versions)
    ]
    done = exchange.memolith.imports.import_versions(exchange.call, exchange.store_id, versions)
    return {"data": [json_views.imported_version(one) for one in done], "next_page": None}


def redact_version(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return json_views.version(exchange.memolith.redactions.redact(exchange.call, exchange.store_id, exchange.item_id))


def actor_asked_for(query: Query) -> str | None:
    """Return the one actor to filter by. A version has one author, so two of the filters could only be a mistake."""
    kinds = {"api_key_id": "api_key", "session_id": "session", "service_account_id": "service_account"}
    asked = {name: id for name in kinds if (id := query.id(name)) is not None}
    if len(asked) > 1:
        raise InvalidRequest(next(reversed(asked)), f"cannot be combined with {next(iter(asked))}")
    return next((f"{kinds[name]}:{id}" for name, id in asked.items()), None)
