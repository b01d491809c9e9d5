"""A version that came late at two positions is divergent at the later one, whichever of them is handled first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.index.epoch_rows import EpochRows
from memolith.app.index.row_transactions import RowTransactions
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core.log_position import Epoch, LogRef, Slot
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.mark.parametrize("first", ["the original", "its copy"])
def test_the_row_of_a_version_that_came_late_twice_names_the_later_position_in_any_order(first: str) -> None:
    """The home of an epoch that nobody accepted had replayed it: neither the original nor the copy counts."""
    scene = Scene()
    memory = scene.update(scene.create("/a", "1"), "2")
    site = scene.cloud.sites[HOME]
    key = VersionRow.key(scene.store, memory.version_id)
    store_key = StoreRow.key(scene.store)
    known = site.region.index.read([key, store_key])
    row, store = VersionRow.from_attributes(known[key]), StoreRow.from_attributes(known[store_key])
    original = LogReader(site.region, EpochSnapshots(site.region)).entry(row.ref.key_in(scene.store))
    assert original is not None
    copied = Slot(Epoch(2, AWAY), 2)
    copy = replace(original, key=replace(original.key, slot=copied), adopts=original.slot)
    rows, view = EpochRows(RowTransactions(site.region)), site.region.view([])
    for entry in (original, copy) if first == "the original" else (copy, original):
        rows.mark_divergent(view, store, entry, lambda _: True)
    late_key = VersionRow.late_key(scene.store, memory.version_id)
    found = site.region.index.read([key, late_key])
    assert key not in found
    assert VersionRow.from_attributes(found[late_key]).ref == LogRef(row.ref.path_hash, copied)
