"""Defects of checkpoints and watermarks: what a region says that it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from memolith.app.index import ack_journal as journal
from memolith.app.index import parts as index_parts
from memolith.app.index import projector
from memolith.app.kernel.region import Region, SteadyState, View
from memolith.app.replication import checkpoints, missing_objects, service, version_positions
from memolith.app.replication import watermark as watermarks
from memolith.core import watermark as core_watermark
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.objects.checkpoint import Named
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import VersionRow
from memolith.core.rows.control import ControlRow
from memolith.core.rows.journal import JournalRow, JournalStateRow
from memolith.ports.index import Change
from tests.simulation.bugs.planting import Bug, in_place_of
from tests.simulation.bugs.worlds import (
    awakening,
    hurried,
    losing_homes,
    losing_journals,
    lossy,
    meeting,
    rebuilding_remembered,
    three_hurried,
)
from tests.simulation.kinds import emptied, losing
from tests.simulation.ports import SkewedClock


class AnyLateRow(missing_objects.MissingObjects):
    """A version that stands apart somewhere is held, whatever else has its id."""

    def missing(
        self,
        view: View,
        names: Sequence[Named],
        listed: bool = False,
        seen: MutableMapping[RowKey, Attributes] | None = None,
    ) -> list[Named]:
        found = super().missing(view, names, listed, seen)
        keys = {name: parse_key(name.key) for name in found if name.version_id is not None}
        late = {
            name: VersionRow.late_key(key.store_id, name.version_id or "")
            for name, key in keys.items()
            if isinstance(key, LogKey)
        }
        rows = self._region.read(view.index, list(late.values())) if late else {}
        return [name for name in found if late.get(name) not in rows]


class SeeingProjector(projector.Projector):
    """Whatever is folded is here, also what another region's answer told of."""

    def fold(self, *args: Any, **kwargs: Any) -> list[LogKey]:
        return super().fold(*args, **{**kwargs, "elsewhere": ()})

    def fold_redaction(self, *args: Any, **kwargs: Any) -> None:
        super().fold_redaction(*args, **{**kwargs, "unseen": False})


class HolesAllowed(watermarks.Watermark):
    """What a checkpoint names and this region lacks will come sooner or later."""

    def _fold_names(self, view: View, names: tuple[Named, ...], home: str, late: bool) -> bool:
        super()._fold_names(view, names, home, late)
        return True


class JournalLater(journal.AckJournal):
    """The caller is answered first, and what it was told is journaled when there is time."""

    def changes(self, names: Sequence[Named]) -> list[Change]:
        clock, index = self._region.clock, self._region.index
        assert isinstance(clock, SkewedClock)
        later = [change for change in super().changes(names) if change.unconditional]
        if later:
            clock.scheduler.spawn("late journal", lambda: index.commit(later), 5.0)
        return []


class PeriodUnchecked(journal.AckJournal):
    """A row may be put in any period."""

    def changes(self, names: Sequence[Named]) -> list[Change]:
        return [change for change in super().changes(names) if change.unconditional]


class WholeWithoutLooking(checkpoints.Checkpoints):
    """A journal is taken for whole, whatever became of its table."""

    def _close(self, state: JournalStateRow) -> bool:
        super()._close(state)
        return True

    def _begin(self) -> JournalStateRow:
        state = super()._begin()
        whole = replace(state, listed=False)
        self._set(state, whole)
        return whole


class FirstShardsOnly(checkpoints.Checkpoints):
    """A period that its writers have split is closed, and read, as if nobody had."""

    def _close(self, state: JournalStateRow) -> bool:
        return super()._close(replace(state, closing_shards=None))

    def _journaled(self, state: JournalStateRow) -> Iterator[tuple[Named, str]]:
        return super()._journaled(replace(state, closing_shards=None))


def _first_shard(object_key: str, shards: int) -> int:
    return 0


def _emptied_at_once(self: watermarks.Watermark, tables: Any, row: Any) -> None:
    """Marks that were not in the batch are gone, whenever their row was read."""
    incomplete = replace(ControlRow.from_attributes(tables.control), complete=False).to_attributes()
    self._commit([Change(ControlRow.KEY, tables.control, incomplete)])


def _greatest(watermarks: Mapping[str, int], homes: Iterable[str]) -> int | None:
    return max((watermarks[home] for home in homes if home in watermarks), default=None)


BUGS = (
    Bug(
        "advance the watermark on a checkpoint with a hole",
        lambda: in_place_of((service, "Watermark", HolesAllowed)),
        ("the_watermark_never_claims_what_is_missing",),
        hurried,
    ),
    Bug(
        "journal row after the acknowledgement",
        lambda: in_place_of((projector, "AckJournal", JournalLater)),
        ("the_watermark_never_claims_what_is_missing", "what_is_acknowledged_is_in_a_checkpoint"),
        hurried,
    ),
    Bug(
        "period not checked",
        lambda: in_place_of((projector, "AckJournal", PeriodUnchecked)),
        ("the_watermark_never_claims_what_is_missing", "what_is_acknowledged_is_in_a_checkpoint"),
        hurried,
    ),
    Bug(
        "a lost journal is taken for an empty one",
        lambda: in_place_of((service, "Checkpoints", WholeWithoutLooking)),
        ("the_watermark_never_claims_what_is_missing", "what_is_acknowledged_is_in_a_checkpoint"),
        losing_journals,
    ),
    Bug(
        "a period that was split is closed in its first shards",
        lambda: in_place_of(
            (service, "Checkpoints", FirstShardsOnly),
            (journal, "SPLIT_AFTER", 1),
            (JournalRow, "shard_of", staticmethod(_first_shard)),
        ),
        ("the_watermark_never_claims_what_is_missing", "what_is_acknowledged_is_in_a_checkpoint"),
        meeting,
    ),
    Bug(
        "marks that a torn batch missed are gone",
        lambda: in_place_of((watermarks.Watermark, "_declare_emptied", _emptied_at_once)),
        ("no_error_but_the_apis", "watermarks_do_not_stick", "every_path_can_be_written"),
        awakening,
    ),
    Bug(
        "complete up to the latest of all homes",
        lambda: in_place_of((core_watermark, "least", _greatest)),
        ("the_watermark_never_claims_what_is_missing",),
        three_hurried,
    ),
    Bug(
        "a late version stands for what was adopted from it",
        lambda: in_place_of(
            (service, "MissingObjects", AnyLateRow),
        ),
        ("the_watermark_never_claims_what_is_missing", "replicas_converge", "a_rebuild_gives_the_same_rows"),
        losing_homes,
    ),
    Bug(
        "what another region told is taken for seen",
        lambda: in_place_of((index_parts, "Projector", SeeingProjector)),
        ("a_rebuild_gives_the_same_rows", "redacted_text_is_nowhere"),
        lossy,
    ),
    Bug(
        "tables are whole as long as their control row says so",
        lambda: in_place_of((Region, "_is_marked", lambda *_: True)),
        ("operations_are_linearizable", "a_region_never_goes_back", "a_demanded_read_is_no_older"),
        emptied,
    ),
    Bug(
        "which tables serve is remembered for ever",
        lambda: in_place_of((SteadyState, "is_young", lambda *_: True)),
        ("operations_are_linearizable", "watermarks_do_not_stick", "replicas_converge"),
        rebuilding_remembered,
    ),
    Bug(
        "the daily comparison takes every listed entry for shown",
        lambda: in_place_of((version_positions.VersionPositions, "_is_in_order", lambda *_: True)),
        ("replicas_converge", "nothing_acknowledged_is_lost", "a_rebuild_gives_the_same_rows"),
        losing,
    ),
)
