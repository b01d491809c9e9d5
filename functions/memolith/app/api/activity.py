"""Recent activity: which memories of a store were changed last, by whom, and how often."""

from __future__ import annotations

from collections.abc import Iterable

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.index.version_history import VersionHistory
from memolith.app.kernel.activity_results import Activity, ChangedMemory
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import RequestContext, Version, VersionFilter
from memolith.core.rows.content import VersionRow

VERSIONS_MAX = 2_000
"""How many versions are looked at for one answer, the newest ones."""

AUTHORS_MAX = 10
"""How many authors of one memory's changes are named, those of the newest first."""


class RecentActivity:
    """The use case of recent activity."""

    def __init__(self, region: Region, authorizer: Authorizer, reads: ForwardedReads, history: VersionHistory) -> None:
        self._region = region
        self._authorizer = authorizer
        self._forwarded = reads
        self._history = history

    @forwarded("activity")
    def page(
        self, call: RequestContext, store_id: str, *, since: int, author: str | None, page: int, page_size: int
    ) -> Activity:
        """Return a page of the memories that were changed since an instant, the last change first.

        One index read, a query or two for a thousand versions, of which the `VERSIONS_MAX` newest are looked at, and a
        read of the rows that are shown: a global index may show for a while what was redacted.

        Args:
            author: only changes of this one, as a version names it.

        Raises:
            NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        access = self._authorizer.enter_store(call, Scope.read, store_id)
        access.view.require_complete()
        filter = VersionFilter(created_at_gte=since)
        found: dict[str, list[VersionRow]] = {}
        truncated = False
        for seen, step in enumerate(self._history.of_store(access.view, store_id, filter, None)):
            row = step.row
            if (row.created_at or 0) < since:
                break
            truncated = seen >= VERSIONS_MAX
            if truncated:
                break
            if row.memory_id is not None and author in (None, row.created_by):
                found.setdefault(row.memory_id, []).append(row)
        skip = (page - 1) * page_size
        shown = list(found.values())[skip : skip + page_size]
        newest = self._as_they_stand(access.view, store_id, [rows[0] for rows in shown])
        memories = [_changed(row, rows) for row, rows in zip(newest, shown, strict=True) if row.time_key is not None]
        return Activity(tuple(memories), len(found) > skip + page_size, truncated)

    def _as_they_stand(self, view: View, store_id: str, rows: list[VersionRow]) -> list[VersionRow]:
        keys = [VersionRow.key(store_id, row.version_id) for row in rows]
        known = self._region.read_whole(view, keys, "memories", "versions")
        return [
            VersionRow.from_attributes(known[key]) if key in known else row for key, row in zip(keys, rows, strict=True)
        ]


def _changed(newest: VersionRow, rows: list[VersionRow]) -> ChangedMemory:
    return ChangedMemory(
        newest=Version.of(newest, None, (), None),
        changes=len(rows),
        first_at=rows[-1].created_at or 0,
        authors=tuple(_distinct(row.created_by for row in rows))[:AUTHORS_MAX],
    )


def _distinct(actors: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(actor for actor in actors if actor is not None))
