"""First halves of renames whose events come while a fail-over has put its first record and has no snapshot yet.

Their home is none any more by that record, so that it completes nothing; and nothing says yet whether they came late.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from memolith.core.errors import Unavailable
from tests.simulation.moving_stage import AWAY, HOME, MovingStage
from tests.simulation.stage import PUT, Actor
from tests.simulation.take_overs import logged


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


class Redelivered:
    """The event of an object that its own home put: it comes again until it was handled, and never after that."""

    def __init__(self, stage: MovingStage, key: str) -> None:
        self._stage = stage
        (self._put,) = [event for event in stage.held if event.key == key]
        stage.held.remove(self._put)
        self.is_handled = False

    def comes(self) -> bool:
        """Wake the home's indexer, unless it has handled the event before. Return whether it is handled by now."""
        if not self.is_handled:
            with suppress(Unavailable):
                self._stage.index(self._put.key, self._put.region)
                self.is_handled = True
        return self.is_handled

    def ends(self) -> None:
        """Everything else arrives, copies of the object too; the event comes once more if that is needed."""
        for region in self._stage.cloud.regions:
            if region != self._put.region:
                self._stage.cloud.buckets.replicate(self._put, region)
        self._stage.come_late()
        assert self.comes()
        self._stage.deliver()


def _half_put(stage: MovingStage) -> tuple[str, Actor[str], str]:
    """A memory at `/a`, whose renamer to `/b` has put its first half, and the key of that; its event has not come."""
    memory = stage.create("/a", "one")
    stage.deliver()
    renamer = stage.actor(lambda: stage.update(memory.id, "MOVED", path="/b").version_id).until(PUT, occurrence=2)
    (half,) = logged(stage)
    stage.hold_back()
    return memory.id, renamer, half


def _begun(stage: MovingStage) -> Actor[None]:
    """A fail-over to `AWAY` that has put its first record, of which `HOME` has heard, and has listed nothing yet."""
    operator = stage.actor(lambda: stage.fail_over(AWAY))
    operator.until(PUT, after=True).until("index.commit", after=True)
    records = [event.key for event in stage.hold_back() if "/store/" in event.key]
    stage.reach(HOME, *records)
    assert (stage.home(HOME), stage.state(HOME)) == (AWAY, "moving")
    return operator


def _assert_at(stage: MovingStage, path: str, memory_id: str, text: list[str]) -> None:
    """The memory is at one path everywhere, and the text of its rename stands in these objects of each region."""
    for region in stage.cloud.regions:
        assert stage.listed(region) == {path: memory_id}
        assert stage.found("MOVED", region) == text, region


@pytest.mark.parametrize("replicated", [True, False])
def test_half_a_rename_that_nobody_ends_waits_for_the_snapshot_and_is_erased_then(
    stage: MovingStage, replicated: bool
) -> None:
    memory_id, renamer, half = _half_put(stage)
    renamer.die()
    if replicated:
        stage.reach(AWAY, half)
    event, operator = Redelivered(stage, half), _begun(stage)
    assert not event.comes() and not event.comes()
    assert stage.found("MOVED", HOME) == [half]
    operator.finish()
    event.ends()
    _assert_at(stage, "/a", memory_id, [])
    stage.at_rest()


@pytest.mark.parametrize("replicated", ["nothing", "the first half", "both halves"])
@pytest.mark.parametrize("again", ["before the snapshot", "after it"])
def test_a_rename_that_its_writer_ends_meanwhile_is_done_once_or_stands_apart(
    stage: MovingStage, again: str, replicated: str
) -> None:
    """The writer had read the store's record before it named another home; its event is handled from then on."""
    memory_id, renamer, half = _half_put(stage)
    if replicated != "nothing":
        stage.reach(AWAY, half)
    event, operator = Redelivered(stage, half), _begun(stage)
    assert not event.comes()
    renamed = renamer.finish()
    ends = [put.key for put in stage.hold_back() if "/log/" in put.key]
    if replicated == "both halves":
        stage.reach(AWAY, *ends)
    if again == "before the snapshot":
        assert event.comes()
    operator.finish()
    event.ends()
    done = replicated == "both halves"
    _assert_at(stage, "/b" if done else "/a", memory_id, [half])
    histories = [stage.history(memory_id, region) for region in stage.cloud.regions]
    assert [ids.count(renamed) for ids in histories] == [int(done)] * 3
    stage.at_rest(divergent=[] if done else [renamed])


@pytest.mark.parametrize("replicated", ["nothing", "the first half", "both entries"])
def test_half_a_rename_whose_source_another_writer_takes_meanwhile_is_erased(
    stage: MovingStage, replicated: str
) -> None:
    """That writer too had read the record before. If the new home begins with both entries, only the event that failed
    leads back to the half.
    """
    memory_id, renamer, half = _half_put(stage)
    renamer.die()
    if replicated != "nothing":
        stage.reach(AWAY, half)
    rival = stage.actor(lambda: stage.update(memory_id, "two").version_id).until(PUT)
    event, operator = Redelivered(stage, half), _begun(stage)
    assert not event.comes()
    updated = rival.finish()
    taken = [put.key for put in stage.hold_back() if "/log/" in put.key]
    if replicated == "both entries":
        stage.reach(AWAY, *taken)
    operator.finish()
    event.ends()
    _assert_at(stage, "/a", memory_id, [])
    assert [stage.history(memory_id, region)[0] for region in stage.cloud.regions] == [updated] * 3
    stage.at_rest()


@pytest.mark.parametrize("ended", [True, False])
def test_half_a_rename_is_not_left_where_its_home_takes_over_again_before_that_snapshot(
    stage: MovingStage, ended: bool
) -> None:
    """The operator died. What the home's writer ends counts in its next term; what nobody ends is erased."""
    memory_id, renamer, half = _half_put(stage)
    event, operator = Redelivered(stage, half), _begun(stage)
    assert not event.comes()
    operator.die()
    renamed = [renamer.finish()] if ended else []
    if not ended:
        renamer.die()
    with stage.dead(AWAY):
        stage.fail_over(HOME, old=AWAY)
    event.ends()
    _assert_at(stage, "/b" if ended else "/a", memory_id, [half] if ended else [])
    assert [id for id in stage.history(memory_id) if id in renamed] == renamed
    stage.at_rest()
