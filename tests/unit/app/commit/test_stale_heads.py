"""The index may be behind the log: nothing is answered that the log contradicts, not a refusal and not a no-op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.layered import Call
from memolith.app.kernel.results import Memory
from memolith.core.decide import sha256_hex
from memolith.core.errors import NotFound, PreconditionFailed
from memolith.core.fold import without_text
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.ports.errors import ObjectNotFound
from memolith.ports.index import Change
from tests.support.cloud import straight
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def made(scene: Scene) -> Memory:
    """The index knows `first` at ``/a``; the log says ``second`` at ``/b``."""
    memory = scene.create("/a", "first")
    restore = scene.remember_index()
    scene.update(memory, "second", path="/b")
    restore()
    return memory


def test_a_precondition_on_the_true_head_holds(scene: Scene, made: Memory) -> None:
    assert scene.update(made, "third", expected=sha256_hex("second"), full=True).content == "third"
    assert scene.history(made) == ["modified", "modified", "created"]


def test_a_precondition_on_the_stale_head_fails(scene: Scene, made: Memory) -> None:
    with pytest.raises(PreconditionFailed):
        scene.update(made, "third", expected=sha256_hex("first"))
    assert scene.read(made).content == "second", "and the refusal brought the index up to date"


def test_what_only_the_index_believes_to_be_so_is_changed(scene: Scene, made: Memory) -> None:
    changed = scene.update(made, "first", path="/a", full=True)
    assert (changed.content, changed.path) == ("first", "/a")
    assert scene.history(made) == ["modified", "modified", "created"]


def test_what_is_so_though_the_index_does_not_know_it_makes_no_version(scene: Scene, made: Memory) -> None:
    same = scene.update(made, "second", path="/b", full=True)
    assert (same.content, same.path) == ("second", "/b")
    assert scene.history(made) == ["modified", "created"]


@pytest.mark.parametrize("expected", [None, sha256_hex("second")])
def test_the_true_head_is_deleted(scene: Scene, made: Memory, expected: str | None) -> None:
    scene.delete(made, expected=expected)
    assert scene.paths() == []
    assert scene.history(made) == ["deleted", "modified", "created"]


def test_a_deletion_refused_on_the_stale_head_is_decided_on_the_true_one(scene: Scene, made: Memory) -> None:
    with pytest.raises(PreconditionFailed):
        scene.delete(made, expected=sha256_hex("first"))


@pytest.mark.parametrize("act", [lambda scene, id: scene.update(id, "x"), lambda scene, id: scene.delete(id)])
def test_a_memory_that_died_meanwhile_is_not_found(scene: Scene, act: Callable[[Scene, str], object]) -> None:
    memory = scene.create("/a", "first")
    restore = scene.remember_index()
    scene.delete(memory)
    restore()
    with pytest.raises(NotFound):
        act(scene, memory.id)
    assert scene.history(memory) == ["deleted", "created"]


def test_a_replica_that_does_not_know_of_a_redaction_yet_shows_no_text_that_is_gone_at_home(scene: Scene) -> None:
    """It has the row, and not yet the object: what it reads through from home is blank, which is not empty."""
    memory = scene.create("/a", "secret", at=AWAY)
    scene.update(memory, "harmless", at=HOME)
    scene.redact(memory.version_id, at=HOME)
    version = scene.version(memory.version_id, at=AWAY)
    assert version.content is None and version.redacted_at is None


# ---- older rows come back in the middle of a call -------------------------------------------------------------------


class Overtaken:
    """Others write just before a call's first `name`. Once it has caught up with them, its region loses that again.

    So it is where tables are emptied and the events of older entries come first.
    """

    def __init__(self, scene: Scene, name: str, meanwhile: Callable[[], object], restore: Callable[[], None]) -> None:
        self._scene, self._name, self._meanwhile, self._restore = scene, name, meanwhile, restore

    def __call__(self, call: Call, act: Callable[[], Any]) -> Any:
        if call.name == self._name:
            self._scene.switch.around = straight
            self._meanwhile()
            self._scene.switch.around = self._forget
        return act()

    def _forget(self, call: Call, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except ObjectNotFound:
            self._scene.switch.around = straight
            self._restore()
            raise


def overtaken(scene: Scene, name: str, meanwhile: Callable[[], object], restore: Callable[[], None]) -> Any:
    return scene.intercepted_by(Overtaken(scene, name, meanwhile, restore))


def test_a_change_that_lost_its_slot_is_not_decided_on_what_was_before_the_winner(scene: Scene) -> None:
    memory = scene.create("/a", "first")
    restore = scene.remember_index()

    def rival() -> None:
        scene.update(memory, "theirs")

    with overtaken(scene, "objects.put_if_absent", rival, restore), pytest.raises(PreconditionFailed):
        scene.update(memory, "mine", expected=sha256_hex("first"))
    assert scene.read(memory).content == "theirs"
    assert scene.history(memory) == ["modified", "created"]


def test_a_creation_is_not_refused_for_a_memory_that_was_at_its_path_before_what_it_has_seen_there(
    scene: Scene,
) -> None:
    gone = scene.create("/a", "first")
    restore = scene.remember_index()
    scene.delete(gone)
    there = scene.create("/a", "second")
    with overtaken(scene, "objects.head", lambda: scene.delete(there), restore):
        made = scene.create("/a", "mine")
    assert scene.read(made).content == "mine"
    assert scene.paths() == ["/a"]
    with pytest.raises(NotFound):
        scene.read(gone)


@pytest.mark.parametrize("comes", ["a creation", "a rename"])
def test_a_path_whose_memory_was_written_there_and_then_erased_is_free(scene: Scene, comes: str) -> None:
    """Its log goes on above the memory's arrival, which is all that the path's row says of it."""
    erased = scene.create("/a", "first")
    for text in ("second", "third"):
        scene.update(erased, text)
    key = MemoryRow.key(scene.store, erased.id)
    blank = without_text(MemoryRow.from_attributes(scene.cloud.rows(HOME, "memories")[key.pk, key.sk]))
    rows = {key: blank.to_attributes(), PathRow.key(scene.store, "/a"): None}
    index = scene.cloud.sites[HOME].region.index
    index.commit([Change(place, None, row, unconditional=True) for place, row in rows.items()])
    there = scene.create("/a", "mine") if comes == "a creation" else scene.create("/b", "mine")
    if comes == "a rename":
        scene.update(there, path="/a")
    assert scene.paths() == ["/a"]
    assert scene.read(there).content == "mine"
