"""Objects that are not Memolith's among a store's own keep no store from its home, its writes or its erasure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.log.store_log import StoreLog
from memolith.app.operations import operator
from memolith.app.safety.verdicts import Verdicts
from memolith.core.log_position import Slot
from memolith.core.object_keys import StoreKey
from tests.support.cloud import WORKSPACE
from tests.unit.app.commit.test_sync_replica import Durable
from tests.unit.app.erasure.test_store_purge import begin, say, transcripts
from tests.unit.app.failing import fail_over
from tests.unit.app.homes.late_versions import THIRD
from tests.unit.app.scene import AWAY, HOME, Scene

HASH = "0" * 64


def put_foreign(scene: Scene, *keys: str) -> None:
    """Put empty objects into every region's bucket, as the S3 console makes a folder, and replication copies it."""
    for site in scene.cloud.sites.values():
        for key in keys:
            site.region.objects.put_if_absent(key, b"", {})
    scene.drop_events()


def folders(scene: Scene) -> list[str]:
    logs = [f"{HOME}/log/{scene.store}/", f"{HOME}/log/{scene.store}/{HASH}/"]
    return [*logs, f"{HOME}/store/{scene.store}/", f"{HOME}/store/{scene.store}/zz"]


@pytest.fixture
def scene() -> Scene:
    scene = Scene(regions=(HOME, AWAY, THIRD))
    scene.create("/a", "one")
    scene.deliver()
    return scene


@pytest.mark.parametrize("call", [{"call": "homes.move"}, {"call": "homes.fail_over", "old": HOME}])
def test_a_folder_among_a_stores_logs_and_records_keeps_it_from_no_new_home(scene: Scene, call: dict[str, str]) -> None:
    put_foreign(scene, *folders(scene))
    answer = scene.cloud.peers.call(AWAY, "reconciler", {**call, "store_id": scene.store})
    assert answer.get("state") == "moved", answer
    scene.create("/b", "two", at=AWAY)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.paths(at=region) == ["/a", "/b"]


@pytest.mark.parametrize(
    ("change", "hint"), [({}, "memolith repair"), ({"schema": "2"}, "deploy the release that reads it")]
)
def test_a_failover_that_meets_an_entry_that_it_cannot_read_names_it_and_is_finished_once_that_is_whole(
    scene: Scene, change: dict[str, str], hint: str
) -> None:
    """It goes past none: a version that a later release wrote, or whose copy here alone is damaged, would be lost."""
    [key] = scene.log_keys()
    whole = scene.cloud.buckets.current(AWAY, key)
    assert whole is not None
    metadata = {**whole.metadata, **change} if change else {}
    scene.cloud.buckets.damage(AWAY, key, replace(whole, metadata=metadata))
    call = {"call": "homes.fail_over", "old": HOME, "store_id": scene.store}
    error = scene.cloud.peers.call(AWAY, "reconciler", call)["error"]
    fields = error["fields"]
    assert (error["type"], fields["object"], fields["region"]) == ("Damaged", key, AWAY)
    assert hint in fields["hint"]
    scene.cloud.peers.call(AWAY, "eraser", {"call": "repair.page", "store_id": None, "at": None, "look_only": False})
    assert scene.cloud.buckets.current(AWAY, key) == whole
    assert fail_over(scene)["state"] == "moved"
    assert scene.paths(at=AWAY) == ["/a"]


def test_a_folder_among_a_stores_logs_keeps_no_late_version_from_being_replayed(scene: Scene) -> None:
    scene.create("/late", "late")
    held = list(scene.cloud.pending)
    scene.cloud.pending.clear()
    fail_over(scene)
    [late] = {event.key for event in held if "/log/" in event.key}
    put_foreign(scene, *folders(scene), f"{late.rpartition('/')[0]}/")
    scene.cloud.pending.extend(held)
    scene.deliver()
    for region in (HOME, AWAY, THIRD):
        assert scene.paths(at=region) == ["/a", "/late"]
    assert scene.cloud.sites[AWAY].indexing.repair_rows(scene.store, None) is None


@pytest.mark.parametrize("foreign", ["0-x", "0/", "", "zz"])
def test_an_object_among_the_records_of_stores_hides_no_store_from_the_list_of_homes(
    scene: Scene, foreign: str
) -> None:
    second = scene.create_store("second").id
    scene.deliver()
    put_foreign(scene, f"{HOME}/store/{foreign}", f"{HOME}/store/{scene.store}/")
    for site in scene.cloud.sites.values():
        assert {home.store_id for home in operator.homes(site.region)} == {scene.store, second}


def test_a_folder_among_a_stores_records_does_not_hide_its_end(scene: Scene) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.deliver()
    put_foreign(scene, *folders(scene))
    deletion = StoreLog(scene.cloud.sites[HOME].region).deletion(scene.store)
    assert deletion is not None and deletion.store_id == scene.store


def test_an_object_among_a_stores_records_in_its_second_region_leaves_no_write_in_doubt() -> None:
    scene = Durable((HOME, AWAY, THIRD))
    own = str(StoreKey(scene.store, Slot.parse(scene.cloud.rows(HOME, "stores")[scene.store, "record"]["slot"])))
    put_foreign(scene, f"{AWAY}/{own.partition('/')[2]}x")
    scene.create("/a", "one")
    assert scene.paths() == ["/a"]


def test_a_folder_among_the_parts_of_a_transcript_keeps_it_from_no_erasure(scene: Scene) -> None:
    session = begin(scene, scene.store)
    say(scene, session, "words", HOME)
    put_foreign(scene, f"{HOME}/transcript/{WORKSPACE}/{session}/")
    scene.at(HOME).sessions.delete(scene.call(), session)
    call = {"call": "erase_transcript", "workspace_id": WORKSPACE, "session_id": session}
    assert scene.cloud.peers.call(HOME, "eraser", call) == {"erased": 1}
    assert "words" not in transcripts(scene, HOME, session)


def test_a_folder_among_the_records_of_a_key_or_a_text_hides_none_of_them(scene: Scene) -> None:
    [(_, key_id)] = scene.cloud.rows(HOME, "keys")
    [version] = scene.versions().items
    put_foreign(scene, f"{HOME}/key/{WORKSPACE}/{key_id}/", f"{HOME}/verdict/{scene.store}/{version.id}/")
    assert scene.at(HOME).api_keys.search(WORKSPACE, key_id) is not None
    assert Verdicts(scene.cloud.sites[HOME].region).put_for(scene.store, version.id, [HOME]) == []
