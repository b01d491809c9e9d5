"""Objects that cannot be read, truncated or of a later release: they stop nothing else from being erased."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from memolith.app.api.transcripts import EventFilter
from memolith.app.erasure.deadlines import Deadlines
from memolith.app.erasure.dream_step_removal import DreamStepRemoval
from memolith.app.erasure.retention import RetentionPass
from memolith.app.erasure.store_purge import StorePurge
from memolith.app.erasure.transcript_purge import TranscriptPurge
from memolith.app.erasure.version_purge import VersionPurge
from memolith.core.errors import Damaged, OutcomeUnknown
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.transcript import TranscriptPart
from memolith.ports.objects import Objects, StoredObject
from tests.support.cloud import WORKSPACE
from tests.unit.app.erasure.test_store_purge import begin, say, search, sweep, transcripts
from tests.unit.app.scene import HOME, Scene

DAY_S = 24 * 3600
MONTH_S = 32 * DAY_S


def truncated(found: StoredObject) -> StoredObject:
    return replace(found, body=found.body[:-5], size_bytes=len(found.body) - 5)


def of_a_later_release(found: StoredObject) -> StoredObject:
    body = found.body.replace(b'"schema": "1"', b'"schema": "2"', 1)
    assert body != found.body
    return replace(found, body=body)


def spoil(scene: Scene, region: str, key: str, change: Callable[[StoredObject], StoredObject] = truncated) -> None:
    found = scene.cloud.buckets.current(region, key)
    assert found is not None
    scene.cloud.buckets.damage(region, key, change(found))


def part_of(scene: Scene, session: str, region: str = HOME) -> str:
    keys = scene.cloud.buckets.page(region, "", None, 10_000).keys
    [key] = [key for key in keys if f"/{session}/" in key and "/transcript/" in key and not key.endswith("/0000000000")]
    return key


def damaged(scene: Scene) -> int:
    return scene.cloud.metrics.total("objects_damaged")


# ---- parts of transcripts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [truncated, of_a_later_release])
def test_a_part_of_a_transcript_that_cannot_be_read_keeps_no_other_part_past_its_time(
    scene: Scene, caplog: pytest.LogCaptureFixture, change: Callable[[StoredObject], StoredObject]
) -> None:
    sessions = [begin(scene, scene.store) for _ in range(3)]
    for session in sessions:
        say(scene, session, "words", HOME)
    unreadable = sorted(sessions)[1]
    spoil(scene, HOME, part_of(scene, unreadable), change)
    scene.clock.advance(MONTH_S)
    with caplog.at_level(logging.ERROR):
        assert sweep(scene, HOME)["transcript_parts"] == 2
    assert [session for session in sessions if "words" in transcripts(scene, HOME, session)] == [unreadable]
    assert damaged(scene) == 1
    [told] = [one for one in caplog.records if one.getMessage().startswith("a part of a transcript cannot be read")]
    assert vars(told)["key"] == part_of(scene, unreadable)
    assert "delete the session" in told.getMessage()


def test_a_part_of_a_transcript_whose_checksum_is_wrong_keeps_no_other_part_past_its_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = sorted(begin(scene, scene.store) for _ in range(3))
    for session in sessions:
        say(scene, session, "words", HOME)
    unreadable = part_of(scene, sessions[1])
    with_one_damaged(scene, monkeypatch, unreadable)
    scene.clock.advance(MONTH_S)
    sweep(scene, HOME)
    assert ["words" in transcripts(scene, HOME, session) for session in sessions] == [False, True, False]


class _WithOneDamaged:
    """Objects of which one is not what its checksum says."""

    def __init__(self, objects: Objects, key: str) -> None:
        self._objects = objects
        self._key = key

    def get(self, key: str, *more: Any) -> StoredObject:
        self._check(key)
        return self._objects.get(key, *more)

    def head(self, key: str, *more: Any) -> Any:
        self._check(key)
        return self._objects.head(key, *more)

    def _check(self, key: str) -> None:
        if key == self._key:
            raise Damaged("its checksum is wrong")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)


def test_an_order_puts_a_blank_over_a_part_of_a_transcript_that_cannot_be_read(scene: Scene) -> None:
    session = begin(scene, scene.store)
    say(scene, session, "words", HOME)
    key = part_of(scene, session)
    spoil(scene, HOME, key)
    scene.at(HOME).sessions.delete(scene.call(), session)
    scene.drop_events()
    call = {"call": "erase_transcript", "workspace_id": WORKSPACE, "session_id": session}
    assert scene.cloud.peers.call(HOME, "eraser", call) == {"erased": 1}
    assert "words" not in transcripts(scene, HOME, session)
    found = scene.cloud.buckets.current(HOME, key)
    assert found is not None
    part = TranscriptPart.from_lines(found.body)
    assert (part.workspace_id, part.session_id, part.events) == (WORKSPACE, session, ())
    assert part.erased_at == scene.clock.now_us()
    assert scene.cloud.peers.call(HOME, "eraser", call) == {"erased": 0}
    scene.cloud.sites[HOME].indexing.object_arrived(key)
    events = scene.at(HOME).transcripts.page(scene.call(), session, filter=EventFilter(), limit=9, after=None)
    assert events.items == ()


def test_the_end_of_a_store_puts_a_blank_over_a_part_of_a_transcript_that_cannot_be_read(scene: Scene) -> None:
    session = begin(scene, scene.store)
    say(scene, session, "words", HOME)
    spoil(scene, HOME, part_of(scene, session))
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.drop_events()
    for _ in range(2):
        scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})
        scene.drop_events()
        scene.clock.advance(61)
    assert "words" not in transcripts(scene, HOME, session)
    status = {"call": "erasure.status", "store_id": scene.store, "id": scene.store}
    assert scene.cloud.peers.call(HOME, "eraser", status)["state"] == "erased"


# ---- versions and records -------------------------------------------------------------------------------------------


def without_metadata(found: StoredObject) -> StoredObject:
    return replace(found, metadata={})


def test_a_version_whose_object_cannot_be_read_keeps_no_other_version_past_its_time(scene: Scene) -> None:
    for path in ("/a", "/b", "/c"):
        scene.delete(scene.create(path, f"text of {path}"))
    scene.deliver()
    keys = [key for key in scene.log_keys() if key.endswith("0000000001")]
    assert len(keys) == 3
    spoil(scene, HOME, keys[1], without_metadata)
    scene.clock.advance(MONTH_S)
    assert sweep(scene, HOME)["blanked"] == 5, "two texts, and three deletions"
    bodies = [scene.cloud.buckets.current(HOME, key) for key in keys]
    assert [one is not None and one.body != b"" for one in bodies] == [False, True, False]
    assert damaged(scene) == 1


def with_one_damaged(scene: Scene, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    region = scene.cloud.sites[HOME].region
    monkeypatch.setattr(region, "objects", _WithOneDamaged(region.objects, key))


def test_a_version_whose_file_is_damaged_keeps_no_other_version_past_its_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop's file whose first line is damaged has no metadata to read: it raises, and not as a ValueError."""
    for path in ("/a", "/b", "/c"):
        scene.delete(scene.create(path, f"text of {path}"))
    scene.deliver()
    keys = [key for key in scene.log_keys() if key.endswith("0000000001")]
    with_one_damaged(scene, monkeypatch, keys[1])
    scene.clock.advance(MONTH_S)
    assert sweep(scene, HOME)["blanked"] == 5, "two texts, and three deletions"
    bodies = [scene.cloud.buckets.current(HOME, key) for key in keys]
    assert [one is not None and one.body != b"" for one in bodies] == [False, True, False]
    assert damaged(scene) == 1


def test_a_version_whose_file_is_damaged_keeps_no_older_s3_version_of_another_key(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [scene.create(path, f"text of {path}") for path in ("/a", "/b", "/c")]
    scene.deliver()
    keys = [key for key in scene.log_keys() if key.endswith("0000000001")]
    whole = [scene.cloud.buckets.current(HOME, key) for key in keys]
    for memory in made:
        scene.update(memory, "more")
        scene.redact(memory.version_id)
    scene.deliver()
    for one in whole:  # a copy that was under way lands on top of the blank, and its event is lost
        assert one is not None
        scene.cloud.buckets.put(HOME, one, only_if_absent=False)
    scene.drop_events()
    with_one_damaged(scene, monkeypatch, keys[1])
    sweep(scene, HOME)
    bodies = [scene.cloud.buckets.current(HOME, key) for key in keys]
    assert [one is not None and one.body != b"" for one in bodies] == [False, True, False]


@pytest.mark.parametrize(
    "what",
    [
        "an unreadable record of a deleted store",
        "a damaged file of a deleted store",
        "an object that is not Memolith's",
    ],
)
def test_what_cannot_be_read_among_the_records_of_stores_does_not_end_the_retention_of_other_stores(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    first, second = sorted((scene.store, scene.create_store("other").id))
    made = scene.create("/a", "old words", store=second)
    scene.at(HOME).memories.delete(scene.call(), second, made.id, expected_content_sha256=None)
    scene.deliver()
    if what.startswith("an object"):
        scene.cloud.sites[HOME].region.objects.put_if_absent(f"{HOME}/store/0-nonsense", b"", {})
    else:
        scene.at(HOME).stores.delete(scene.call(), first)
        scene.drop_events()
        if what.startswith("a damaged file"):
            with_one_damaged(scene, monkeypatch, _last_record(scene, first))
        else:
            scene.cloud.buckets.damage(HOME, _last_record(scene, first), _nonsense(scene, _last_record(scene, first)))
    scene.drop_events()
    scene.clock.advance(MONTH_S)
    sweep(scene, HOME)
    bodies = [body for _, body in scene.objects(HOME)]
    assert b"old words" not in bodies


def _last_record(scene: Scene, store_id: str) -> str:
    keys = [key for key, _ in scene.objects(HOME)]
    named = {key: parse_key(key) for key in keys if key.startswith(f"{HOME}/store/{store_id}/")}
    return max(key for key, name in named.items() if isinstance(name, StoreKey))


def _nonsense(scene: Scene, key: str) -> StoredObject:
    found = scene.cloud.buckets.current(HOME, key)
    assert found is not None
    return replace(found, body=b"nonsense", size_bytes=8)


# ---- parts of a sweep -----------------------------------------------------------------------------------------------

PARTS: Mapping[str, tuple[type, str]] = {
    "deletions": (Deadlines, "run"),
    "stores": (StorePurge, "pending"),
    "steps of dreams": (DreamStepRemoval, "sweep"),
    "versions": (RetentionPass, "work"),
    "older S3 versions": (VersionPurge, "run"),
    "transcripts": (TranscriptPurge, "run"),
}


@pytest.mark.parametrize("failing", PARTS)
def test_a_part_of_a_sweep_that_fails_is_told_once_every_other_part_has_had_its_turn(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    begun: list[str] = []

    def around(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            begun.append(name)
            if name == failing:
                raise ValueError("cannot be read")
            return act(*given)

        return run

    for name, (kind, method) in PARTS.items():
        monkeypatch.setattr(kind, method, around(name, getattr(kind, method)))
    with pytest.raises(OutcomeUnknown, match="ValueError"):
        sweep(scene, HOME)
    assert begun == list(PARTS)


def test_a_store_that_cannot_be_erased_stays_pending_and_holds_up_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = sorted([scene.store, scene.create_store("other").id])
    for store_id in stores:
        scene.create("/a", "secret", store=store_id)
        scene.at(HOME).stores.delete(scene.call(), store_id)
    scene.deliver()
    scene.clock.advance(61)
    work = StorePurge.work

    def of_the_second(self: StorePurge, store_id: str, is_time_up: Callable[[], bool]) -> bool:
        if store_id == stores[0]:
            raise ValueError("cannot be read")
        return work(self, store_id, is_time_up)

    monkeypatch.setattr(StorePurge, "work", of_the_second)
    assert sweep(scene, HOME)["pending"] == 1
    assert ("erasure#done", stores[1]) in scene.cloud.rows(HOME, "control")
    assert age_ms(scene) == 61_000
    scene.clock.advance(DAY_S)
    assert sweep(scene, HOME)["pending"] == 1
    assert age_ms(scene) == 61_000 + DAY_S * 1_000


def test_where_a_store_is_deleted_every_minute_no_erasure_grows_old(scene: Scene) -> None:
    """What rings watches the age: there is always one that is not erased yet, since its rows wait for a minute."""
    for number in range(10):
        store_id = scene.create_store(f"number {number}").id
        scene.create("/a", "secret", store=store_id)
        scene.at(HOME).stores.delete(scene.call(), store_id)
        scene.deliver()
        assert sweep(scene, HOME)["pending"] >= 1
        assert age_ms(scene) < 120_000
        scene.clock.advance(60)
    while sweep(scene, HOME)["pending"]:
        scene.clock.advance(60)
    assert age_ms(scene) == 0, "a sweep that leaves none says so: none is no sweep"


def age_ms(scene: Scene) -> float:
    """How old the last sweep said that the oldest erasure is that is not done."""
    return scene.cloud.metrics.durations_ms["erasure_age_ms", ()][-1]


def test_a_deleted_store_whose_record_cannot_be_read_holds_up_the_end_of_no_other() -> None:
    scene = Scene(erase_delay_us=7 * DAY_S * 1_000_000)
    stores = [scene.store, scene.create_store("other").id]
    for store_id in stores:
        scene.at(HOME).stores.delete(scene.call(), store_id)
        scene.deliver()
        scene.clock.advance(1)
    scene.cloud.buckets.damage(HOME, _last_record(scene, stores[0]), _nonsense(scene, _last_record(scene, stores[0])))
    scene.clock.advance(8 * DAY_S)
    assert sweep(scene, HOME)["ended"] == 1


# ---- showing that something is gone -------------------------------------------------------------------------------


def test_a_search_for_anything_that_is_left_of_a_store_names_what_cannot_be_read_and_goes_on(scene: Scene) -> None:
    """What is there of the store is told, also behind the object."""
    scene.create("/a", "secret")
    scene.deliver()
    whole = search(scene, HOME)
    assert set(whole) == {"not blank"}
    record = _last_record(scene, scene.store)
    scene.cloud.buckets.damage(HOME, record, _nonsense(scene, record))
    assert sorted(search(scene, HOME)) == [*whole[1:], "unreadable"]
