"""Logs have no holes, so a tail is found without reading everything before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.app.index.parts import IndexParts
from memolith.app.kernel.batching import gallop
from memolith.app.safety.text_access import within_budget
from memolith.core.decide import void
from memolith.core.errors import Unavailable
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.object_keys import CutKey
from memolith.core.objects.entry import Entry
from memolith.core.objects.epoch_cut import Cut
from memolith.core.rows.identity import StoreRow
from tests.unit.app.scene import AWAY, HOME, Scene

HASH = "0" * 64
FIRST, SECOND = Epoch(1, AWAY), Epoch(2, HOME)


def entry(slot: Slot, store_id: str = "memstore_useast1_x") -> Entry:
    return void(LogKey(store_id, HASH, slot), "memver_x", 1)


@given(st.integers(0, 5_000))
def test_the_tail_is_found_in_about_two_looks_a_doubling(length: int) -> None:
    looks: list[int] = []

    def probe(sequence: int) -> Entry | None:
        looks.append(sequence)
        return entry(Slot(FIRST, sequence)) if sequence <= length else None

    found = gallop(probe)
    assert (found.slot.sequence if found else 0) == length
    assert len(looks) <= 2 * (length + 1).bit_length() + 1
    assert len(set(looks)) == len(looks), "no position is asked for twice"


@pytest.fixture
def moved(scene: Scene) -> StoreRow:
    """A store in its second epoch, whose cut says that the log of `HASH` had three slots in the first."""
    region = scene.cloud.sites[HOME].region
    tails = {HASH: str(Slot(FIRST, 3))}
    for shard in range(Cut.SHARDS):
        cut = Cut(tails if shard == 0 else {})
        region.objects.put_if_absent(str(CutKey(scene.store, SECOND, "cut_1", shard)), cut.to_json(), {})
    row = region.index.read([StoreRow.key(scene.store)])[StoreRow.key(scene.store)]
    return StoreRow.from_attributes({**row, "epochs": [str(FIRST), str(SECOND)], "cuts": ["cut_1"]})


@pytest.mark.parametrize(
    ("known", "following"),
    [
        (None, Slot(FIRST, 3)),
        (Slot(FIRST, 1), Slot(FIRST, 2)),
        (Slot(FIRST, 3), Slot(SECOND, 1)),
        (Slot(SECOND, 7), Slot(SECOND, 8)),
    ],
)
def test_an_epochs_own_slots_follow_the_tail_that_it_began_with(
    scene: Scene, moved: StoreRow, known: Slot | None, following: Slot
) -> None:
    """What the index knows of an older epoch is looked at first, never put after."""
    assert IndexParts.of(scene.cloud.sites[HOME].region).logs.next_slot(moved, HASH, known) == following


def test_a_path_that_was_new_then_begins_with_the_first_slot(scene: Scene, moved: StoreRow) -> None:
    logs = IndexParts.of(scene.cloud.sites[HOME].region).logs
    assert logs.next_slot(moved, "f" * 64, None) == Slot(SECOND, 1)
    assert logs.tail(moved, "f" * 64) is None


def test_the_tail_of_a_log_that_has_no_slot_in_this_epoch_is_its_cuts(scene: Scene, moved: StoreRow) -> None:
    objects = scene.cloud.sites[HOME].region.objects
    old, new = entry(Slot(FIRST, 3), scene.store), entry(Slot(SECOND, 1), scene.store)
    objects.put_if_absent(str(old.key), b"", old.to_metadata())
    logs = IndexParts.of(scene.cloud.sites[HOME].region).logs
    assert logs.tail(moved, HASH) == old
    objects.put_if_absent(str(new.key), b"", new.to_metadata())
    assert logs.tail(moved, HASH) == new


def test_without_its_cut_an_epoch_cannot_be_written_in(scene: Scene, moved: StoreRow) -> None:
    without = StoreRow.from_attributes({**moved.to_attributes(), "epochs": [str(FIRST), str(Epoch(3, HOME))]})
    with pytest.raises(Unavailable, match="cut"):
        IndexParts.of(scene.cloud.sites[HOME].region).logs.next_slot(without, HASH, None)


@given(st.lists(st.integers(0, 102_400), max_size=40), st.integers(1, 900_000))
def test_as_many_texts_as_fit_but_at_least_one(sizes: list[int], budget: int) -> None:
    fit = within_budget(sizes, budget)
    assert fit <= len(sizes) and fit >= min(1, len(sizes))
    assert fit <= 1 or sum(sizes[:fit]) <= budget
    assert fit == len(sizes) or sum(sizes[: fit + 1]) > budget
