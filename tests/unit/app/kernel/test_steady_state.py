"""A process goes by what it has read of which tables serve, for a while, and only while all is well with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call
from memolith.adapters.memory import MemoryIndex
from memolith.app.kernel.region import Region, SteadyState
from memolith.core.errors import Unavailable
from memolith.core.limits import CONTROL_AGE_US
from memolith.core.rows.base import mark_key
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
from tests.unit.app.replication.test_watermark import settle
from tests.unit.app.scene import HOME, Scene

T = TypeVar("T")


class Reads:
    """How many reads ask for which tables' rows."""

    def __init__(self) -> None:
        self.subjects: list[tuple[str, ...]] = []

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        if call.name == "index.read":
            self.subjects.append(call.subjects)
        return act()

    @property
    def of_control(self) -> int:
        return sum("control" in one for one in self.subjects)


@pytest.fixture
def region(scene: Scene) -> Region:
    settle(scene)
    region = scene.cloud.sites[HOME].region
    region.control_age_us = CONTROL_AGE_US
    return region


def set_control(scene: Scene, **changes: object) -> None:
    """Somebody changes the row that says which tables serve, as a rebuild or a reconciler does."""
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    row = ControlRow.from_attributes(index.read([ControlRow.KEY])[ControlRow.KEY])
    after = replace(row, **changes)  # type: ignore[arg-type]  # keywords of more than one type
    index.commit([Change(ControlRow.KEY, row.to_attributes(), after.to_attributes())])


def test_a_process_reads_which_tables_serve_once_in_two_seconds(scene: Scene, region: Region) -> None:
    reads = Reads()
    with scene.intercepted_by(reads):
        for _ in range(10):
            region.view([StoreRow.key(scene.store)])
            scene.clock.advance(0.15)
        assert (reads.of_control, len(reads.subjects)) == (1, 10)
        scene.clock.advance(0.6)
        region.view([StoreRow.key(scene.store)])
    assert reads.of_control == 2


def test_a_call_that_asks_for_no_rows_reads_nothing_meanwhile(scene: Scene, region: Region) -> None:
    region.view()
    reads = Reads()
    with scene.intercepted_by(reads):
        assert region.view().complete
    assert reads.subjects == []


def test_rows_and_marks_are_read_with_every_call(scene: Scene, region: Region) -> None:
    region.view()
    store = region.view([StoreRow.key(scene.store)]).rows[StoreRow.key(scene.store)]
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    index.commit([Change(StoreRow.key(scene.store), None, {**store, "name": "new"}, unconditional=True)])
    assert region.view([StoreRow.key(scene.store)]).rows[StoreRow.key(scene.store)]["name"] == "new"
    index.commit([Change(mark_key("memories"), None, None, unconditional=True)])
    view = region.view(marked=["memories"])
    assert (view.complete, view.watermarks) == (False, {})


def test_what_is_claimed_of_other_regions_is_what_was_read_and_of_this_one_up_to_now(
    scene: Scene, region: Region
) -> None:
    first = region.view()
    scene.clock.advance(1.0)
    second = region.view()
    assert second.watermarks[HOME] == scene.clock.now_us() > first.watermarks[HOME]
    assert all(second.watermarks[name] >= first.watermarks[name] for name in first.watermarks)


@pytest.mark.parametrize("change", [{"building": 2}, {"complete": False}])
def test_a_state_that_is_not_steady_is_read_with_every_call(
    scene: Scene, region: Region, change: dict[str, object]
) -> None:
    set_control(scene, **change)
    reads = Reads()
    with scene.intercepted_by(reads):
        for _ in range(3):
            region.view([StoreRow.key(scene.store)])
    assert reads.of_control == 3


def test_tables_that_are_not_marked_yet_are_not_remembered(scene: Scene, region: Region) -> None:
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    index.commit([Change(CompletenessRow.key(1), None, None, unconditional=True)])
    region.view()
    assert region.steady is None


def test_a_rebuild_is_noticed_after_two_seconds_at_most(scene: Scene, region: Region) -> None:
    region.view()
    set_control(scene, building=2)
    assert region.view().building is None
    scene.clock.advance(CONTROL_AGE_US / 1_000_000)
    assert region.view().building == 2


def test_a_table_that_does_not_answer_makes_the_process_read_which_tables_serve(scene: Scene, region: Region) -> None:
    region.view()

    def throttled(call: Call, act: Callable[[], T]) -> T:
        raise Unavailable("throttled")

    with scene.intercepted_by(throttled), pytest.raises(Unavailable):
        region.view([StoreRow.key(scene.store)])
    assert region.steady is None


AGE_US = 2_000_000


@pytest.mark.parametrize(
    ("now_us", "ticks_us", "young"),
    [
        (10_000_000, 0, True),
        (11_999_999, 1_999_999, True),
        (12_000_000, 100, False),
        (10_000_100, 2_000_000, False),
        (9_999_999, 100, False),
        (10_000_100, -1, False),
    ],
)
def test_both_clocks_have_to_say_that_it_is_young(region: Region, now_us: int, ticks_us: int, young: bool) -> None:
    row = CompletenessRow(mark="mark_1", until={}, before={}, folded={})
    steady = SteadyState(region.index, ControlRow(serving=1, complete=True), row, 10_000_000, 0)
    assert steady.is_young(now_us, ticks_us, AGE_US) is young


def test_without_an_age_nothing_is_remembered(scene: Scene, region: Region) -> None:
    region.control_age_us = 0
    reads = Reads()
    with scene.intercepted_by(reads):
        region.view()
        region.view()
    assert (reads.of_control, region.steady) == (2, None)
