"""A rebuild that is ended, repeated or meddled with comes to the same rows, or ends in words."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Crash, Fault, Faulty, ScriptedFaults, Strike
from memolith.adapters.memory import MemoryIndex
from memolith.app.homes.epoch_sweep import EpochSweep
from memolith.core.errors import Busy, Unavailable
from memolith.core.rows.control import ControlRow, SweepRow
from memolith.ports.index import Change
from tests.unit.app.failing import fail_over, fail_replays, hold_back
from tests.unit.app.indexer.rebuilds.rebuilding import Rebuilding, rows
from tests.unit.app.scene import AWAY, HOME, Scene


def test_a_batch_that_comes_twice_or_late_changes_nothing(scene: Scene) -> None:
    rebuilding = Rebuilding(scene)
    before = rows(scene)
    messages: list[str] = []
    rebuilding.meanwhile = lambda: messages.extend(rebuilding.queue.messages)
    rebuilding.run()
    assert messages
    for message in messages:
        rebuilding.handle(message)
    assert rows(scene) == before


@pytest.mark.parametrize("occurrence", range(1, 9))
def test_a_rebuild_that_died_is_taken_up_where_it_stopped(scene: Scene, occurrence: int) -> None:
    before = rows(scene)
    rebuilding = Rebuilding(scene)
    names = ["index.read", "index.commit", "objects.list", "index.count", "index.query"]
    strikes = [Strike(Fault.CRASH_AFTER, name, occurrence) for name in names]
    script = ScriptedFaults(*strikes)
    with scene.intercepted_by(Faulty(script)):
        for _ in range(len(strikes) + 1):
            try:
                rebuilding.run()
                break
            except Crash:
                continue
    Rebuilding(scene).run()
    assert rows(scene) == before


def test_of_two_rebuilds_at_once_the_later_goes_on_and_the_earlier_is_told(scene: Scene) -> None:
    before = rows(scene)
    rebuilding, other = Rebuilding(scene), Rebuilding(scene)
    served: list[int] = []

    def meddle() -> None:
        if rebuilding.queue.messages and not served:
            served.append(0)
            served[0] = other.run()

    rebuilding.meanwhile = meddle
    with pytest.raises(Busy, match="another rebuild"):
        rebuilding.run()
    assert served == [2], "one rebuild, of one generation"
    assert rows(scene) == before


def test_a_table_that_is_emptied_while_it_is_built_makes_the_rebuild_begin_anew(scene: Scene) -> None:
    before = rows(scene)
    rebuilding = Rebuilding(scene)

    def empty() -> None:
        if rebuilding.queue.messages:
            scene.cloud.sites[HOME].database.drop(2)
            scene.cloud.sites[HOME].database.make(2)
            rebuilding.meanwhile = lambda: None

    rebuilding.meanwhile = empty
    with pytest.raises(Unavailable, match="emptied"):
        rebuilding.run()
    assert Rebuilding(scene).run() == 2
    assert rows(scene) == before


def test_a_generation_that_changed_underneath_ends_the_rebuild(scene: Scene) -> None:
    rebuilding = Rebuilding(scene)
    changed = ControlRow(serving=1, complete=True, building=7).to_attributes()

    def meddle() -> None:
        MemoryIndex(scene.cloud.sites[HOME].database).commit([Change(ControlRow.KEY, None, changed, True)])

    rebuilding.meanwhile = meddle
    with pytest.raises(Busy, match="another rebuild"):
        rebuilding.run()


@pytest.mark.parametrize(
    "strike",
    [
        Strike(Fault.REFUSED, "objects.list"),
        Strike(Fault.REFUSED, "index.commit"),
        Strike(Fault.REFUSED, "index.read"),
        Strike(Fault.REFUSED, "index.count"),
        Strike(Fault.REFUSED, "index.query"),
    ],
    ids=lambda strike: str(strike.name),
)
def test_a_port_that_does_not_answer_ends_it_in_words_and_it_may_be_run_again(scene: Scene, strike: Strike) -> None:
    before = rows(scene)
    with scene.struck_by(strike), pytest.raises(Unavailable):
        Rebuilding(scene).run()
    Rebuilding(scene).run()
    assert rows(scene) == before


def test_a_store_whose_replay_fails_keeps_no_rebuild_from_its_end_and_is_replayed_later(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = scene.create("/late", "one")
    scene.deliver()
    scene.update(memory, "two")
    held = hold_back(scene)
    fail_over(scene)
    rebuilding = Rebuilding(scene, AWAY)

    def arrive() -> None:
        rebuilding.meanwhile = lambda: None
        scene.cloud.pending.extend(held)
        scene.deliver()

    rebuilding.meanwhile = arrive
    with monkeypatch.context() as patch:
        fail_replays(patch, scene.store)
        assert rebuilding.run() == 2
    assert scene.read(memory, at=AWAY).content == "one", "otherwise this tests nothing"
    control = ControlRow.from_attributes(scene.cloud.rows(AWAY, "control")["control", "index"])
    assert (control.complete, control.retired) == (True, None)
    key = SweepRow.key(scene.store)
    assert (key.pk, key.sk) in scene.cloud.rows(AWAY, "control")
    sweeps = EpochSweep(scene.cloud.sites[AWAY].region, scene.cloud.sites[AWAY].indexing)
    scene.clock.advance(61)
    sweeps.run(scene.clock.now_us() + 1_000_000)
    assert scene.read(memory, at=AWAY).content == "two"
