"""Tasks that are interleaved at port calls, and at nothing else.

Every call of a client, every invocation of a function, every copy on a link is a task: a greenlet that runs until it
meets a port, where it gives way. Which one goes on is drawn from the seed, so that the same seed is the same history.
Time is simulated: it passes a little with every step, and leaps when everybody sleeps.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from greenlet import getcurrent, greenlet

STEP_US = (100, 4_000)
"""How much time one step takes: from, to."""

_SPEEDS = (1.0, 1.0, 1.0, 4.0, 0.15)
"""How readily a task is chosen; some are slow all their life, so that others overtake them far."""


class Crash(BaseException):
    """The task is dead. No handler of the product may take it for an error."""


class Stuck(Exception):
    """Nothing came to rest within the bound: somebody waits, or tries again, for ever."""


@dataclass(eq=False, slots=True)
class Task:
    """One thread of control. `error` is what ended it; a `Crash` is one way to end, and comes at the deadline."""

    name: str
    body: Callable[[], object]
    wake_us: int
    speed: float
    done: bool = False
    result: object = None
    error: BaseException | None = None
    awaited: Task | None = None
    deadline_us: int = 1 << 62
    greenlet: greenlet | None = field(default=None, repr=False)

    @property
    def crashed(self) -> bool:
        return isinstance(self.error, Crash)


class Scheduler:
    """Runs tasks, one step at a time."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.now_us = 0
        self.steps = 0
        self.current: Task | None = None
        self.tasks: list[Task] = []
        self._hub: greenlet | None = None

    def spawn(self, name: str, body: Callable[[], object], delay_s: float = 0.0, life_s: float | None = None) -> Task:
        """A new task, which begins after `delay_s`, and is dead after `life_s`."""
        begin_us = self.now_us + round(delay_s * 1_000_000)
        task = Task(name, body, begin_us, self.chance.choice(_SPEEDS))
        if life_s is not None:
            task.deadline_us = begin_us + round(life_s * 1_000_000)
        self.tasks.append(task)
        return task

    def tick(self) -> int:
        """A moment of its own: later than every one before it."""
        self.steps += 1
        return self.steps

    # ---- inside a task ------------------------------------------------------------------------------------------

    def give_way(self) -> None:
        """Lets others go first. Outside of tasks nothing happens: whoever sets up or checks is alone."""
        if self.current is not None:
            self._switch(self.current)

    def sleep(self, seconds: float) -> None:
        """Gives way for so long."""
        if self.current is not None:
            self.current.wake_us = self.now_us + round(seconds * 1_000_000)
            self._switch(self.current)

    def wait(self, task: Task, patience_s: float | None = None) -> bool:
        """Until `task` is done; False when patience ran out first. The task goes on all the same."""
        me = self.current
        if me is None:
            self.run(lambda: task.done)
            return True
        me.awaited = task
        until_us = 1 << 62 if patience_s is None else self.now_us + round(patience_s * 1_000_000)
        me.wake_us = min(until_us, me.deadline_us + 1)
        while not task.done and self.now_us < until_us:
            self._switch(me)
        me.awaited, me.wake_us = None, 0
        return task.done

    def _switch(self, task: Task) -> None:
        assert self._hub is not None
        self._hub.switch()
        if self.now_us > task.deadline_us:
            raise Crash

    # ---- the hub ------------------------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool] | None = None, steps_max: int = 400_000) -> None:
        """Steps until `until` holds, or, without it, until no task is left. Raises Stuck."""
        self._hub = getcurrent()
        for _ in range(steps_max):
            if until is not None and until():
                return
            if not self.tasks:
                return
            self._step()
        raise Stuck(f"after {steps_max} steps: {sorted({task.name for task in self.tasks})[:10]}")

    def _step(self) -> None:
        self.tick()
        self.now_us += self.chance.randrange(*STEP_US)
        now_us = self.now_us
        ready = [
            task
            for task in self.tasks
            if task.wake_us <= now_us or (task.awaited is not None and task.awaited.done)  # in line: the hottest of all
        ]
        if not ready:
            self.now_us = min(task.wake_us for task in self.tasks)
            return
        task = ready[0] if len(ready) == 1 else self.chance.choices(ready, [one.speed for one in ready])[0]
        self._resume(task)
        if task.done:
            self.tasks.remove(task)

    def _resume(self, task: Task) -> None:
        if task.greenlet is None:
            task.greenlet = greenlet(lambda: _live(task))
        self.current = task
        try:
            task.greenlet.switch()
        finally:
            self.current = None


def _live(task: Task) -> None:
    try:
        task.result = task.body()
    except (Crash, Exception) as error:  # noqa: BLE001 - whoever waits for the task raises it, or the world reports it
        task.error = error
    task.done = True
