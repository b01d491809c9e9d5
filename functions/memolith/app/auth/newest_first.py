"""What a workspace has of one kind, newest first: one range of the keys' table for each region of birth, merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from memolith.app.kernel.region import Region, View
from memolith.core import session_order
from memolith.ports.index import Found, Query


def newest(region: Region, view: View, kind: str, workspace_id: str, after: str | None, limit: int) -> list[Found]:
    """Read rows whose ids begin with `kind`, newest first, from `after` on: an id, or a position of `session_order`.

    One query for each region, at once. `limit` rows, fewer only at the end. Raises Unavailable.
    """
    ranges = session_order.ranges(kind, region.origins, after)
    asks = [
        Query("keys", workspace_id, prefix=prefix, after=bound, limit=limit, descending=True)
        for prefix, bound in ranges
    ]
    queries: list[Callable[[], Sequence[Found]]] = [partial(view.index.query, ask) for ask in asks]
    found = [one for page in region.parallel.run(queries) for one in page]
    found.sort(key=lambda one: session_order.place(one.sort_key), reverse=True)
    return found[:limit]
