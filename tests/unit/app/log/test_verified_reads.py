"""A text that was changed behind Memolith's back is answered from another copy, or called damaged; never shown."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from memolith.adapters.layered import CallCounts, Fault, Strike
from memolith.app.kernel.results import Memory, StoreToAttach, VersionFilter
from memolith.core.errors import Damaged, Unavailable
from memolith.core.objects.entry import Entry
from memolith.ports.objects import StoredObject
from tests.unit.app.scene import AWAY, HOME, Scene

TRUE, FALSE = "the true text", "a false text"
FAR = "ap-south-1"

Change = Callable[[StoredObject], StoredObject | None]


def recomputed(found: StoredObject) -> StoredObject:
    """Another text, whose hash the metadata has too."""
    sha = hashlib.sha256(FALSE.encode()).hexdigest()
    return replace(found, body=FALSE.encode(), metadata={**found.metadata, "sha": sha}, size_bytes=len(FALSE))


CHANGES: dict[str, Change] = {
    "altered": lambda found: replace(found, body=FALSE.encode(), size_bytes=len(FALSE)),
    "truncated": lambda found: replace(found, body=found.body[:4], size_bytes=4),
    "not text": lambda found: replace(found, body=b"\xff\xfe", size_bytes=2),
    "recomputed": recomputed,
    "another version": lambda found: replace(found, metadata={**found.metadata, "id": "memver_" + "0" * 26}),
    "no metadata": lambda found: replace(found, metadata={}),
    "missing": lambda found: None,
}


@pytest.fixture
def scene() -> Scene:
    return Scene((HOME, AWAY, FAR))


@pytest.fixture
def memory(scene: Scene) -> Memory:
    made = scene.create("/a", TRUE)
    scene.deliver()
    return made


def damage(scene: Scene, change: Change, *regions: str) -> str:
    """Change the one version's copies in these regions; return its key."""
    [key] = scene.log_keys(HOME)
    for region in regions:
        found = scene.cloud.buckets.current(region, key)
        assert found is not None
        scene.cloud.buckets.damage(region, key, change(found))
    return key


def counted(scene: Scene) -> int:
    return scene.cloud.metrics.total("objects_damaged")


def all_reads(scene: Scene, memory: Memory, at: str) -> list[str | None]:
    """The text as every operation of one region that shows texts has it."""
    site, call = scene.at(at), scene.call()
    session = site.sessions.create(
        call, [StoreToAttach(scene.store, "read_only", "")], title=None, metadata={}, token_lifetime_s=3_600
    )
    context = site.sessions.context(call, session.record.session_id, refresh=True)
    [listed] = scene.page(at=at, full=True).items
    [version] = scene.versions(at=at, full=True).items
    [packed] = site.bulk_read.page(call, scene.store, after=None).items
    hits = site.search.search(call, scene.store, query="text", limit=5).items
    assert isinstance(listed, Memory)
    assert FALSE not in context.text
    assert [hit.excerpt for hit in hits] in ([TRUE], [""], [])
    return [listed.content, version.content, packed.content]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_damaged_copy_is_answered_from_a_whole_one_and_counted(
    scene: Scene, memory: Memory, change: Change, at: str
) -> None:
    damage(scene, change, at)
    assert scene.read(memory, at=at).content == TRUE
    assert scene.version(memory.version_id, at=at).content == TRUE
    assert all_reads(scene, memory, at) == [TRUE] * 3
    if change is not CHANGES["missing"] or at == HOME:
        assert counted(scene) >= 2


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_third_region_is_asked_where_the_homes_copy_is_damaged_too(
    scene: Scene, memory: Memory, change: Change
) -> None:
    damage(scene, change, HOME, AWAY)
    assert scene.read(memory, at=AWAY).content == scene.read(memory, at=HOME).content == TRUE


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("at", [HOME, AWAY])
def test_without_a_whole_copy_the_text_is_called_damaged_and_listings_go_on(
    scene: Scene, memory: Memory, change: Change, at: str
) -> None:
    key = damage(scene, change, HOME, AWAY, FAR)
    for read in (lambda: scene.read(memory, at=at), lambda: scene.version(memory.version_id, at=at)):
        with pytest.raises(Damaged, match="memolith repair") as raised:
            read()
        assert (raised.value.object, raised.value.version_id) == (key, memory.version_id)
        assert raised.value.region in (HOME, at)
    assert all_reads(scene, memory, at) == [None] * 3
    [listed] = scene.page(at=at, full=True).items
    [version] = scene.versions(at=at, full=True).items
    assert isinstance(listed, Memory)
    assert listed.damaged
    assert version.damaged
    assert not scene.page(at=at).items[0].damaged  # type: ignore[union-attr]  # a memory, and no folder


def test_a_context_says_that_a_text_is_damaged(scene: Scene) -> None:
    scene.create("/MEMORY.md", TRUE)
    scene.deliver()
    attached = [StoreToAttach(scene.store, "read_only", "")]
    session = scene.at(HOME).sessions.create(scene.call(), attached, title=None, metadata={}, token_lifetime_s=3_600)
    damage(scene, CHANGES["altered"], HOME, AWAY, FAR)
    shown = scene.at(HOME).sessions.context(scene.call(), session.record.session_id, refresh=False)
    assert "is damaged" in shown.text
    assert FALSE not in shown.text


def test_a_rename_copies_the_true_text_or_none(scene: Scene, memory: Memory) -> None:
    damage(scene, CHANGES["altered"], HOME)
    assert scene.update(memory, path="/b", full=True).content == TRUE


def test_a_rename_of_a_text_that_is_lost_is_refused_and_changes_nothing(scene: Scene, memory: Memory) -> None:
    damage(scene, CHANGES["recomputed"], HOME, AWAY, FAR)
    with pytest.raises(Damaged):
        scene.update(memory, path="/b")
    assert scene.paths() == ["/a"]
    assert scene.update(memory, "a new text", full=True).content == "a new text"


def test_a_region_that_does_not_answer_may_have_the_whole_copy(scene: Scene, memory: Memory) -> None:
    damage(scene, CHANGES["altered"], HOME, AWAY)
    refused = Strike(Fault.REFUSED, "objects.get", occurrence=3)
    with scene.struck_by(refused), pytest.raises(Unavailable) as raised:
        scene.read(memory, at=AWAY)
    assert not isinstance(raised.value, Damaged)
    assert scene.read(memory, at=AWAY).content == TRUE


def test_a_whole_copy_costs_one_get_and_counts_nothing(scene: Scene, memory: Memory) -> None:
    with scene.intercepted_by(counts := CallCounts()):
        scene.read(memory)
    assert counts.requests["s3.GetObject"] == 1
    assert counted(scene) == 0


def test_a_pack_whose_text_is_not_the_acknowledged_one_is_passed_over(scene: Scene, memory: Memory) -> None:
    site = scene.at(HOME)
    assert [hit.excerpt for hit in site.search.search(scene.call(), scene.store, query="text", limit=5).items] == [TRUE]
    held = site._pack_cache._held[scene.store].pack
    [document] = held.documents([memory.id])
    held.change([replace(document, content=FALSE)], [])
    assert held.contents([memory.id]) == {memory.id: FALSE}
    assert site.bulk_read.page(scene.call(), scene.store, after=None).items[0].content == TRUE
    [hit] = site.search.search(scene.call(), scene.store, query="text", limit=5).items
    assert hit.excerpt == TRUE


def test_an_erased_text_is_not_damaged(scene: Scene, memory: Memory) -> None:
    scene.update(memory, "a new text")
    scene.redact(memory.version_id)
    [_, first] = (
        scene.at(HOME)
        .versions.page(scene.call(), scene.store, VersionFilter(memory_id=memory.id), limit=9, after=None, full=True)
        .items
    )
    assert (first.content, first.damaged) == (None, False)
    assert counted(scene) == 0
    assert all(isinstance(entry, Entry) for entry in scene.entries())
