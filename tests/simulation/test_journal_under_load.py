"""How long writes take where DynamoDB's transactions hold their rows, and conflict: simulated time, the real code.

Five hundred updates a second of five hundred memories arrive at random at one region's writers. Each of them is the
whole use case. Objects, reads and transactions take the time that they are given here; everything else takes none.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from statistics import quantiles
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call
from memolith.adapters.memory import MemoryIndex
from memolith.core.rows.journal import SHARDS_MIN, JournalStateRow
from tests.simulation import tasks
from tests.simulation.options import Options
from tests.simulation.world import World

T = TypeVar("T")
WRITES_PER_S = 500
SECONDS = 4
HOLD_S = 0.020
READ_S, PUT_S, COMMIT_S = 0.005, 0.020, 0.005
HOME = "us-east-1"


class Loaded(World):
    """One region whose ports take time. Nothing fails but what conflicts."""

    def __init__(self) -> None:
        super().__init__(0, Options(regions=(HOME,), clients=0, operations=0, hold_s=HOLD_S))
        self.slow = False
        self.tries = 0

    def _hold(self) -> None:
        if self.slow:
            self.scheduler.sleep(HOLD_S)

    def _around(self, call: Call, act: Callable[[], T]) -> T:
        if not self.slow:
            return act()
        self.tries += call.name == "index.commit"
        delays = {"index.commit": COMMIT_S, "objects.put_if_absent": PUT_S}
        self.scheduler.sleep(delays.get(call.name, READ_S))
        return act()

    def update(self, memory_id: str, content: str, took_s: list[float]) -> None:
        began_us = self.scheduler.now_us
        self.sites[HOME].use(
            lambda sandbox: sandbox.memolith.memories.update(
                self.call(),
                self.stores[0],
                memory_id,
                content=content,
                path=None,
                expected_content_sha256=None,
                full=False,
            )
        )
        took_s.append((self.scheduler.now_us - began_us) / 1_000_000)


def under_load(seed: int = 0) -> tuple[Loaded, list[float]]:
    """Write at full rate from an idle journal; return how long each write took."""
    chance = random.Random(f"load {seed}")
    world = Loaded()
    world.set_up()
    site = world.sites[HOME]
    memories = [
        site.use(
            lambda sandbox, number=number: sandbox.memolith.memories.create(  # type: ignore[misc]  # a lambda with a default has no type
                world.call(), world.stores[0], path=f"/{number}", content="x", full=False
            )
        ).id
        for number in range(WRITES_PER_S)
    ]
    for _ in range(8):  # a journal that has been idle for long
        site.use(lambda sandbox: sandbox.reconciling.tick())
        world.scheduler.now_us += 60_000_000
    took_s: list[float] = []
    world.slow = True
    writes: list[tasks.Task] = []

    def arrive() -> None:
        for number in range(WRITES_PER_S * SECONDS):
            world.scheduler.sleep(chance.expovariate(WRITES_PER_S))
            write = partial(world.update, memories[number % len(memories)], f"text {number}", took_s)
            writes.append(world.scheduler.spawn("write", write))

    world.scheduler.spawn("arrivals", arrive)
    world.scheduler.run(steps_max=2_000_000)
    assert [write.error for write in writes if write.error is not None] == []
    return world, took_s


@pytest.fixture
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of a task takes no time: what takes time says so."""
    monkeypatch.setattr(tasks, "STEP_US", (0, 1))


def p99(took_s: list[float]) -> float:
    return quantiles(took_s, n=100)[98]


@pytest.mark.usefixtures("in_no_time")
@pytest.mark.slow
def test_five_hundred_writes_a_second_that_begin_at_once_commit_within_300_ms_at_a_hold_of_20_ms() -> None:
    world, took_s = under_load()
    assert len(took_s) == WRITES_PER_S * SECONDS
    assert p99(took_s) <= 0.3, f"p99 {p99(took_s):.3f} s, {world.tries / len(took_s):.2f} transactions each"
    assert world.tries / len(took_s) < 2
    assert world.struck["transactions in conflict"] > 0, "nothing conflicted: the simulation shows nothing"
    journal = MemoryIndex(world.sites[HOME].database).read([JournalStateRow.key(HOME)])[JournalStateRow.key(HOME)]
    assert journal["shards"] > SHARDS_MIN
