"""A memory's history goes by each version's parent, also where a region has heard of a replay in part."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.kernel.results import Memory
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.ports.index import Change
from tests.unit.app.scene import HOME, Scene


def memory_of_five(scene: Scene) -> tuple[Memory, list[VersionRow]]:
    """A memory, and the rows of its five versions, oldest first."""
    memory = scene.create("/a", "1")
    for text in "2345":
        memory = scene.update(memory, text)
    rows = [VersionRow.from_attributes(row) for row in scene.cloud.rows(HOME, "versions").values()]
    return memory, sorted(rows, key=lambda row: row.generation or 0)


def put(scene: Scene, row: VersionRow, generation: int, parent: VersionRow) -> None:
    """Let a version count at another generation, after another version."""
    moved = replace(
        row,
        generation=generation,
        parent_version_id=parent.version_id,
        generation_key=f"{generation:010d}",
    )
    key = VersionRow.key(row.store_id, row.version_id)
    scene.cloud.sites[HOME].region.index.commit([Change(key, row.to_attributes(), moved.to_attributes())])


def put_head(scene: Scene, head: VersionRow, generation: int) -> None:
    key = MemoryRow.key(head.store_id, head.memory_id or "")
    (stored,) = scene.cloud.rows(HOME, "memories").values()
    moved = replace(MemoryRow.from_attributes(stored), version_id=head.version_id, generation=generation)
    scene.cloud.sites[HOME].region.index.commit([Change(key, stored, moved.to_attributes())])


@pytest.mark.parametrize("known", ["the head alone", "the version under it alone", "both"])
def test_a_history_shows_every_version_while_a_replay_over_an_erased_one_is_projected(known: str) -> None:
    """The newest two were replayed over the second version: the third was erased and counts no more."""
    scene = Scene()
    memory, (_, second, _, fourth, fifth) = memory_of_five(scene)
    if known != "the head alone":
        put(scene, fourth, 3, second)
    if known != "the version under it alone":
        put(scene, fifth, 4, fourth)
        put_head(scene, fifth, 4)
    shown = [version.id for version in scene.versions(memory_id=memory.id).items]
    assert len(shown) == len(set(shown))
    assert {"1", "2", "4", "5"} <= {scene.version(id).content for id in shown}


def test_beyond_a_version_that_has_not_arrived_a_history_goes_on_with_the_version_of_the_latest_epoch() -> None:
    """Another version of the third generation came late in a failover, and is not known to be late here yet."""
    scene = Scene()
    memory, (_, second, third, fourth, _) = memory_of_five(scene)
    index, key = scene.cloud.sites[HOME].region.index, VersionRow.key(scene.store, third.version_id)
    path_hash, _, _ = (third.position or "").partition("/")
    counts = replace(third, position=f"{path_hash}/0002-0.{HOME}.0000000001")
    index.commit([Change(key, third.to_attributes(), counts.to_attributes())])
    late_id = third.version_id[:-1] + ("0" if third.version_id[-1] != "0" else "1")
    late = replace(third, version_id=late_id, time_key=second.time_key, parent_version_id=second.version_id)
    index.commit([Change(VersionRow.key(scene.store, late_id), None, late.to_attributes())])
    index.commit([Change(VersionRow.key(scene.store, fourth.version_id), fourth.to_attributes(), None)])
    shown = [version.id for version in scene.versions(memory_id=memory.id).items]
    assert third.version_id in shown
    assert late_id not in shown


def late_copy(scene: Scene, row: VersionRow, parent: VersionRow) -> str:
    """Put a version of the same generation into the tables that came late, after another one; return its id."""
    late_id = row.version_id[:-1] + ("0" if row.version_id[-1] != "0" else "1")
    late = replace(row, version_id=late_id, time_key=parent.time_key, parent_version_id=parent.version_id)
    scene.cloud.sites[HOME].region.index.commit(
        [Change(VersionRow.key(scene.store, late_id), None, late.to_attributes())]
    )
    return late_id


@pytest.mark.parametrize("page", [100, 1])
@pytest.mark.parametrize("later_s", [0, 600])
def test_a_history_does_not_go_on_with_a_late_version_in_the_place_of_one_that_has_not_arrived(
    page: int, later_s: int
) -> None:
    """The fourth has not arrived; another fourth came late in a failover, and is not known to be late here yet."""
    scene = Scene()
    memory, rows = memory_of_five(scene)
    first, second, third, fourth, fifth = rows
    index = scene.cloud.sites[HOME].region.index
    for row in (second, third, fifth):
        path_hash, _, _ = (row.position or "").partition("/")
        counts = replace(row, position=f"{path_hash}/0002-0.{HOME}.{row.generation:010d}")
        index.commit([Change(VersionRow.key(scene.store, row.version_id), row.to_attributes(), counts.to_attributes())])
    late = {late_copy(scene, row, first) for row in (second, third, fourth)}
    index.commit([Change(VersionRow.key(scene.store, fourth.version_id), fourth.to_attributes(), None)])
    scene.clock.advance(later_s)
    shown: list[str] = []
    after = None
    while True:
        listed = scene.versions(memory_id=memory.id, limit=page, after=after)
        shown += [version.id for version in listed.items]
        after = listed.next_after
        if after is None:
            break
    assert shown == [row.version_id for row in (fifth, third, second, first)]
    assert not late & set(shown)
