"""A slot is written once: an object that was put over a taken one is reported, and changes no row and no journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.results import Memory
from memolith.core.decide import sha256_hex
from memolith.core.objects.entry import Entry
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

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
