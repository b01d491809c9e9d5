"""Operations on the graph of a store: what is linked with a note, its context, what notes state."""

from __future__ import annotations

from memolith.core import ages
from memolith.core.errors import InvalidRequest
from memolith.core.graph.urls import URL_MAX_CHARS
from memolith.core.limits import (
    CONTEXT_PAGE_MAX,
    CONTEXT_PAGES_MAX,
    CONTEXT_RELATED_MAX,
    GRAPH_DEPTH_MAX,
    GRAPH_LIMIT_DEFAULT,
    GRAPH_LIMIT_MAX,
    GRAPH_TYPES_MAX,
    RECALL_LIMIT,
    RECALL_LOADED_MAX,
    RECALL_TOKENS_DEFAULT,
    RECALL_TOKENS_MAX,
    RECALL_TOOLS_MAX,
    SEARCH_QUERY_MAX_CHARS,
)
from memolith.core.paths import check_path_prefix
from memolith.wire import graph_views
from memolith.wire.exchange import Exchange
from memolith.wire.json_views import Json
from memolith.wire.requests import ID_MAX_CHARS, Query

PAGE_DEFAULT = 10


def reach_graph(exchange: Exchange) -> Json:
    query = exchange.request.query
    path, memory_id = query.words("path"), query.id("memory_id")
    if (path is None) == (memory_id is None):
        raise InvalidRequest("path", "must be given, or memory_id, and not both")
    answer = exchange.memolith.graph.reach(
        exchange.call,
        exchange.store_id,
        root=_bounded("path", path or memory_id or "", URL_MAX_CHARS),
        direction=query.one_of("direction", "out", "in", "both") or "both",
        depth=query.number("depth", 1, GRAPH_DEPTH_MAX),
        types=_listed(query, "types", GRAPH_TYPES_MAX),
        limit=query.limit(GRAPH_LIMIT_DEFAULT, GRAPH_LIMIT_MAX),
        as_of=query.instant("as_of"),
    )
    return graph_views.graph(answer, _now(exchange))


def build_context(exchange: Exchange) -> Json:
    query = exchange.request.query
    url, timeframe = query.words("url"), query.words("timeframe")
    if url is None:
        raise InvalidRequest("url", "must be given")
    depth = query.number("depth", 1, GRAPH_DEPTH_MAX)
    page = query.number("page", 1, CONTEXT_PAGES_MAX)
    page_size = query.number("page_size", PAGE_DEFAULT, CONTEXT_PAGE_MAX)
    answer = exchange.memolith.graph.context(
        exchange.call,
        exchange.store_id,
        url=url,
        depth=depth,
        since=None if timeframe is None else since_of(timeframe, _now(exchange)),
        page=page,
        page_size=page_size,
        max_related=query.number("max_related", PAGE_DEFAULT, CONTEXT_RELATED_MAX, lowest=0),
        as_of=query.instant("as_of"),
    )
    asked = {"uri": url, "depth": depth, "timeframe": timeframe}
    return graph_views.context(answer, _now(exchange), asked) | {"page": page, "page_size": page_size}


def list_observations(exchange: Exchange) -> Json:
    query = exchange.request.query
    bounded = {
        name: None if text is None else _bounded(name, text, SEARCH_QUERY_MAX_CHARS)
        for name in ("category", "tag", "query")
        for text in [query.words(name)]
    }
    answer = exchange.memolith.graph.observations(
        exchange.call,
        exchange.store_id,
        category=bounded["category"],
        tag=bounded["tag"],
        query=bounded["query"],
        valid_at=query.instant("valid_at"),
        limit=query.limit(GRAPH_LIMIT_DEFAULT, GRAPH_LIMIT_MAX),
        as_of=query.instant("as_of"),
    )
    return graph_views.observations(answer, _now(exchange))


def list_conflicts(exchange: Exchange) -> Json:
    query = exchange.request.query
    prefix, status = query.words("path_prefix"), query.one_of("status", "open", "superseded", "resolved")
    answer = exchange.memolith.conflicts.page(
        exchange.call,
        exchange.store_id,
        path_prefix=None if prefix is None else check_path_prefix(prefix),
        superseded=status == "superseded",
        resolved=status == "resolved",
        limit=query.limit(GRAPH_LIMIT_DEFAULT, GRAPH_LIMIT_MAX),
    )
    return graph_views.conflicts(answer, exchange.now_us)


def resolve_conflict(exchange: Exchange) -> Json:
    from memolith.wire.request_bodies import ConflictResolve, parse

    body = parse(ConflictResolve, exchange.request.body())
    answer = exchange.memolith.conflict_resolutions.resolve(
        exchange.call,
        exchange.store_id,
        exchange.item_id,
        version_ids=body.memory_version_ids,
        keep=body.keep,
    )
    return graph_views.resolution(answer)


def recall_memories(exchange: Exchange) -> Json:
    query = exchange.request.query
    text = query.words("query")
    if text is None:
        raise InvalidRequest("query", "must be given")
    answer = exchange.memolith.recall.recall(
        exchange.call,
        exchange.store_id,
        query=text,
        recent_tools=_listed(query, "recent_tools", RECALL_TOOLS_MAX),
        loaded=_listed(query, "loaded", RECALL_LOADED_MAX),
        limit=query.limit(RECALL_LIMIT, RECALL_LIMIT),
        max_tokens=query.number("max_tokens", RECALL_TOKENS_DEFAULT, RECALL_TOKENS_MAX),
    )
    return graph_views.recalled(answer, exchange.now_us)


def _now(exchange: Exchange) -> int:
    """Return the instant from which ages and timeframes count: the one that is asked about, or now."""
    as_of = exchange.request.query.instant("as_of")
    return exchange.now_us if as_of is None else as_of


def _listed(query: Query, name: str, most: int) -> list[str]:
    """Return the values of a list with commas, each of which is a word or an id."""
    text = query.words(name)
    values = [] if text is None else [one.strip() for one in text.split(",")]
    if len(values) > most or not all(values) or any(len(one) > ID_MAX_CHARS for one in values):
        raise InvalidRequest(name, f"must be up to {most} values of at most {ID_MAX_CHARS} characters, with commas")
    return values


def since_of(timeframe: str, now_us: int) -> int:
    """Return the instant at which a timeframe begins. Raises InvalidRequest."""
    try:
        return ages.since(timeframe, now_us)
    except ValueError as rule:
        raise InvalidRequest("timeframe", str(rule)) from None


def _bounded(name: str, text: str, most: int) -> str:
    if len(text) > most:
        raise InvalidRequest(name, f"must be at most {most} characters long")
    return text
