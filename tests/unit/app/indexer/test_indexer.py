"""Events are hints: the object itself says what is so; what cannot be read is named and never retried."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.results import Memory
from memolith.core.errors import Unavailable
from memolith.core.log_position import Epoch
from memolith.core.object_keys import CutKey, parse_key
from memolith.wire.rpc import peerwriter_calls
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

PUT = "objects.put_if_absent"
SLOT = "0001-0.0000000009"


def arrived(scene: Scene, key: str, region: str = HOME) -> None:
    scene.cloud.sites[region].indexing.object_arrived(key)


def put(scene: Scene, key: str, body: bytes = b"", metadata: dict[str, str] | None = None) -> str:
    scene.cloud.sites[HOME].region.objects.put_if_absent(key, body, metadata or {})
    scene.cloud.pending.pop()
    return key


@pytest.mark.parametrize(
    ("key", "body"),
    [
        ("nonsense", b""),
        ("us-east-1/log/x", b""),
        ("us-east-1/else/x", b""),
        (f"us-east-1/log/memstore_useast1_x/{'0' * 64}/{SLOT}", b"no metadata"),
        (f"us-east-1/store/memstore_useast1_x/{SLOT}", b"not json"),
        (f"us-east-1/store/memstore_useast1_x/{SLOT}", b"[]"),
        (f"us-east-1/store/memstore_useast1_x/{SLOT}", b'{"schema": "1"}'),
        (f"us-east-1/store/memstore_useast1_x/{SLOT}", b'{"schema": "2"}'),
        ("us-east-1/key/wrkspc_x/apikey_x/0000000001", b"{"),
        ("us-east-1/redaction/memstore_useast1_x/memver_x", b'{"schema": "1", "colour": 1}'),
        ("us-east-1/redaction/memstore_useast1_x/memver_x", b"\xff"),
    ],
)
def test_what_no_version_of_memolith_made_is_malformed_and_changes_no_row(scene: Scene, key: str, body: bytes) -> None:
    before = {table: dict(scene.cloud.rows(HOME, table)) for table in INDEXED}
    put(scene, key, body)
    with pytest.raises(Malformed):
        arrived(scene, key)
    assert {table: scene.cloud.rows(HOME, table) for table in INDEXED} == before


def test_an_event_of_something_that_is_not_there_says_nothing(scene: Scene) -> None:
    """S3 tells of a put whose object the eraser, or nobody, has left: there is nothing to fold."""
    for key in (
        f"us-east-1/log/{scene.store}/{'0' * 64}/{SLOT}",
        f"us-east-1/store/{scene.store}/{SLOT}",
        "us-east-1/key/wrkspc_x/apikey_x/0000000001",
    ):
        arrived(scene, key)


def test_cuts_and_what_is_local_have_no_rows(scene: Scene) -> None:
    arrived(scene, put(scene, str(CutKey(scene.store, Epoch(2, HOME), "cut_1", 0)), b"anything"))
    arrived(scene, put(scene, "local/anything"))


@pytest.mark.parametrize("name", ["index.read", "objects.head", "index.commit"])
def test_a_port_that_does_not_answer_is_a_reason_to_come_again(scene: Scene, name: str) -> None:
    made = scene.create("/a", "text")
    scene.drop_events()
    key = scene.log_keys()[0]
    current = scene.cloud.buckets.current(HOME, key)
    assert current is not None
    scene.cloud.sites[AWAY].region.objects.put_if_absent(key, current.body, current.metadata)
    with scene.struck_by(Strike(Fault.REFUSED, name)), pytest.raises(Unavailable):
        arrived(scene, key, AWAY)
    arrived(scene, key, AWAY)
    assert scene.read(made, at=AWAY).content == "text"


def test_an_event_that_comes_again_or_late_changes_nothing(scene: Scene) -> None:
    made = scene.create("/a", "first")
    scene.update(made, path="/b")
    scene.update(made, "third")
    keys = scene.log_keys()
    scene.deliver()
    before = {table: dict(scene.cloud.rows(AWAY, table)) for table in INDEXED}
    for key in [*keys, *reversed(keys)]:
        for region in (HOME, AWAY):
            arrived(scene, key, region)
    assert {table: scene.cloud.rows(AWAY, table) for table in INDEXED} == before
    assert scene.cloud.rows(HOME, "memories") == before["memories"]


def test_the_home_alone_journals_and_each_object_of_a_version_once(scene: Scene) -> None:
    before = scene.journaled()
    made = scene.create("/a", "first")
    scene.update(made, path="/b")
    scene.update(made, "third", at=AWAY)
    scene.deliver()
    assert sorted(scene.journaled()) == sorted([*before, *(str(entry.key) for entry in scene.entries())])
    assert scene.journaled(at=AWAY) == []


def test_keys_records_of_stores_and_orders_of_redaction_are_journaled_too(scene: Scene) -> None:
    made = scene.create("/a", "first")
    scene.update(made, "second")
    scene.redact(made.version_id)
    kinds = {key.split("/")[1] for key in scene.journaled()}
    assert kinds == {"key", "store", "log", "redaction"}


def test_a_write_whose_writer_died_right_after_its_put_is_indexed_and_journalled_by_its_event(scene: Scene) -> None:
    before = len(scene.journaled())
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, PUT)):
        scene.create("/a", "text")
    assert scene.paths() == []
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == ["/a"]
    assert len(scene.journaled()) == before + 1


# ---- renames met half-way -------------------------------------------------------------------------------------------


def half_renamed(scene: Scene) -> Memory:
    made = scene.create("/a", "kept")
    scene.deliver()
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, PUT, 2)):
        scene.update(made, path="/b")
    return made


def test_half_a_rename_is_finished_by_its_own_event(scene: Scene) -> None:
    made = half_renamed(scene)
    scene.deliver()
    for region in (HOME, AWAY):
        assert scene.paths(at=region) == ["/b"]
        assert scene.history(made, at=region) == ["modified", "created"]
        assert scene.read(made, at=region).content == "kept"


def test_half_a_rename_that_cannot_be_finished_now_comes_again(scene: Scene) -> None:
    half_renamed(scene)
    key = str(scene.cloud.pending[0].key)
    with scene.struck_by(Strike(Fault.REFUSED, "peers.call")), pytest.raises(Unavailable):
        arrived(scene, key)
    assert scene.paths() == ["/a"]
    arrived(scene, key)
    assert scene.paths() == ["/b"]


def test_half_a_rename_whose_helper_could_not_log_it_is_logged_by_its_own_event(scene: Scene) -> None:
    """The helper puts the other half, and no more; the next version may be built on what the indexer projects then."""
    half_renamed(scene)
    before, key = scene.journaled(), str(scene.cloud.pending[0].key)
    with scene.struck_by(Strike(Fault.REFUSED, "index.commit")):
        arrived(scene, key)
    assert scene.paths() == ["/b"]
    assert {name for name in scene.log_keys() if name not in before} == set(scene.journaled()) - set(before)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_in_a_replica_the_halves_of_a_rename_may_come_in_either_order_and_count_as_one(
    scene: Scene, order: tuple[int, int]
) -> None:
    made = scene.create("/a", "kept")
    scene.deliver()
    scene.update(made, path="/b")
    events = list(scene.cloud.pending)
    scene.drop_events()
    for position in order:
        event = events[position]
        scene.cloud.buckets.replicate(event, AWAY)
        arrived(scene, event.key, AWAY)
        assert len(scene.paths(at=AWAY)) == 1, "at one path at every moment"
    assert scene.paths(at=AWAY) == ["/b"]


def test_a_replica_never_finishes_anybodys_rename(scene: Scene) -> None:
    half_renamed(scene)
    (event,) = scene.cloud.pending
    scene.cloud.buckets.replicate(event, AWAY)
    arrived(scene, event.key, AWAY)
    assert all(key.startswith(f"{HOME}/") for key in scene.cloud.buckets.page(AWAY, f"{HOME}/log/", None, 99).keys)
    assert len(scene.log_keys(HOME)) == 2, "the source slot is still free"
    assert scene.paths(at=AWAY) == ["/a"]


def test_helping_with_what_is_not_there_helps_nobody(scene: Scene) -> None:
    key = f"us-east-1/log/{scene.store}/{'0' * 64}/{SLOT}"
    assert peerwriter_calls(scene.at(HOME))({"call": "help", "key": key}) == {"settled": []}


def test_a_rename_in_a_store_that_was_deleted_meanwhile_is_left_alone(scene: Scene) -> None:
    half_renamed(scene)
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.deliver()
    assert len([key for key in scene.log_keys() if parse_key(key)]) == 2
