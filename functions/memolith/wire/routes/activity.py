"""The operation of recent activity."""

from __future__ import annotations

from memolith.app.kernel.activity_results import ChangedMemory
from memolith.core.ages import age
from memolith.core.limits import ACTIVITY_PAGE_MAX, ACTIVITY_TIMEFRAME, CONTEXT_PAGES_MAX
from memolith.core.times import rfc3339
from memolith.core.trust import name_of
from memolith.wire.exchange import Exchange
from memolith.wire.json_views import Json, actor
from memolith.wire.routes.graph import PAGE_DEFAULT, since_of
from memolith.wire.routes.versions import actor_asked_for


def list_activity(exchange: Exchange) -> Json:
    query = exchange.request.query
    since = since_of(query.words("timeframe") or ACTIVITY_TIMEFRAME, exchange.now_us)
    page = query.number("page", 1, CONTEXT_PAGES_MAX)
    page_size = query.number("page_size", PAGE_DEFAULT, ACTIVITY_PAGE_MAX)
    answer = exchange.memolith.activity.page(
        exchange.call,
        exchange.store_id,
        since=since,
        author=actor_asked_for(query),
        page=page,
        page_size=page_size,
    )
    return {
        "type": "memory_activity",
        "memories": [_changed(one, exchange.now_us) for one in answer.memories],
        "since": rfc3339(since),
        "page": page,
        "page_size": page_size,
        "has_more": answer.more,
        "truncated": answer.truncated,
    }


def _changed(one: ChangedMemory, now_us: int) -> Json:
    newest = one.newest
    return {
        "memory_id": newest.memory_id,
        "path": newest.path,
        "operation": newest.operation,
        "memory_version_id": newest.id,
        "changed_at": rfc3339(newest.created_at),
        "age": age(newest.created_at, now_us),
        "trust": name_of(newest.trust),
        "changes": one.changes,
        "first_changed_at": rfc3339(one.first_at),
        "changed_by": [actor(author) for author in one.authors],
    }
