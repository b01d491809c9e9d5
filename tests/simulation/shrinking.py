"""From a failing world to the smallest one that fails alike: fewer clients, fewer operations, fewer faults.

Whatever is left out changes the interleaving, so each candidate is tried under several schedules; one that fails is
enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

from memolith.adapters.layered import FaultRates
from tests.simulation.checkers import Violation, check
from tests.simulation.checkers.linearizability import Undecided
from tests.simulation.evidence import Evidence
from tests.simulation.options import Links, Options, drawn
from tests.simulation.plans import Plan, drawn_plans
from tests.simulation.tasks import Stuck
from tests.simulation.world import World

SCHEDULES = 25
VIOLATIONS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Case:
    """One world, fully given."""

    seed: int
    options: Options
    plans: tuple[Plan, ...]
    schedule: int = 0

    @property
    def operations(self) -> int:
        return sum(len(plan.steps) for plan in self.plans)


@dataclass(frozen=True, slots=True)
class Failure:
    """A case, and what is wrong with it."""

    case: Case
    violations: tuple[Violation, ...]
    history: tuple[str, ...]

    @property
    def checkers(self) -> frozenset[str]:
        return frozenset(violation.checker for violation in self.violations)

    def __str__(self) -> str:
        lines = [f"seed {self.case.seed}", _unlike(self.case.options), *self.history]
        broken = [str(violation)[:700] for violation in self.violations[:VIOLATIONS_SHOWN]]
        more = len(self.violations) - len(broken)
        return "\n".join([*lines, *broken, *([f"... and {more} more"] if more else [])])


def case_of(seed: int, options: Options | None = None) -> Case:
    """The world that a seed draws."""
    options = options or drawn(seed)
    return Case(seed, options, drawn_plans(seed, options))


def run(case: Case, checked: Callable[[Evidence], list[Violation]] = check) -> Failure | None:
    """What is wrong with one world, if anything is. A world that never comes to rest is wrong, too.

    So is one of which too many orders would have to be tried: it has not been shown to be right.
    """
    world = World(case.seed, case.options, case.plans, case.schedule)
    try:
        violations = checked(world.run())
    except Stuck as stuck:
        violations = [Violation("everything_comes_to_rest", str(stuck))]
    except Undecided as undecided:
        violations = [Violation("operations_are_linearizable", f"undecided: {undecided}")]
    return Failure(case, tuple(violations), tuple(world.history.lines())) if violations else None


def shrink(failure: Failure, tries: int = 1_500, checked: Callable[[Evidence], list[Violation]] = check) -> Failure:
    """The smallest failure of the same checkers that `tries` runs find."""
    left = tries
    smallest = failure
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(smallest.case):
            found, used = _fails_alike(candidate, failure.checkers, left, checked)
            left -= used
            if found is not None:
                smallest, progress = found, True
                break
            if left <= 0:
                return smallest
    return smallest


def _fails_alike(
    case: Case, checkers: frozenset[str], left: int, checked: Callable[[Evidence], list[Violation]]
) -> tuple[Failure | None, int]:
    for used in range(1, min(SCHEDULES, left) + 1):
        found = run(replace(case, schedule=(case.schedule + used - 1) % 1_000), checked)
        if found is not None and found.checkers & checkers:
            return found, used
    return None, min(SCHEDULES, left)


def _smaller(case: Case) -> Iterator[Case]:
    """Ever finer: without a client, without half of the operations, a quarter, …, without one; without one fault."""
    for plan in case.plans if len(case.plans) > 1 else ():
        yield replace(case, plans=tuple(other for other in case.plans if other is not plan))
    numbers = sorted(step.number for plan in case.plans for step in plan.steps)
    size = len(numbers) // 2
    while size:
        for start in range(0, len(numbers), size):
            yield _without(case, set(numbers[start : start + size]))
        size //= 2
    for options in _calmer(case.options):
        yield replace(case, options=options)


def _without(case: Case, numbers: set[int]) -> Case:
    plans = (plan.without(numbers) for plan in case.plans)
    return replace(case, plans=tuple(plan for plan in plans if plan.steps))


_CALM = Options()


def _calmer(options: Options) -> Iterator[Options]:
    """The options with one fault less."""
    for field in fields(FaultRates):
        if getattr(options.rates, field.name):
            yield replace(options, rates=replace(options.rates, **{field.name: 0.0}))
    for field in fields(Links):
        if getattr(options.links, field.name) != getattr(_CALM.links, field.name):
            yield replace(options, links=replace(options.links, **{field.name: getattr(_CALM.links, field.name)}))
    for name in (
        "late",
        "stall",
        "impatience",
        "batch_crash",
        "wipes",
        "rebuilds",
        "torn",
        "skew_s",
        "freezes",
        "lagging",
        "think_s",
        "day_s",
        "moves",
        "failovers",
        "paces",
    ):
        if getattr(options, name) != getattr(_CALM, name):
            yield replace(options, **{name: getattr(_CALM, name)})


def _unlike(options: Options) -> str:
    """What of the options is not as in a calm world."""
    unlike = [field.name for field in fields(Options) if getattr(options, field.name) != getattr(_CALM, field.name)]
    return ", ".join(f"{name}={getattr(options, name)}" for name in unlike) or "a calm world"


def first_failure(seeds: Sequence[int], options: Callable[[int], Options] = drawn) -> Failure | None:
    """The first seed that fails, if one does."""
    for seed in seeds:
        failure = run(case_of(seed, options(seed)))
        if failure is not None:
            return failure
    return None
