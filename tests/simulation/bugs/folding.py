"""Defects of the fold: what the tables make of the entries that arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memolith.app.index import parts as index_parts
from memolith.app.index import projector, row_transactions
from memolith.app.index.ack_journal import AckJournal
from memolith.app.indexer import service, text_erasures
from memolith.app.kernel.region import View
from memolith.core import fold
from memolith.core.log_position import LogKey
from memolith.core.objects.entry import Entry
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow
from memolith.ports import errors as port_errors
from memolith.ports.index import Index
from tests.simulation.bugs.planting import Bug, in_place_of
from tests.simulation.bugs.worlds import rebuilding_often
from tests.simulation.kinds import conflicting
from tests.simulation.options import overtaken

_join_memory = fold.join_memory


def _without_tombstones(before: MemoryRow | None, entry: Entry) -> MemoryRow:
    """A deletion leaves nothing behind that would keep an older version from coming back."""
    row = _join_memory(before, entry)
    return replace(row, generation=0) if row.gone else row


def _by_arrival(before: MemoryRow | None, entry: Entry) -> MemoryRow:
    return _join_memory(None, entry)


class JoinedPaths(projector.Projector):
    """Rows of the listing are put and removed as entries come, as if they were facts of their own."""

    def _join_occupancy(self, rows: Any, occupancy: Sequence[ResolvedEntry], paths: dict[str, str]) -> Any:
        read_also = super()._join_occupancy(rows, occupancy, paths)
        for one in occupancy:
            store_id, path = one.entry.key.store_id, one.entry.path
            if not one.is_version or path is None:
                continue
            memory = rows.memory(MemoryRow.key(store_id, one.entry.memory_id))
            if memory is None or memory.generation != one.entry.generation:
                continue
            for old, _ in paths.items():
                key = PathRow.key(store_id, old)
                row = rows.path(key)
                if row is not None and row.memory_id == one.entry.memory_id:
                    rows.after[key] = None
            if not memory.gone:
                rows.after[PathRow.key(store_id, path)] = PathRow(
                    store_id=store_id, path=path, memory_id=one.entry.memory_id
                )
        return read_also


def _stale_path_row(
    before: PathRow | None, store_id: str, path: str, log: LogRow | None, occupant: MemoryRow | None
) -> PathRow | None:
    return before


class Overtaking(text_erasures.TextErasures):
    """An erasure does not look for what followed."""

    def project_followers(self, view: View, key: LogKey, memory_id: str, generation: int) -> None:
        return


class ConflictsIgnored(row_transactions.RowTransactions):
    """A transaction that met another one is taken for done: whoever was there has surely committed the same."""

    def commit(
        self,
        index: Index,
        work_out: row_transactions.WorkOut,
        known: Mapping[RowKey, Attributes | None] | None = None,
        journal: AckJournal | None = None,
    ) -> None:
        changes = work_out(row_transactions.RowChanges(self._region, index, dict(known or {})))
        try:
            if changes:
                index.commit(changes)
        except port_errors.Contended as error:
            if "another transaction" not in str(error):
                super().commit(index, work_out, None, journal)


BUGS = (
    Bug(
        "drop a tombstone in the fold",
        lambda: in_place_of((fold, "join_memory", _without_tombstones)),
        ("what_is_in_order_is_what_the_history_ends_with", "operations_are_linearizable"),
    ),
    Bug(
        "fold by arrival",
        lambda: in_place_of((fold, "join_memory", _by_arrival)),
        ("replicas_converge", "a_region_never_goes_back", "operations_are_linearizable"),
    ),
    Bug(
        "rows of the listing are joined instead of recomputed",
        lambda: in_place_of((fold, "path_row", _stale_path_row), (index_parts, "Projector", JoinedPaths)),
        ("one_memory_one_path", "replicas_converge"),
    ),
    Bug(
        "folds go to the tables that serve alone",
        lambda: in_place_of((View, "indexes", property(lambda self: (self.index,)))),
        ("replicas_converge", "own_writes_are_in_the_history", "a_region_never_goes_back"),
        rebuilding_often,
    ),
    Bug(
        "a transaction in conflict is taken for done",
        lambda: in_place_of((index_parts, "RowTransactions", ConflictsIgnored)),
        ("what_is_acknowledged_is_in_a_checkpoint", "operations_are_linearizable", "a_region_never_goes_back"),
        conflicting,
    ),
    Bug(
        "an erasure overtakes what followed",
        lambda: in_place_of((service, "TextErasures", Overtaking)),
        ("a_head_is_never_blanked", "a_region_never_goes_back", "a_listing_shows_each_path_once"),
        overtaken,
    ),
)
