"""The slow pass: what the tables lost without anybody's noticing is sent to be folded again."""

from __future__ import annotations

import json
from urllib.parse import unquote_plus

import pytest

from memolith.adapters.memory import MemoryIndex, MemoryQueue
from memolith.app.index.resumable_scan import EVERY_US
from memolith.app.replication.service import make_comparisons
from memolith.core.errors import Damaged
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import PathRow, VersionRow
from memolith.ports.index import Change
from memolith.ports.objects import StoredObject
from tests.unit.app.scene import HOME, Scene

NEVER_US = 1 << 62


@pytest.fixture
def scene() -> Scene:
    return Scene()


class Pass:
    """One region's comparison, and the queue that it fills."""

    def __init__(self, scene: Scene) -> None:
        self.queue = MemoryQueue()
        self.comparing = make_comparisons(scene.cloud.sites[HOME].region, self.queue).listing

    def sent(self) -> list[str]:
        taken = [json.loads(message) for message in self.queue.take(100)]
        return [unquote_plus(one["Records"][0]["s3"]["object"]["key"]) for one in taken]


def forget(scene: Scene, *keys: RowKey) -> None:
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    index.commit([Change(key, None, None, unconditional=True) for key in keys])


def test_what_the_tables_lack_is_sent_to_be_folded_and_nothing_else(scene: Scene) -> None:
    made, other = scene.create("/a"), scene.create("/b")
    scene.update(other, path="/c")
    scene.deliver()
    forget(scene, VersionRow.key(scene.store, made.version_id))
    one = Pass(scene)
    compared = one.comparing.run(NEVER_US)
    (key,) = one.sent()
    assert (compared.repaired, compared.ancestor_pairs, compared.finished) == (1, 0, True)
    scene.cloud.sites[HOME].indexing.object_arrived(key)
    scene.clock.advance(EVERY_US / 1_000_000)
    assert one.comparing.run(NEVER_US).repaired == 0


def test_a_comparison_with_the_listing_is_made_once_a_day(scene: Scene) -> None:
    one = Pass(scene)
    assert one.comparing.run(NEVER_US).looked_at > 0
    assert one.comparing.run(NEVER_US).looked_at == 0
    scene.clock.advance(EVERY_US / 1_000_000)
    assert one.comparing.run(NEVER_US).looked_at > 0


def test_a_comparison_is_made_once_a_clock_that_was_ahead_is_set_right(scene: Scene) -> None:
    one = Pass(scene)
    scene.clock.advance(400 * EVERY_US / 1_000_000)
    assert one.comparing.run(NEVER_US).looked_at > 0
    scene.clock.advance(-400 * EVERY_US / 1_000_000)
    assert one.comparing.run(NEVER_US).looked_at > 0
    assert one.comparing.run(NEVER_US).looked_at == 0


def test_a_comparison_with_the_listing_goes_on_where_time_ran_out(scene: Scene) -> None:
    for number in range(5):
        scene.create(f"/m{number}")
    scene.deliver()
    objects = scene.cloud.sites[HOME].region.objects
    whole = len(scene.cloud.buckets.page(HOME, "", None, 1000).keys)
    one = Pass(scene)
    inner = objects.list
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objects, "list", lambda prefix, after=None: inner(prefix, after=after, limit=3))
        seen = [one.comparing.run(0)]
        while not seen[-1].finished:
            seen.append(one.comparing.run(0))
    assert sum(compared.looked_at for compared in seen) == whole and len(seen) > 2


def test_an_entry_whose_file_is_damaged_keeps_no_other_from_being_compared(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [scene.create("/a"), scene.create("/b")]
    scene.deliver()
    keys = scene.log_keys()
    forget(scene, *(VersionRow.key(scene.store, memory.version_id) for memory in made))
    region = scene.cloud.sites[HOME].region
    find = region.objects.head

    def head(key: str, region: str | None = None) -> StoredObject:
        if key == keys[0]:
            raise Damaged("the first line is not what was put")
        return find(key, region)

    monkeypatch.setattr(region.objects, "head", head)
    one = Pass(scene)
    assert one.comparing.run(NEVER_US).finished
    assert one.sent() == keys[1:]


def test_a_path_and_its_ancestor_that_are_both_live_are_counted(scene: Scene) -> None:
    scene.create("/a/b")
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    above = PathRow(store_id=scene.store, path="/a", memory_id="mem_other")
    index.commit([Change(PathRow.key(scene.store, "/a"), None, above.to_attributes())])
    assert Pass(scene).comparing.run(NEVER_US).ancestor_pairs == 1
    assert scene.cloud.metrics.total("ancestor_pairs") == 1


def test_a_path_that_only_begins_like_another_is_not_below_it(scene: Scene) -> None:
    for path in ("/a", "/a-x", "/a.md", "/ab/c", "/b/c/d", "/b/c.d"):
        scene.create(path)
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    for path, memory_id in (("/a/b", "mem_1"), ("/a/b/c", "mem_2"), ("/b/c", None)):
        row = PathRow(store_id=scene.store, path=path, memory_id=memory_id)
        index.commit([Change(PathRow.key(scene.store, path), None, row.to_attributes())])
    assert Pass(scene).comparing.run(NEVER_US).ancestor_pairs == 2


def test_a_store_whose_log_is_listed_in_pages_has_its_pairs_counted_once(scene: Scene) -> None:
    for number in range(5):
        scene.create(f"/a/{number}")
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    above = PathRow(store_id=scene.store, path="/a", memory_id="mem_other")
    index.commit([Change(PathRow.key(scene.store, "/a"), None, above.to_attributes())])
    objects = scene.cloud.sites[HOME].region.objects
    one, inner = Pass(scene), objects.list
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objects, "list", lambda prefix, after=None: inner(prefix, after=after, limit=2))
        seen = [one.comparing.run(0)]
        while not seen[-1].finished:
            seen.append(one.comparing.run(0))
    assert len(seen) > 3 and sum(compared.ancestor_pairs for compared in seen) == 5
