"""Objects that S3 gives up on: how they are lost, waited for and fetched while the regions' reconcilers tick."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.adapters.memory import MemoryQueue, PutEvent
from memolith.app.replication.service import make_comparisons
from memolith.app.replication.watermark import FETCH_AFTER_US
from tests.simulation.moving_stage import AWAY, HOME, MovingStage

DAY_S = 24 * 3600


def minutes(stage: MovingStage, count: int = 1) -> None:
    """So many minutes pass: each region's reconciler is woken, and what is under way arrives."""
    for _ in range(count):
        stage.clock.advance(61)
        for region in stage.cloud.regions:
            stage.cloud.sites[region].reconciling.tick()
        stage.deliver()


def until(stage: MovingStage, region: str, home: str) -> int:
    """Up to when a region says that it has what a home acknowledged; as a process just started says it."""
    here = stage.cloud.sites[region].region
    here.completeness.clear()
    return here.view().complete_until_of([home]) or 0


def lose(stage: MovingStage, part: str, region: str = AWAY) -> list[PutEvent]:
    """S3 gives up on the replicas to one region of what is under way of this kind; all else arrives."""
    lost = [event for event in stage.cloud.pending if part in event.key and not event.replica]
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if event not in lost]
    assert lost
    for event in lost:
        for other in stage.cloud.regions:
            if other not in (event.region, region):
                stage.cloud.buckets.replicate(event, other)
        stage.index(event.key, event.region)
    return lost


def is_here(stage: MovingStage, event: PutEvent, region: str = AWAY) -> bool:
    return stage.cloud.buckets.current(region, event.key) is not None


def is_named(stage: MovingStage, event: PutEvent) -> bool:
    """Tell whether a checkpoint of the region that put an object names it."""
    bucket, home = stage.cloud.buckets, event.region
    parts = [key for key in stage.all_keys(home) if key.startswith(f"{home}/checkpoint/")]
    found = [bucket.current(home, key) for key in parts]
    return any(one is not None and event.key.encode() in one.body for one in found)


def assert_waited_for_and_fetched(
    stage: MovingStage,
    lost: Sequence[PutEvent],
    told_us: int,
    here: str = AWAY,
    home: str = HOME,
    others: Sequence[str] = (),
) -> None:
    """One region claims nothing that `home` acknowledged before it has fetched what it lacks; `others` have it."""
    minutes(stage, 4)
    assert until(stage, here, home) <= told_us, f"{here} says that it has what it lacks"
    assert all(until(stage, other, home) > told_us for other in others)
    stage.clock.advance(FETCH_AFTER_US / 1_000_000)
    minutes(stage, 3)
    assert until(stage, here, home) > told_us
    assert all(is_here(stage, event, here) for event in lost)


def compare(stage: MovingStage, region: str) -> list[int]:
    """A day later: how much the daily comparisons of what should be here have mended."""
    stage.clock.advance(DAY_S)
    here, queue = stage.cloud.sites[region].region, MemoryQueue()
    deadline_us = stage.clock.now_us() + 3_600_000_000
    compare = make_comparisons(here, queue)
    return [compare.listing.run(deadline_us).repaired, compare.checkpoints.run(deadline_us).repaired]
