"""Defects of leases, planned moves, fail-overs and adoption."""

from __future__ import annotations

from collections.abc import Iterator

from memolith.app.api import service as facade
from memolith.app.commit import adoption
from memolith.app.commit.attempt import Attempt, Outcome, Step
from memolith.app.epochs import fence
from memolith.app.homes import handoff, service, snapshot_builder
from memolith.app.kernel.region import View
from memolith.app.log import epoch_snapshot, log_reader
from memolith.core import decide
from memolith.core.commands import AdoptVersion
from memolith.core.log_position import LogKey, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from tests.simulation.bugs.planting import Bug, in_place_of
from tests.simulation.bugs.worlds import halving, moving_fast, outlasting
from tests.simulation.kinds_of_homes import failing_over, saved


def _for_ever(self: fence.Fence, view: View, store: StoreRow) -> bool:
    """A lease that does not run out."""
    return True


def _never_late(self: epoch_snapshot.EpochSnapshots, store: StoreRow, path_hash: str, slot: Slot) -> bool:
    """Whatever came counts."""
    return False


class SurveyedByIndex(snapshot_builder.EpochSnapshotBuilder):
    """A new epoch begins with what the index knows, not with what the bucket lists."""

    def _keys(self, store: StoreRow) -> Iterator[LogKey]:
        listed = list(super()._keys(store))
        entries = {key: self._logs.entry(key) for key in listed}
        rows = {key: VersionRow.key(key.store_id, entry.version_id) for key, entry in entries.items() if entry}
        found = self._region.view(list(rows.values())).rows
        return iter([key for key in listed if key in rows and rows[key] in found])


class AdoptingAgain(adoption.Adoption):
    """A late version is taken up each time it is met, whatever it would follow."""

    def _replay(self, store: StoreRow, entry: Entry) -> adoption.Replay:
        view = self._region.view([StoreRow.key(store.store_id), MemoryRow.key(store.store_id, entry.memory_id)])
        attempt = Attempt(view, store, Outcome(), entry.flags)
        head = self._writer._steps.head(attempt, entry.memory_id)
        if head is None or head.gone or entry.operation is not Operation.MODIFIED:
            return super()._replay(store, entry)
        command = AdoptVersion(entry, self._text(entry))
        commit = decide.Commit(entry.operation, head.path or "", command.content)
        is_done = self._writer._append(attempt, command, head, commit) is Step.DECIDED
        return adoption.Replay.ADOPTED if is_done else adoption.Replay.APART


BUGS = (
    Bug(
        "skip the lease",
        lambda: in_place_of((fence.Fence, "is_current", _for_ever)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
        outlasting,
    ),
    Bug(
        "start the epoch before the drain",
        lambda: in_place_of((handoff, "DRAIN_S", 0.0)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
        moving_fast,
    ),
    Bug(
        "write without listing in a new epoch",
        lambda: in_place_of(
            (service, "EpochSnapshotBuilder", SurveyedByIndex),
        ),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
        saved,
    ),
    Bug(
        "a divergent moved_out commits",
        lambda: in_place_of((log_reader.LogReader, "accepted", lambda self, store, entry, settled: settled)),
        (
            "every_path_can_be_written",
            "nothing_acknowledged_is_lost",
            "replicas_converge",
            "a_rebuild_gives_the_same_rows",
        ),
        halving,
    ),
    Bug(
        "a late entry is head without adoption",
        lambda: in_place_of((epoch_snapshot.EpochSnapshots, "is_straggler", _never_late)),
        ("replicas_converge", "operations_are_linearizable"),
        failing_over,
    ),
    Bug(
        "adopt the same entry twice",
        lambda: in_place_of((facade, "Adoption", AdoptingAgain)),
        ("history_has_no_gaps", "what_is_in_order_is_what_the_history_ends_with", "operations_are_linearizable"),
        failing_over,
    ),
)
