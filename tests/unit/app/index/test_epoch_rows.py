"""Rows of closed epochs: what came late twice, what a snapshot brings before its event, rows that move meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.index.epoch_rows import EpochRows, RestoredRows
from memolith.app.index.row_transactions import RowTransactions
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.app.log.log_reader import LogReader
from memolith.core import fold
from memolith.core.log_position import Epoch, LogKey, LogRef, Slot
from memolith.core.rows.content import UNSEEN_ENTRY, UNSEEN_ORDER, LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.ports.index import Change
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
    rows, view = EpochRows(site.region, RowTransactions(site.region)), site.region.view([])
    for entry in (original, copy) if first == "the original" else (copy, original):
        rows.mark_divergent(view, store, entry, lambda _: True)
    late_key = VersionRow.late_key(scene.store, memory.version_id)
    found = site.region.index.read([key, late_key])
    assert key not in found
    assert VersionRow.from_attributes(found[late_key]).ref == LogRef(row.ref.path_hash, copied)


@pytest.mark.parametrize("still", [UNSEEN_ENTRY, UNSEEN_ORDER])
def test_what_the_row_of_a_late_version_has_seen_stays_seen_though_a_global_index_still_has_its_row_from_before(
    still: str,
) -> None:
    """It was known from another region's answer first; then its own event came, which a lagging index shows later."""
    scene = Scene()
    memory = scene.update(scene.create("/a", "1"), "2")
    region = scene.cloud.sites[HOME].region
    key, store_key = VersionRow.key(scene.store, memory.version_id), StoreRow.key(scene.store)
    known = region.index.read([key, store_key])
    row, store = VersionRow.from_attributes(known[key]), StoreRow.from_attributes(known[store_key])
    entry = LogReader(region, EpochSnapshots(region)).entry(row.ref.key_in(scene.store))
    assert entry is not None
    told = replace(row, unseen=[still])
    region.index.commit([Change(key, known[key], told.to_attributes())])
    rows, view = EpochRows(region, RowTransactions(region)), region.view([])
    rows.mark_divergent(view, store, entry, lambda _: True)
    rows.restore(view, RestoredRows(store, stragglers=[told]))
    late = region.index.read([VersionRow.late_key(scene.store, memory.version_id)])
    assert [VersionRow.from_attributes(attributes).unseen for attributes in late.values()] == [None]


@pytest.mark.parametrize("known_as", ["nothing", "what it adopts"])
@pytest.mark.parametrize("by", ["a row", "the version"])
def test_a_version_of_ones_own_that_a_snapshot_brings_is_logged_as_acknowledged(by: str, known_as: str) -> None:
    """Its writer died after the put to the second region, whose failover began with it; its own event comes later.

    A copy's original may be in the history already, by a call that went by an earlier record.
    """
    scene = Scene()
    memory = scene.create("/a", "1")
    scene.deliver()
    site = scene.cloud.sites[HOME]
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, "objects.put_if_absent")):
        scene.update(memory, "2")
    store_key, memory_key = StoreRow.key(scene.store), MemoryRow.key(scene.store, memory.id)
    known = site.region.index.read([store_key, memory_key])
    store, head = StoreRow.from_attributes(known[store_key]), MemoryRow.from_attributes(known[memory_key])
    slot = replace(head.ref.slot, sequence=head.ref.slot.sequence + 1)
    entry = LogReader(site.region, EpochSnapshots(site.region)).entry(LogKey(scene.store, head.path_hash, slot))
    assert entry is not None
    if known_as == "what it adopts":
        original = replace(entry, key=replace(entry.key, slot=Slot(Epoch(0, AWAY), 2)))
        row = fold.join_version(None, original)
        version_key = VersionRow.key(scene.store, entry.version_id)
        site.region.index.commit([Change(version_key, None, row.to_attributes())])
    rows = EpochRows(site.region, RowTransactions(site.region))
    if by == "a row":
        assert rows.restore(site.region.view([]), RestoredRows(store, memories={memory.id: (head.ref, entry)}))
    else:
        rows.return_to_history(site.region.view([]), store, entry)
    scene.deliver()
    assert str(entry.key) in scene.journaled()


def test_a_row_that_moved_to_the_same_slot_of_another_path_since_the_check_is_left_as_it_is() -> None:
    """The row's listing is made from its path, so a row that was replaced here would leave a stale path behind."""
    scene = Scene()
    site = scene.cloud.sites[HOME]
    store_key = StoreRow.key(scene.store)
    first = scene.create("/first", "1")
    memory_key = MemoryRow.key(scene.store, first.id)
    at_first = MemoryRow.from_attributes(site.region.index.read([memory_key])[memory_key])
    checked = scene.update(first, path="/second")
    before = MemoryRow.from_attributes(site.region.index.read([memory_key])[memory_key])
    scene.update(checked, path="/third")
    known = site.region.index.read([store_key, memory_key])
    moved = MemoryRow.from_attributes(known[memory_key])
    assert moved.slot == before.slot
    store = StoreRow.from_attributes(known[store_key])
    entry = LogReader(site.region, EpochSnapshots(site.region)).entry(at_first.ref.key_in(scene.store))
    restored = RestoredRows(
        store,
        memories={first.id: (before.ref, entry)},
        paths={"/first": at_first.path_hash, "/second": before.path_hash},
    )
    EpochRows(site.region, RowTransactions(site.region)).restore(site.region.view([]), restored)
    left = MemoryRow.from_attributes(site.region.index.read([memory_key])[memory_key])
    assert (left.path, left.ref) == ("/third", moved.ref)


def test_a_version_comes_into_the_history_no_sooner_than_the_head_of_a_row_that_changed_since_the_check() -> None:
    """The row was missing at the check; then the event of an older version came. Its projection ends with a repair."""
    scene = Scene()
    memory = scene.create("/a", "1")
    scene.deliver()
    newer = scene.update(memory, "2")
    region = scene.cloud.sites[AWAY].region
    store_key, memory_key = StoreRow.key(scene.store), MemoryRow.key(scene.store, memory.id)
    known = region.index.read([store_key, memory_key])
    store, head = StoreRow.from_attributes(known[store_key]), MemoryRow.from_attributes(known[memory_key])
    next_slot = replace(head.ref.slot, sequence=head.ref.slot.sequence + 1)
    entry = LogReader(region, EpochSnapshots(region)).entry(LogKey(scene.store, head.path_hash, next_slot), HOME)
    rows, version_key = EpochRows(region, RowTransactions(region)), VersionRow.key(scene.store, newer.version_id)
    for before, shown in ((None, memory.version_id), (head.ref, newer.version_id)):
        rows.restore(region.view([]), RestoredRows(store, memories={memory.id: (before, entry)}))
        found = region.index.read([memory_key, version_key])
        assert MemoryRow.from_attributes(found[memory_key]).version_id == shown
        assert (version_key in found) == (shown == newer.version_id)


def test_the_path_of_an_erased_head_is_free_where_its_row_came_back_with_the_text_after_the_check() -> None:
    """A replica had no row at the check, which found the blank. Then a look at what was before it read its last copy.

    The version's row says that it is erased, so the memory's row goes without its text. So does the listing.
    """
    scene = Scene()
    memory = scene.create("/secret", "1")
    region = scene.cloud.sites[HOME].region
    store_key, memory_key = StoreRow.key(scene.store), MemoryRow.key(scene.store, memory.id)
    version_key, path_key = VersionRow.key(scene.store, memory.version_id), PathRow.key(scene.store, "/secret")
    known = region.index.read([store_key, memory_key, version_key])
    store, head = StoreRow.from_attributes(known[store_key]), MemoryRow.from_attributes(known[memory_key])
    version = VersionRow.from_attributes(known[version_key])
    entry = LogReader(region, EpochSnapshots(region)).entry(head.ref.key_in(scene.store))
    assert entry is not None
    erased = replace(version, path=None, content_sha256=None, content_size_bytes=None, blank=True)
    region.index.commit([Change(version_key, known[version_key], erased.to_attributes())])
    blank = replace(entry, path=None, content_sha256=None, content_size_bytes=None, blank=True)
    log = LogRow(store_id=scene.store, path_hash=head.path_hash, arrived=head.arrived, occupant=memory.id)
    restored = RestoredRows(store, memories={memory.id: (None, blank)}, logs={head.path_hash: log})
    EpochRows(region, RowTransactions(region)).restore(region.view([]), restored)
    left = region.index.read([memory_key, path_key])
    assert MemoryRow.from_attributes(left[memory_key]).path is None
    assert path_key not in left


@pytest.mark.parametrize("known", ["its own", "another's", "none yet"])
def test_rows_are_restored_only_while_the_tables_know_no_other_snapshot_of_the_epoch(known: str) -> None:
    """Two who fail over at once may go by two snapshots, where the claim of the first was lost with its table."""
    scene = Scene()
    memory = scene.create("/a", "1")
    region = scene.cloud.sites[HOME].region
    store_key, memory_key = StoreRow.key(scene.store), MemoryRow.key(scene.store, memory.id)
    rows = region.index.read([store_key, memory_key])
    head = MemoryRow.from_attributes(rows[memory_key])
    begun = replace(StoreRow.from_attributes(rows[store_key]), epochs=[str(Epoch(1, HOME)), str(Epoch(2, HOME))])
    cuts = {"its own": ["cut_own"], "another's": ["cut_other"], "none yet": None}[known]
    region.index.commit([Change(store_key, rows[store_key], replace(begun, cuts=cuts).to_attributes())])
    restored = RestoredRows(replace(begun, cuts=["cut_own"]), memories={memory.id: (head.ref, None)})
    EpochRows(region, RowTransactions(region)).restore(region.view([]), restored)
    left = region.index.read([memory_key])
    assert (memory_key in left) == (known == "another's")
