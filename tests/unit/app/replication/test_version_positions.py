"""The comparison of listing and tables looks at no object that a version's row shows as it is listed."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import unquote_plus

import pytest

from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import MemoryErasableObjects, MemoryIndex, MemoryQueue
from memolith.app.index.resumable_scan import EVERY_US
from memolith.app.replication import compare_listing, version_positions
from memolith.app.replication.compare_listing import ComparedPage, part_key
from memolith.app.replication.service import make_comparisons
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import UNSEEN_ENTRY, PathRow, VersionRow
from memolith.core.rows.control import ReconcileRow
from memolith.ports.index import Change
from memolith.ports.objects import KeyPage
from tests.unit.app.scene import AWAY, HOME, Scene

NEVER_US = 1 << 62
DAY_S = EVERY_US / 1_000_000


class Days:
    """One region's comparisons, a day after the other, and what each of them sends."""

    def __init__(self, scene: Scene, region: str = HOME) -> None:
        self.scene = scene
        self.queue = MemoryQueue()
        self.region = scene.cloud.sites[region].region
        self.listing = make_comparisons(self.region, self.queue).listing

    def compare(self) -> ComparedPage:
        self.scene.clock.advance(DAY_S)
        return self.listing.run(NEVER_US)

    def sent(self) -> list[str]:
        taken = [json.loads(message) for message in self.queue.take(1_000)]
        return [unquote_plus(one["Records"][0]["s3"]["object"]["key"]) for one in taken]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def change(scene: Scene, key: RowKey, region: str = HOME, **attributes: object) -> None:
    """Replace attributes of a version's row; without any, remove the row."""
    index = MemoryIndex(scene.cloud.sites[region].database)
    before = index.read([key])[key]
    after = {**before, **attributes} if attributes else None
    index.commit([Change(key, before, after)])


def position(scene: Scene, version_id: str) -> str:
    return str(scene.cloud.rows(HOME, "versions")[scene.store, version_id]["position"])


def blank(scene: Scene, version_id: str) -> None:
    """Blank an entry of the home and its row, as retention does."""
    key = parse_key(key_of(scene, version_id))
    assert isinstance(key, LogKey)
    found = scene.cloud.buckets.current(HOME, str(key))
    assert found is not None
    blanked = Entry.from_metadata(key, found.metadata).blanked().to_metadata()
    MemoryErasableObjects(scene.cloud.buckets, HOME).erase(str(key), b"", blanked)
    scene.deliver()


def key_of(scene: Scene, version_id: str) -> str:
    row = VersionRow.from_attributes(scene.cloud.rows(HOME, "versions")[scene.store, version_id])
    return str(row.ref.key_in(scene.store))


# ---- what it costs --------------------------------------------------------------------------------------------------


def test_entries_in_order_cost_a_list_and_a_query_for_a_thousand_and_no_look_at_any_object(scene: Scene) -> None:
    for number in range(50):
        scene.update(scene.create(f"/a/b/{number}"), "second")
    scene.deliver()
    days, counts = Days(scene), CallCounts()
    scene.clock.advance(DAY_S)
    with scene.intercepted_by(counts):
        compared = days.listing.run(NEVER_US)
    assert (compared.looked_at > 100, compared.heads, compared.repaired) == (True, 0, 0)
    # One query is of the versions, one of the paths. Of the reads one is of the progress, one of the records of the
    # store and the key, and one says whether the store is deleted. The write notes where to go on.
    assert dict(counts.requests) == {
        "s3.ListObjectsV2": 1,
        "dynamodb.Query": 2,
        "dynamodb.BatchGetItem": 3,
        "dynamodb.single_write": 1,
    }


def test_of_one_lost_row_one_object_is_looked_at(scene: Scene) -> None:
    memories = [scene.create(f"/{number}") for number in range(40)]
    scene.deliver()
    lost = key_of(scene, memories[17].version_id)
    change(scene, VersionRow.key(scene.store, memories[17].version_id))
    days, counts = Days(scene), CallCounts()
    scene.clock.advance(DAY_S)
    with scene.intercepted_by(counts):
        compared = days.listing.run(NEVER_US)
    assert (compared.heads, compared.repaired, days.sent()) == (1, 1, [lost])
    assert counts.requests["s3.HeadObject"] == 1


def test_a_departure_and_an_aborted_entry_have_no_row_and_cost_a_look_each(scene: Scene) -> None:
    memory = scene.create("/a")
    scene.create("/b")
    scene.update(memory, path="/c")
    scene.deliver()
    days = Days(scene)
    assert (days.compare().heads, days.sent()) == (1, [])


def test_a_listing_that_tells_no_sizes_costs_a_look_at_every_entry(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        scene.create(f"/{number}")
    scene.deliver()
    days = Days(scene)
    inner = days.region.objects.list

    def without_sizes(prefix: str, after: str | None = None) -> KeyPage:
        return replace(inner(prefix, after=after), sizes=None)

    monkeypatch.setattr(days.region.objects, "list", without_sizes)
    assert days.compare().heads == 5


# ---- what no row shows ----------------------------------------------------------------------------------------------


def test_an_entry_whose_row_was_made_without_its_object_is_looked_at(scene: Scene) -> None:
    memory = scene.create("/a")
    scene.deliver()
    change(scene, VersionRow.key(scene.store, memory.version_id), unseen=[UNSEEN_ENTRY])
    assert Days(scene).compare().repaired == 1


def test_an_entry_whose_row_stands_at_another_position_is_looked_at(scene: Scene) -> None:
    memory, other = scene.create("/a"), scene.create("/b")
    scene.deliver()
    change(scene, VersionRow.key(scene.store, memory.version_id), position=position(scene, other.version_id))
    assert Days(scene).compare().heads == 1


def test_an_order_that_came_before_its_version_shows_no_entry(scene: Scene) -> None:
    memory = scene.create("/a")
    scene.deliver()
    row = VersionRow.key(scene.store, memory.version_id)
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    order = VersionRow(store_id=scene.store, version_id=memory.version_id, blank=True, redacted_at=1, redacted_by="k")
    index.commit([Change(row, None, order.to_attributes(), unconditional=True)])
    assert Days(scene).compare().repaired == 1


def test_a_late_versions_row_shows_its_entry(scene: Scene) -> None:
    memory = scene.create("/a")
    scene.deliver()
    row = VersionRow.key(scene.store, memory.version_id)
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    late = index.read([row])[row]
    index.commit(
        [Change(row, late, None), Change(VersionRow.late_key(scene.store, memory.version_id), None, dict(late))]
    )
    assert Days(scene).compare().heads == 0


# ---- text that should be gone ---------------------------------------------------------------------------------------


def test_text_of_which_the_row_says_that_it_is_gone_is_found_by_the_size_of_its_object(scene: Scene) -> None:
    memory = scene.create("/a", "SECRET")
    scene.update(memory, "clean")
    scene.deliver()
    row = VersionRow.key(scene.store, memory.version_id)
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    before = index.read([row])[row]
    gone = {name: value for name, value in before.items() if name not in ("path", "content_size_bytes")}
    index.commit([Change(row, before, {**gone, "blank": True})])
    days = Days(scene)
    assert (days.compare().unerased, days.sent()) == (1, [key_of(scene, memory.version_id)])


def test_a_redacted_version_is_looked_at_every_day(scene: Scene) -> None:
    memory = scene.create("/a", "")
    scene.update(memory, "clean")
    scene.redact(memory.version_id)
    scene.deliver()
    days = Days(scene)
    assert [days.compare().heads for _ in range(30)] == [1] * 30


@pytest.mark.parametrize("what", ["an empty text", "a deletion", "a blanked deletion"])
def test_an_entry_without_a_text_is_looked_at_on_one_day_of_28(scene: Scene, what: str) -> None:
    memory = scene.create("/a", "" if what == "an empty text" else "first")
    if what != "an empty text":
        scene.delete(memory)
    scene.deliver()
    if what == "a blanked deletion":
        blank(scene, scene.versions(memory_id=memory.id).items[0].id)
    days = Days(scene)
    looks = [days.compare().heads for _ in range(2 * version_positions.TURNS)]
    first = looks.index(1)
    assert [day for day, heads in enumerate(looks) if heads] == [first, first + version_positions.TURNS]
    assert days.sent() == []


# ---- stores larger than what is held in memory ----------------------------------------------------------------------


@pytest.mark.parametrize("held_max", [2, 7])
def test_a_store_of_more_versions_than_are_held_is_compared_a_part_of_its_paths_after_the_other(
    scene: Scene, held_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_positions.VersionPositions.__init__, "__defaults__", (held_max, 1_000_000))
    memories = [scene.create(f"/{number}") for number in range(40)]
    for text in range(20):
        scene.update(memories[0], str(text))
    scene.deliver()
    days = Days(scene)
    assert days.compare().heads == 0
    lost = sorted(key_of(scene, memory.version_id) for memory in memories)
    for memory in memories:
        change(scene, VersionRow.key(scene.store, memory.version_id))
    assert (days.compare().heads, sorted(days.sent())) == (40, lost)


def test_rows_that_there_is_no_time_to_read_cost_looks_and_no_wrong_answer(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_positions.VersionPositions.__init__, "__defaults__", (1_000, 10))
    monkeypatch.setattr(version_positions, "ROWS_PER_PAGE", 10)
    for number in range(25):
        scene.create(f"/{number}")
    scene.deliver()
    compared = Days(scene).compare()
    assert (compared.heads, compared.repaired) == (15, 0)


# ---- a pass in parts ------------------------------------------------------------------------------------------------


class Parts(Days):
    """One region's comparison of its listing in parts."""

    def begin(self, parts: int) -> ComparedPage:
        self.scene.clock.advance(DAY_S)
        return self.listing.divide(parts)

    def rows(self, parts: int) -> list[ReconcileRow]:
        keys = [part_key(part) for part in range(1, parts + 1)]
        found = self.region.read(self.region.index, keys)
        return [ReconcileRow.from_attributes(found.get(key, {})) for key in keys]


def stores(scene: Scene, count: int) -> list[str]:
    """The keys of one entry in each of so many stores."""
    made = [scene.create_store().id for _ in range(count)]
    for store in made:
        scene.create("/a", store=store)
    scene.deliver()
    keys = scene.cloud.buckets.page(HOME, f"{HOME}/log/", None, 1_000).keys
    assert len(keys) == count
    return list(keys)


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_every_key_is_in_exactly_one_part(scene: Scene, parts: int) -> None:
    stores(scene, 10)
    undivided = Days(scene).compare()
    assert undivided.heads == 0
    whole = undivided.looked_at
    days = Parts(scene)
    days.begin(parts)
    seen = [days.listing.run_part(part, NEVER_US).looked_at for part in range(1, parts + 1)]
    assert sum(seen) == whole
    assert len(seen) == parts and all(seen)


def test_a_row_that_is_lost_is_found_in_whichever_part_it_is(scene: Scene) -> None:
    keys = stores(scene, 9)
    for row in list(scene.cloud.rows(HOME, "versions")):
        change(scene, RowKey("versions", *row))
    days = Parts(scene)
    days.begin(3)
    repaired = [days.listing.run_part(part, NEVER_US).repaired for part in (3, 1, 2)]
    assert (sum(repaired), all(repaired), sorted(days.sent())) == (9, True, keys)


def test_a_path_below_another_is_counted_once_in_whichever_part_its_store_is(scene: Scene) -> None:
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    for key in stores(scene, 8):
        below = PathRow(store_id=key.split("/")[2], path="/a/b", memory_id="mem_other")
        index.commit([Change(PathRow.key(below.store_id, below.path), None, below.to_attributes())])
    days = Parts(scene)
    days.begin(4)
    assert sum(days.listing.run_part(part, NEVER_US).ancestor_pairs for part in (1, 2, 3, 4)) == 8


def test_a_part_goes_on_where_time_ran_out_and_ends_where_the_next_begins(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores(scene, 10)
    days = Parts(scene)
    whole = days.compare().looked_at
    inner = days.region.objects.list
    monkeypatch.setattr(
        days.region.objects, "list", lambda prefix, after=None, **_: inner(prefix, after=after, limit=2)
    )
    days.begin(2)
    seen = []
    for part in (1, 2):
        pages = [days.listing.run_part(part, 0)]
        while not pages[-1].finished:
            pages.append(days.listing.run_part(part, 0))
        seen.append(pages)
    assert sum(page.looked_at for pages in seen for page in pages) == whole
    assert min(len(pages) for pages in seen) > 2
    assert days.rows(2) == [replace(row, after=None) for row in days.rows(2)]


def test_the_next_pass_begins_once_every_part_is_through_and_a_day_has_gone_by(scene: Scene) -> None:
    stores(scene, 4)
    days = Parts(scene)
    assert (days.begin(2).finished, days.begin(2).finished) == (False, False)
    assert days.listing.run_part(1, NEVER_US).looked_at > 0
    began = days.rows(2)
    assert days.begin(2).finished is False and days.rows(2) == began
    assert days.listing.run_part(2, NEVER_US).looked_at > 0
    assert days.listing.run_part(1, NEVER_US) == ComparedPage(finished=True)
    days.scene.clock.advance(DAY_S)
    assert days.listing.run_part(1, NEVER_US) == ComparedPage(finished=True)
    assert days.listing.divide(2).finished is False and days.rows(2) != began
    assert [days.listing.run_part(part, NEVER_US).finished for part in (1, 2)] == [True, True]
    assert days.listing.divide(2) == ComparedPage(finished=True)


def test_a_pass_in_parts_begins_once_a_clock_that_was_ahead_is_set_right(scene: Scene) -> None:
    stores(scene, 4)
    days = Parts(scene)
    scene.clock.advance(400 * DAY_S)
    assert days.listing.divide(2).finished is False
    assert [days.listing.run_part(part, NEVER_US).finished for part in (1, 2)] == [True, True]
    scene.clock.advance(-400 * DAY_S)
    assert days.listing.divide(2).finished is False
    assert [row.began_at for row in days.rows(2)] == [scene.clock.now_us()] * 2


def test_a_bucket_without_stores_is_one_part() -> None:
    scene = Scene()
    days = Parts(scene, AWAY)
    for key in scene.cloud.buckets.page(AWAY, f"{HOME}/store/", None, 1_000).keys:
        MemoryErasableObjects(scene.cloud.buckets, AWAY).remove(key)
    days.begin(4)
    assert [row.after for row in days.rows(4)] == ["", None, None, None]


def test_stores_are_sampled_where_there_are_many(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_listing, "SAMPLES_MAX", 4)
    stores(scene, 30)
    days = Parts(scene)
    days.begin(3)
    sizes = [days.listing.run_part(part, NEVER_US).looked_at for part in (1, 2, 3)]
    ends = [row.until for row in days.rows(3)]
    logs = [key for key in scene.cloud.buckets.page(HOME, f"{HOME}/log/", None, 1_000).keys if parse_key(key)]
    shares = [sum(key < (end or "~") for key in logs) for end in ends]
    assert all(sizes) and shares[-1] == 30 and all(5 <= share <= 25 for share in shares[:-1])
