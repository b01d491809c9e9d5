"""What clients mean to do: drawn from the seed, before anybody is told anything."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.simulation.options import Options
from tests.simulation.resolutions import statement

_KINDS = (
    *("create", "write", "rename", "delete", "read", "list", "redact", "history", "withhold", "release", "past"),
    *("restore", "dismiss", "search", "bring", "session", "resolve"),
)
SHARED_TEXTS = ("shared text x.", "shared text y.")


@dataclass(frozen=True, slots=True)
class Step:
    """One intention. `pick` chooses among what is known when its time comes; `shared` is text that others write too.

    `stated` is what every text of its own ends with.
    """

    number: int
    kind: str
    store: int
    pick: int
    path: str
    shared: str | None
    careful: bool
    stated: str = ""

    def text(self, client: str) -> str:
        """A text that no other step writes."""
        return f"text {self.number} of {client}.{self.stated}"

    def __str__(self) -> str:
        return f"{self.kind} {self.path} pick={self.pick} {'careful' if self.careful else ''} {self.shared or ''}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one client will do, and where."""

    client: str
    region: str
    steps: tuple[Step, ...]

    def without(self, numbers: set[int]) -> Plan:
        return replace(self, steps=tuple(step for step in self.steps if step.number not in numbers))


def drawn_plans(seed: int, options: Options) -> tuple[Plan, ...]:
    """Every client's plan, from the seed."""
    chance = random.Random(f"plans {seed}")
    weights = [getattr(options.weights, kind) for kind in _KINDS]
    steps: dict[int, list[Step]] = {number: [] for number in range(options.clients)}
    for number in range(options.operations):
        kind = chance.choices(_KINDS, weights)[0] if number >= 2 else "create"
        step = Step(
            number=number,
            kind=kind,
            store=chance.randrange(options.stores),
            pick=chance.randrange(1000),
            path=f"/only-{number:02d}." if chance.random() < 0.08 else chance.choice(options.paths),
            shared=chance.choice(SHARED_TEXTS) if chance.random() < 0.15 else None,
            careful=chance.random() < 0.5,
            stated=statement(number) if options.disputed else "",
        )
        steps[chance.randrange(options.clients)].append(step)
    regions = [options.regions[number % len(options.regions)] for number in range(options.clients)]
    return tuple(
        Plan(f"c{number}", regions[number], tuple(steps[number])) for number in range(options.clients) if steps[number]
    )
