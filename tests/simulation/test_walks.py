"""Walks through calls, copies, moves and fail-overs, a few of which wait: at rest nothing is lost and nothing differs.

A world interleaves many calls and strikes them with faults. A walk strikes none, and is some twenty times as fast. What
it varies is which objects had reached which region when a home was lost, what the next home did then, and where a call
stood still while others went on. Hypothesis draws the walks, and tells the shortest that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from memolith.app.api.divergent import Divergent
from memolith.core.errors import MemolithError
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.stage import Actor
from tests.support.examples import examples

T = TypeVar("T")
REGIONS = (HOME, AWAY, THIRD)
PATHS = ("/a", "/b")
WEIGHTS = {
    "create": 4,
    "rewrite": 10,
    "rename": 12,
    "delete": 4,
    "redact": 6,
    "restore": 3,
    "dismiss": 1,
    "reach": 10,
    "move": 2,
    "fail_over": 7,
    "begin": 20,
    "go_on": 10,
    "index": 4,
    "wait": 2,
}
"""How often each step is drawn: the methods of `Walk`. Failures need several changes between two homes."""

CALLS = ("rewrite", "rename", "create", "delete", "redact", "restore", "dismiss", "move", "index")
"""What `begin` begins. The operator who has a region take over waits for its answer."""

PAUSES_S = (0.5, 3, 6, 12, 40)
"""Shorter and longer than a claim of a path, than a lease, and than a move waits for one."""

Step = tuple[str, int, int]
STEPS: st.SearchStrategy[Step] = st.tuples(
    st.sampled_from([name for name, weight in WEIGHTS.items() for _ in range(weight)]),
    st.integers(min_value=0, max_value=(1 << 12) - 1),
    st.integers(min_value=0, max_value=(1 << 12) - 1),
)
"""A step, and two numbers that say on what: each chooses from a list that only the walk knows, or bit by bit."""


class Walk:
    """One store and two paths. What is refused is refused: only what was acknowledged has to be there at rest."""

    def __init__(self) -> None:
        self.stage = MovingStage()
        self.home = HOME
        self.memories = [self.stage.create("/a", "text 0").id]
        self.texts = 0
        self.waiting: list[Actor[None]] = []

    def text(self) -> str:
        self.texts += 1
        return f"text {self.texts}"

    def memory(self, number: int) -> str:
        return self.memories[number % len(self.memories)]

    def under_way(self) -> list[str]:
        """The keys of what has not reached every region, in the order in which they were put."""
        return list(dict.fromkeys(event.key for event in (*self.stage.held, *self.stage.cloud.pending)))

    def create(self, path: int, _: int) -> None:
        self.memories.append(self.stage.create(PATHS[path % 2], self.text(), self.home).id)

    def rewrite(self, number: int, _: int) -> None:
        self.stage.update(self.memory(number), self.text(), region=self.home)

    def rename(self, number: int, path: int) -> None:
        text = self.text() if path % 8 == 0 else None
        self.stage.update(self.memory(number), text, PATHS[path % 2], region=self.home)

    def delete(self, number: int, _: int) -> None:
        self.stage.delete(self.memory(number), self.home)

    def redact(self, number: int, age: int) -> None:
        versions = self.stage.history_of(self.memory(number), self.home)
        if versions:
            self.stage.redact(versions[age % len(versions)].id, self.home)

    def restore(self, number: int, _: int) -> None:
        """An admin restores a divergent version."""
        for version_id in chosen(self.stage.divergent(self.home), number):
            self._decisions.restore(self.stage.call(), self.stage.store, version_id, full=False)

    def dismiss(self, number: int, _: int) -> None:
        """An admin dismisses a divergent version."""
        for version_id in chosen(self.stage.divergent(self.home), number):
            self._decisions.dismiss(self.stage.call(), self.stage.store, version_id)

    @property
    def _decisions(self) -> Divergent:
        return self.stage.memolith(self.home).divergent

    def reach(self, number: int, region: int) -> None:
        """One to three of the objects that are under way come to one region."""
        for key in chosen(self.under_way(), number, many=1 + region // 3 % 3):
            self.stage.reach(REGIONS[region % 3], key)

    def move(self, to: int, _: int) -> None:
        region = REGIONS[to % 3]
        self._becomes_home(region, lambda: self.stage.operate(region, "homes.move"))

    def fail_over(self, to: int, arrived: int) -> None:
        """The home dies. Of what is in its logs the next home has some; it has every record and cut."""
        region, old = REGIONS[to % 3], self.home
        if region == old:
            return
        self.stage.hold_back()
        for number, key in enumerate(self.under_way()):
            if not ("/log/" in key or "/redaction/" in key) or arrived >> number % 12 & 1:
                self.stage.reach(region, key)
        with self.stage.dead(old):
            self._becomes_home(region, lambda: self.stage.operate(region, "homes.fail_over", old=old))

    def _becomes_home(self, region: str, ask: Callable[[], dict[str, object]]) -> None:
        if ask().get("state") in ("moved", "at home"):
            self.home = region

    def index(self, number: int, _: int) -> None:
        """One event comes, of whichever object and region."""
        if pending := self.stage.cloud.pending:
            self.stage.cloud.deliver_one(number % len(pending))

    def wait(self, number: int, _: int) -> None:
        self.stage.clock.advance(PAUSES_S[number % len(PAUSES_S)])

    def begin(self, number: int, calls: int) -> None:
        """A call begins, and stands still after one to twelve of its port calls."""
        name, number = CALLS[number % len(CALLS)], number // len(CALLS)
        self.waiting.append(self.stage.actor(lambda: self.do(name, number, calls // 12)))
        self._go_on(self.waiting[-1], 1 + calls % 12)

    def go_on(self, number: int, calls: int) -> None:
        """A call that stands still goes on: to its end, or for one to twelve port calls."""
        for actor in chosen(self.waiting, number):
            self._go_on(actor, None if calls % 2 else 1 + calls // 2 % 12)

    def _go_on(self, actor: Actor[None], calls: int | None) -> None:
        while not actor.done and calls != 0:
            actor.step()
            calls = None if calls is None else calls - 1
        if actor.done:
            self.waiting.remove(actor)
            if actor.error is not None:
                raise actor.error

    def do(self, name: str, first: int, second: int) -> None:
        """Do one step. What is refused is refused."""
        with suppress(MemolithError):
            getattr(self, name)(first, second)

    def end(self) -> None:
        while self.waiting:
            self._go_on(self.waiting[0], None)
        self.stage.come_late()
        self.stage.end_what_was_begun()
        self.stage.at_rest(divergent=None, gaps=True)


def chosen(names: Sequence[T], number: int, many: int = 1) -> Sequence[T]:
    """The one of that number, and those after it; none of none."""
    first = number % len(names) if names else 0
    return names[first : first + many]


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(delivered=st.booleans(), steps=st.lists(STEPS, min_size=8, max_size=24))
def test_nothing_is_lost_and_nothing_differs_whatever_had_arrived_as_homes_changed(
    delivered: bool, steps: list[Step]
) -> None:
    walk = Walk()
    if delivered:
        walk.stage.deliver()
    for step in steps:
        walk.do(*step)
    walk.end()
