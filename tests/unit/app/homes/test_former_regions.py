"""A region is removed from the deployment: what was born there goes on in the others, as if it were still there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import ManualClock, MemoryQueue
from memolith.app.erasure import store_purge
from memolith.app.erasure.store_purge import PENDING, StorePurge, WorkRow
from memolith.app.erasure.verification import KINDS
from memolith.app.kernel.results import Credentials, Memory, StoreToAttach
from memolith.app.kernel.session_filter import SessionFilter
from memolith.app.log.store_log import StoreLog
from memolith.core.errors import NotFound, Unavailable
from memolith.core.object_keys import RedactionKey, parse_key
from memolith.ports.index import Change
from tests.support.rebuilds import Operator
from tests.unit.app.failing import hold_back
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

GONE, STAYS = HOME, (AWAY, "ap-south-1")
DAY_S = 24 * 3600
T = TypeVar("T")


def tick(scene: Scene) -> None:
    """Minutes pass in every region that there is, and what the reconcilers put arrives."""
    assert isinstance(scene.clock, ManualClock)
    for _ in range(3):
        scene.clock.advance(61)
        for region in scene.cloud.regions:
            scene.cloud.sites[region].reconciling.tick()
        scene.deliver()


@pytest.fixture
def scene() -> Scene:
    """Three regions, and a store that was born in the one that will be removed."""
    return Scene(regions=(GONE, *STAYS))


def remove(scene: Scene, to: str = AWAY) -> None:
    """As the page for operators says: its stores move, everything arrives, and then it goes."""
    moved = scene.cloud.peers.call(to, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert moved["state"] == "moved", moved
    scene.deliver()
    tick(scene)
    scene.cloud.remove(GONE)


def written(scene: Scene) -> Memory:
    memory = scene.create("/a", "first")
    scene.update(memory, "second")
    scene.delete(scene.create("/gone", "deleted"))
    scene.deliver()
    return memory


@pytest.mark.parametrize("region", STAYS)
def test_stores_born_in_a_removed_region_are_read_and_written_in_the_others(scene: Scene, region: str) -> None:
    memory = written(scene)
    remove(scene)
    assert scene.read(memory, at=region).content == "second"
    scene.update(memory, "third", at=region)
    scene.create("/later", "later", at=region)
    scene.deliver()
    for other in STAYS:
        assert scene.read(memory, at=other).content == "third"
        assert scene.paths(at=other) == ["/a", "/later"]
        assert scene.history(memory, at=other) == ["modified", "modified", "created"]


@pytest.mark.parametrize("region", STAYS)
def test_the_watermark_of_a_store_born_in_a_removed_region_goes_on(scene: Scene, region: str) -> None:
    memory = written(scene)
    remove(scene)
    tick(scene)
    access = scene.at(region).memories
    before = scene.cloud.sites[region].region.view().complete_until_of([GONE, *STAYS])
    assert before is not None
    tick(scene)
    after = scene.cloud.sites[region].region.view().complete_until_of([GONE, *STAYS])
    assert after is not None
    assert after > before
    assert access.retrieve(scene.call(), scene.store, memory.id, full=True).content == "second"


def test_versions_of_a_removed_region_are_retained_no_longer_than_the_store_says(scene: Scene) -> None:
    memory = written(scene)
    remove(scene)
    scene.at(AWAY).stores.update(
        scene.call(),
        scene.store,
        name="n",
        description="",
        metadata={},
        retention={"days": 1, "versions": 1},
    )
    scene.deliver()
    assert isinstance(scene.clock, ManualClock)
    scene.clock.advance(40 * DAY_S)
    for region in STAYS:
        blanked = scene.cloud.peers.call(region, "eraser", {"call": "sweep"})["blanked"]
        assert int(blanked) > 0, region
        bodies = [body for key, body in scene.objects(region) if "/log/" in key]
        assert b"first" not in bodies
        assert b"second" in bodies, "a head stays, however old"
    assert scene.read(memory, at=AWAY).content == "second"


def test_a_redaction_ordered_in_a_removed_region_reaches_an_original_that_comes_back_late(scene: Scene) -> None:
    memory = scene.create("/a", "to be redacted")
    scene.update(memory, "after it")
    scene.deliver()
    original = next(one for one in scene.entries(GONE) if one.version_id == memory.version_id)
    key = str(original.key)
    stored = scene.cloud.buckets.current(AWAY, key)
    assert stored is not None
    scene.redact(memory.version_id)
    scene.deliver()
    remove(scene)
    ordered = [parse_key(one) for one, _ in scene.objects(AWAY) if "/redaction/" in one]
    assert [one.region for one in ordered if isinstance(one, RedactionKey)] == [GONE]
    scene.cloud.buckets.put(AWAY, stored, only_if_absent=False)
    scene.cloud.peers.call(AWAY, "eraser", {"call": "erase", "key": key})
    assert b"to be redacted" not in scene.bodies(AWAY)


def test_a_version_of_a_removed_region_can_still_be_redacted(scene: Scene) -> None:
    memory = scene.create("/a", "personal")
    scene.update(memory, "after it")
    scene.deliver()
    remove(scene)
    scene.redact(memory.version_id, at=AWAY)
    scene.deliver()
    for region in STAYS:
        assert b"personal" not in scene.bodies(region)


def test_keys_and_sessions_of_a_removed_region_are_accepted_also_where_the_index_lacks_them(scene: Scene) -> None:
    session = scene.at(GONE).sessions.create(
        scene.call(), [StoreToAttach(scene.store, "read_only", "")], title="t", metadata={}, token_lifetime_s=600
    )
    remove(scene)
    site = scene.cloud.sites[AWAY]
    credentials = scene.call().credentials
    assert isinstance(credentials, Credentials)
    assert site.memolith.api_keys.search(credentials.workspace_id, credentials.key_id) is not None
    found = site.memolith.sessions.page(scene.call(), filter=SessionFilter(), limit=10, after=None)
    assert [one.record.session_id for one in found.items] == [session.record.session_id]


def test_a_rebuild_finds_what_a_removed_region_wrote(scene: Scene) -> None:
    written(scene)
    remove(scene)
    scene.cloud.regions = STAYS
    before = {table: scene.cloud.rows(AWAY, table) for table in INDEXED}
    Operator(scene.cloud, MemoryQueue()).run()
    scene.cloud.sites[AWAY].region.view()
    assert {table: scene.cloud.rows(AWAY, table) for table in INDEXED} == before


def test_a_store_born_in_a_removed_region_can_be_deleted_and_is_erased(scene: Scene) -> None:
    memory = written(scene)
    remove(scene)
    scene.at(AWAY).stores.delete(scene.call(), scene.store)
    scene.deliver()
    assert isinstance(scene.clock, ManualClock)
    for _ in range(6):
        scene.clock.advance(3_600)
        for region in STAYS:
            scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
        scene.deliver()
    for region in STAYS:
        assert b"second" not in scene.bodies(region)
        with pytest.raises(NotFound):
            scene.read(memory, at=region)


def interrupted(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of the third region is being erased in the first, a page a sweep; the third's log is erased in part.

    Returns the sweeping region.
    """
    here, home = HOME, STAYS[1]
    monkeypatch.setattr(store_purge, "VERSIONS_PER_PAGE", 1)
    scene.store = scene.create_store(at=home).id
    for number in range(5):
        scene.create(f"/{number}", "personal", at=home)
    scene.deliver()
    for site in scene.cloud.sites.values():
        site.region.erase_delay_us = 0
    scene.at(home).stores.delete(scene.call(), scene.store)
    for event in hold_back(scene):
        scene.cloud.buckets.replicate(event, here)
    hold_back(scene)
    work = StorePurge.work
    with monkeypatch.context() as patch:
        patch.setattr(StorePurge, "work", lambda self, store_id, _: work(self, store_id, lambda: True))
        scene.cloud.peers.call(here, "eraser", {"call": "erase_store", "store_id": scene.store})
        while not str(progress(scene, here).get("after", "")).startswith(f"{home}/log/"):
            scene.cloud.peers.call(here, "eraser", {"call": "sweep"})
    return here


def progress(scene: Scene, region: str) -> Mapping[str, Any]:
    call = {"call": "erasure.status", "store_id": scene.store, "id": scene.store}
    found: Mapping[str, Any] = scene.cloud.peers.call(region, "eraser", call)["progress"]
    return found


def sweep_until_done(scene: Scene, region: str) -> None:
    assert isinstance(scene.clock, ManualClock)
    for _ in range(5):
        scene.clock.advance(61)
        scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
    assert progress(scene, region)["done_at"]
    assert [key for key, body in scene.objects(region) if b"personal" in body] == []


def test_a_store_is_erased_whole_though_a_region_is_removed_meanwhile(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = interrupted(scene, monkeypatch)
    scene.cloud.remove(AWAY)
    sweep_until_done(scene, here)


def test_a_store_is_erased_whole_though_a_release_goes_through_it_in_another_order(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older release has left it: it noted the number of a place, and had the places in another order."""
    here = interrupted(scene, monkeypatch)
    index, key = scene.cloud.sites[here].region.index, WorkRow.key(PENDING, scene.store)
    noted = {name: value for name, value in index.read([key])[key].items() if name not in ("place", "after")}
    index.commit([Change(key, None, {**noted, "stage": 6}, unconditional=True)])
    sweep_until_done(scene, here)


@pytest.mark.parametrize("interrupted_in", [HOME, AWAY, "ap-south-1"])
def test_a_repair_of_a_store_misses_no_log_though_a_region_is_removed_meanwhile(
    scene: Scene, interrupted_in: str
) -> None:
    """It was interrupted in some region's log, and goes on once another region is a former one."""
    for to in (AWAY, "ap-south-1"):
        scene.cloud.peers.call(to, "reconciler", {"call": "homes.move", "store_id": scene.store})
        scene.deliver()
    site, removed = scene.cloud.sites["ap-south-1"], AWAY if interrupted_in == HOME else HOME
    listed: list[str] = []

    def noting(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.list" and f"/log/{scene.store}/" in repr(call):
            listed.append(next(one for one in (HOME, AWAY, "ap-south-1") if f"{one}/log/" in repr(call)))
        return act()

    with scene.intercepted_by(noting):
        place: str | None = None
        while interrupted_in not in listed:
            place = site.indexing.repair_rows(scene.store, place, deadline_us=0)
        scene.cloud.remove(removed)
        assert site.indexing.repair_rows(scene.store, place) is None
    assert set(listed) == {HOME, AWAY, "ap-south-1"}


def test_a_days_pass_of_retention_misses_no_region_though_one_is_removed_meanwhile(scene: Scene) -> None:
    here, listed = "ap-south-1", list[str]()

    def slow(call: PortCall, act: Callable[[], T]) -> T:
        region, _, rest = call.subjects[0].partition("/")
        if call.name == "objects.list" and rest == "store/":
            assert isinstance(scene.clock, ManualClock)
            listed.append(region)
            scene.clock.advance(300)
        return act()

    with scene.intercepted_by(slow):
        for number in range(4):
            if number == 2:
                scene.cloud.remove(AWAY)
            scene.cloud.peers.call(here, "eraser", {"call": "sweep"})
    assert sorted(listed) == sorted((HOME, AWAY, here))


def test_operators_see_and_move_stores_born_in_a_removed_region(scene: Scene) -> None:
    memory = written(scene)
    remove(scene)
    to = STAYS[1]
    listed: list[str] = []
    after = None
    while True:
        page = scene.cloud.peers.call(to, "reconciler", {"call": "homes.list", "after": after})
        listed += [one["store_id"] for one in page["stores"]]
        after = page["next"]
        if after is None:
            break
    assert scene.store in listed
    assert scene.cloud.peers.call(to, "reconciler", {"call": "homes.move", "store_id": scene.store})["state"] == "moved"
    scene.deliver()
    scene.update(memory, "moved on", at=to)
    assert scene.read(memory, at=to).content == "moved on"


def test_a_store_of_a_removed_region_is_found_in_the_bucket_where_the_index_lacks_it(scene: Scene) -> None:
    remove(scene)
    found = StoreLog(scene.cloud.sites[AWAY].region).find(scene.store)
    assert found is not None
    assert found.home == AWAY


def test_a_search_for_text_that_should_be_gone_covers_what_a_removed_region_wrote(scene: Scene) -> None:
    written(scene)
    remove(scene)
    places = searched(scene, AWAY)
    assert any(f"{GONE}/log/" in place for place in places), places


def test_a_search_for_text_covers_every_region_though_one_is_removed_meanwhile(scene: Scene) -> None:
    scene.store = scene.create_store(at="ap-south-1").id
    scene.create("/a", "first", at="ap-south-1")
    scene.deliver()
    places = searched(scene, HOME, remove_at=2 * len(KINDS))
    assert any("ap-south-1/log/" in place for place in places), places


def searched(scene: Scene, region: str, remove_at: int = -1) -> list[str]:
    places: list[str] = []
    at: Any = {"number": 0}
    while at is not None:
        if at["number"] == remove_at:
            scene.cloud.remove(AWAY)
        call = {"call": "erasure.search", "store_id": scene.store, "at": at, "texts": ["first"]}
        step = scene.cloud.peers.call(region, "eraser", call)
        places += [str(one) for one in step["found"]]
        at = step["next"]
    return places


def test_nothing_is_put_into_the_bucket_of_a_removed_region(scene: Scene) -> None:
    remove(scene)
    with pytest.raises(Unavailable, match="removed"):
        scene.cloud.sites[AWAY].region.objects.put_if_absent("key", b"", {}, region=GONE)


def test_removed_regions_that_a_deployment_still_names_are_not_known_to_be_complete(scene: Scene) -> None:
    """What is skipped is a former region, and not one of which nothing happens to be known."""
    view = scene.cloud.sites[AWAY].region.view()
    assert view.complete_until_of([AWAY, "mars-north-1"]) is None
