"""An index that is not known to be complete says so: what it knows it serves, what it does not know it answers 503."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import MemoryDatabase, MemoryIndex
from memolith.app.kernel.results import Memory
from memolith.core.errors import NotFound, Unavailable
from memolith.core.ids import ulid
from memolith.core.rows.control import ControlRow
from memolith.ports import errors as port_errors
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

UNKNOWN = f"mem_{ulid(1, bytes(10))}"


def set_control(scene: Scene, control: ControlRow | None, region: str = HOME) -> None:
    index = MemoryIndex(scene.cloud.sites[region].database)
    after = None if control is None else control.to_attributes()
    index.commit([Change(ControlRow.KEY, None, after, unconditional=True)])


INCOMPLETE = ControlRow(serving=1, complete=False)


@pytest.fixture(params=["said to be incomplete", "no control row at all"])
def control(request: pytest.FixtureRequest) -> ControlRow | None:
    return INCOMPLETE if request.param == "said to be incomplete" else None


def test_known_ids_are_served(scene: Scene, control: ControlRow | None) -> None:
    made = scene.create("/a", "text")
    set_control(scene, control)
    assert scene.read(made).content == "text"
    assert scene.version(made.version_id).content == "text"
    assert scene.at(HOME).stores.retrieve(scene.call(), scene.store).name == "notes"


def test_known_memories_take_updates_and_deletions(scene: Scene, control: ControlRow | None) -> None:
    made = scene.create("/a", "first")
    set_control(scene, control)
    assert scene.update(made, "second", full=True).content == "second"
    scene.delete(made)
    with pytest.raises(NotFound):
        scene.read(made)


def test_what_it_does_not_know_is_unavailable_and_never_not_found(scene: Scene, control: ControlRow | None) -> None:
    set_control(scene, control)
    for attempt in (
        lambda: scene.read(UNKNOWN),
        lambda: scene.update(UNKNOWN, "x"),
        lambda: scene.delete(UNKNOWN),
        lambda: scene.version(UNKNOWN.replace("mem_", "memver_")),
        lambda: scene.redact(UNKNOWN.replace("mem_", "memver_")),
    ):
        with pytest.raises(Unavailable, match="rebuilt"):
            attempt()


def test_listings_creations_and_renames_wait(scene: Scene, control: ControlRow | None) -> None:
    made = scene.create("/a", "text")
    set_control(scene, control)
    for attempt in (
        lambda: scene.paths(),
        lambda: scene.versions(),
        lambda: scene.versions(memory_id=made.id),
        lambda: scene.stores(),
        lambda: scene.create("/b"),
        lambda: scene.update(made, path="/b"),
    ):
        with pytest.raises(Unavailable, match="rebuilt"):
            attempt()
    assert len(scene.log_keys()) == 1


def test_a_replica_that_is_incomplete_hands_on_writes_of_what_it_does_not_know(scene: Scene) -> None:
    made = scene.create("/a", "first")
    scene.drop_events()
    set_control(scene, INCOMPLETE, AWAY)
    assert scene.update(made, "second", at=AWAY, full=True).content == "second"
    assert scene.read(made, at=AWAY).content == "second"


def rows_of(database: MemoryDatabase, table: str, generation: int) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Every row of one table but its mark, which is no version's."""
    rows = database.table(table, generation).order.rows
    return {key: row for key, (_, _, row) in rows.items() if key[0] != "mark"}


def test_while_a_generation_is_being_built_every_fold_and_claim_goes_to_both(scene: Scene) -> None:
    scene.cloud.tables(HOME).make(2)
    set_control(scene, ControlRow(serving=1, complete=False, building=2))
    scene.cloud.sites[HOME].region.index.read([ControlRow.KEY])
    store = scene.create_store("made meanwhile")
    key = scene.cloud.key(region=HOME)
    database = scene.cloud.sites[HOME].database
    for table, wanted in (("stores", store.id), ("keys", f"apikey_{key.split('-')[3]}")):
        assert wanted in repr(database.table(table, 2).order.rows)
    set_control(scene, ControlRow(serving=1, complete=True, building=2))
    made = scene.create("/a", "text")
    scene.update(made, path="/b")
    scene.redact(made.version_id)
    for table in ("memories", "logs", "paths", "versions"):
        assert rows_of(database, table, 2) == rows_of(database, table, 1)


def test_a_claim_stands_in_both_generations_until_its_put(scene: Scene) -> None:
    scene.cloud.tables(HOME).make(2)
    set_control(scene, ControlRow(serving=1, complete=True, building=2))
    database = scene.cloud.sites[HOME].database
    seen: list[int] = []

    def look(call: PortCall, act: Callable[[], Any]) -> Any:
        if call.name == "objects.put_if_absent":
            seen.extend(len(rows_of(database, "paths", generation)) for generation in (1, 2))
        return act()

    with scene.intercepted_by(look):
        scene.create("/a")
    assert seen == [1, 1]


def test_a_process_follows_a_switch_with_the_next_call(scene: Scene) -> None:
    made = scene.create("/a", "text")
    scene.cloud.tables(HOME).make(2)
    set_control(scene, ControlRow(serving=1, complete=True, building=2))
    scene.update(made, "newer")
    scene.create_store("in both")
    set_control(scene, ControlRow(serving=2, complete=False))
    assert scene.read(made).content == "newer"
    assert scene.cloud.sites[HOME].region.index.generation == 2


def switched_and_dropped(scene: Scene) -> Memory:
    """A memory whose text, ``newer``, the second generation has: it serves, and the first is gone."""
    made = scene.create("/a", "text")
    scene.cloud.tables(HOME).make(2)
    set_control(scene, ControlRow(serving=1, complete=True, building=2))
    scene.update(made, "newer")
    set_control(scene, replace(INCOMPLETE, serving=2))
    scene.cloud.tables(HOME).drop(1)
    return made


def test_a_process_that_slept_through_a_switch_and_the_drop_finds_the_tables_that_serve(scene: Scene) -> None:
    made = switched_and_dropped(scene)
    assert scene.read(made).content == "newer"


def test_of_two_threads_that_slept_through_a_switch_neither_is_misled_by_the_other(scene: Scene) -> None:
    """One has found the tables that serve while the other still waits for the answer of those that are gone."""
    made = switched_and_dropped(scene)
    region = scene.cloud.sites[HOME].region

    def meanwhile(call: PortCall, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except port_errors.Unavailable:
            region.index = region.index.at(2)
            raise

    with scene.intercepted_by(meanwhile):
        assert scene.read(made).content == "newer"


def test_tables_that_are_gone_are_unavailable_and_not_empty(scene: Scene) -> None:
    scene.create("/a")
    scene.cloud.tables(HOME).drop(1)
    for attempt in (lambda: scene.paths(), lambda: scene.read(UNKNOWN), lambda: scene.create("/b")):
        with pytest.raises(Unavailable):
            attempt()
