"""A slot is written once: an object that was put over a taken one is reported, and changes no row and no journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call
from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.results import Memory
from memolith.core.commands import UpdateMemory, to_payload
from memolith.core.decide import sha256_hex
from memolith.core.errors import PreconditionFailed
from memolith.core.objects.entry import Entry
from memolith.wire.rpc import peerwriter_calls
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

T = TypeVar("T")
FORGED = "nobody wrote this"
TEXTS = ("first", "second", "third")
Change = Callable[[Entry, Entry], Entry]
"""What to put in the place of a victim, which may be made from another entry."""


def entry_of(scene: Scene, version_id: str) -> Entry:
    return next(one for one in scene.entries() if one.version_id == version_id)


def rows(scene: Scene, at: str) -> dict[str, object]:
    return {table: dict(scene.cloud.rows(at, table)) for table in (*INDEXED, "journal")}


def overwritten(scene: Scene, entry: Entry, at: str, text: str = FORGED) -> str:
    """Somebody with rights on the bucket puts this over an object, with metadata that fits it."""
    entry = replace(entry, content_sha256=sha256_hex(text), content_size_bytes=len(text.encode()))
    MemoryErasableObjects(scene.cloud.buckets, at).erase(str(entry.key), text.encode(), entry.to_metadata())
    return str(entry.key)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def versions(scene: Scene) -> list[Memory]:
    """Three versions of one memory, and one of another."""
    first = scene.create("/a", TEXTS[0])
    made = [first, *(scene.update(first, text) for text in TEXTS[1:]), scene.create("/b", "beside")]
    scene.deliver()
    return made


@pytest.mark.parametrize("at", [HOME, AWAY])
@pytest.mark.parametrize("victim", [0, 1, 2], ids=["the first version", "one between", "the head"])
@pytest.mark.parametrize(
    "change",
    [
        lambda entry, other: entry,
        lambda entry, other: replace(entry, trust="u"),
        lambda entry, other: replace(entry, generation=entry.generation + 7),
        lambda entry, other: replace(entry, version_id="memver_forged"),
        lambda entry, other: replace(entry, version_id="memver_forged", generation=99),
        lambda entry, other: replace(entry, version_id="memver_forged", memory_id="mem_forged", arrived=entry.slot),
        lambda entry, other: replace(other, key=entry.key),
        lambda entry, other: replace(other, key=entry.key, path=entry.path),
    ],
    ids=[
        "another text",
        "another trust class",
        "a later generation",
        "another version",
        "another, later version",
        "another memory",
        "another path's version",
        "another memory's version",
    ],
)
def test_the_event_of_an_altered_slot_changes_no_row_and_no_journal(
    scene: Scene, versions: list[Memory], at: str, victim: int, change: Change
) -> None:
    entry, other = entry_of(scene, versions[victim].version_id), entry_of(scene, versions[3].version_id)
    before, forged = rows(scene, at), overwritten(scene, change(entry, other), at)
    with pytest.raises(Malformed, match="changed after it was acknowledged") as told:
        scene.cloud.sites[at].indexing.object_arrived(forged)
    assert told.value.key == forged
    assert rows(scene, at) == before
    assert scene.version(versions[victim].version_id, at=at).content == TEXTS[victim]
    assert scene.read(versions[0], at=at).content == TEXTS[2]


# ---- what a home tells another region -------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "trust"), [(FORGED, None), ("fourth", "u")], ids=["another text", "another class"])
def test_a_region_that_the_home_refuses_is_not_told_of_an_object_put_over_the_head(
    scene: Scene, versions: list[Memory], text: str, trust: str | None
) -> None:
    head = scene.update(versions[0], "fourth")
    entry = entry_of(scene, head.version_id)
    overwritten(scene, replace(entry, trust=trust or entry.trust), HOME, text)
    with pytest.raises(PreconditionFailed):
        scene.update(versions[0], "fifth", expected=sha256_hex("of long ago"), at=AWAY)
    seen = scene.read(versions[0], at=AWAY)
    assert (seen.content, seen.trust) == (TEXTS[2], head.trust)


def test_a_region_that_the_home_refuses_is_told_of_an_altered_head_from_the_copy_that_is_whole(
    scene: Scene, versions: list[Memory]
) -> None:
    undo = scene.remember_index(AWAY)
    head = scene.update(versions[0], "fourth")
    scene.deliver()
    undo()
    overwritten(scene, entry_of(scene, head.version_id), HOME)
    with pytest.raises(PreconditionFailed):
        scene.update(versions[0], "fifth", expected=sha256_hex("of long ago"), at=AWAY)
    assert scene.read(versions[0], at=AWAY).content == "fourth"


def test_a_call_that_arrives_twice_is_not_answered_with_an_object_put_over_its_version(
    scene: Scene, versions: list[Memory]
) -> None:
    region = scene.cloud.sites[AWAY].region
    actor = scene.call().credentials.actor
    command = UpdateMemory(scene.store, versions[0].id, region.new_id("memver"), actor, "fourth", None)
    payload = {"call": "write", "workspace_id": WORKSPACE, **to_payload(command)}
    assert peerwriter_calls(scene.at(HOME))(payload)["refusal"] is None
    overwritten(scene, entry_of(scene, command.version_id), HOME)
    assert peerwriter_calls(scene.at(HOME))(payload)["error"]["type"] == "OutcomeUnknown"


def test_a_region_whose_write_comes_second_at_the_home_is_not_told_of_an_object_put_over_the_first(
    scene: Scene, versions: list[Memory]
) -> None:
    theirs: list[Memory] = []

    def overtaken(call: Call, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and not theirs:
            theirs.append(versions[0])
            theirs[0] = scene.update(versions[0], "theirs")
            overwritten(scene, entry_of(scene, theirs[0].version_id), HOME)
        return act()

    with scene.intercepted_by(overtaken):
        mine = scene.update(versions[0], "mine", at=AWAY, full=True)
    assert (mine.content, scene.read(versions[0], at=AWAY).content) == ("mine", "mine")
    assert theirs[0].version_id not in {row["version_id"] for row in scene.cloud.rows(AWAY, "versions").values()}
