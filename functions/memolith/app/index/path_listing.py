"""Live memories of a store in byte order of their paths, with deeper ones rolled up into their folder if asked."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.app.kernel.region import Region, View
from memolith.core.fold import is_live
from memolith.core.limits import PATH_MAX_BYTES
from memolith.core.listing import direct_child, past
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.ports.index import Query


@dataclass(frozen=True, slots=True)
class ListedPath:
    """One line of a listing: a memory's path and row, or a folder; and where the listing goes on after it."""

    path: str
    after: str
    row: MemoryRow | None = None


class PathListing:
    """Lists paths from the index of one region."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def page(
        self, view: View, store_id: str, prefix: str, depth: int, limit: int, after: str | None
    ) -> tuple[list[ListedPath], bool]:
        """Return at most `limit` lines, and whether there may be more. A query, and a read of the memories, or a few.

        Shows no memory twice, though one may move between the queries. A folder as long as a path may be is empty.
        Raises Unavailable.
        """
        listed: list[ListedPath] = []
        if len(prefix.encode()) >= PATH_MAX_BYTES:
            return listed, False
        begins = "" if prefix == "/" else prefix
        while True:
            shown = {line.row.memory_id for line in listed if line.row is not None}
            found = view.index.query(Query("paths", store_id, prefix=begins, after=after, limit=limit + 1))
            paths = [PathRow.from_attributes(one.attributes) for one in found]
            exhausted = len(found) <= limit
            for line in self._lines(view, prefix, depth, paths):
                if after is not None and line.after <= after:
                    continue
                if len(listed) == limit:
                    return listed, True
                after = line.after
                if line.row is None or line.row.memory_id not in shown:
                    listed.append(line)
            if exhausted:
                return listed, False
            after = max(after or "", paths[-1].path)

    def _lines(self, view: View, prefix: str, depth: int, paths: list[PathRow]) -> list[ListedPath]:
        """Make the lines of these rows; a memory is shown only at the path that its own row names.

        Reads the marks of both tables with the memories, after the query, so that no page comes from a table that was
        emptied. Raises Unavailable.
        """
        folders = [direct_child(prefix, row.path) if depth == 1 else None for row in paths]
        keys = {
            row.path: MemoryRow.key(row.store_id, row.memory_id)
            for row, folder in zip(paths, folders, strict=True)
            if row.memory_id is not None and folder is None
        }
        rows = self._region.read_whole(view, list(keys.values()), "memories", "paths")
        lines: list[ListedPath] = []
        for path_row, folder in zip(paths, folders, strict=True):
            if folder is not None and path_row.memory_id is not None:
                if not lines or lines[-1].after != past(folder):
                    lines.append(ListedPath(folder, past(folder)))
            elif path_row.path in keys and (attributes := rows.get(keys[path_row.path])) is not None:
                row = MemoryRow.from_attributes(attributes)
                if is_live(row) and row.path == path_row.path:
                    lines.append(ListedPath(path_row.path, path_row.path, row))
        return lines
