"""Defects planted on purpose, to show that each checker fires: a checker that has never failed has shown nothing.

Each is a context manager that puts a subclass, or a function, in the place of the product's own while a world runs.
Nothing of this is in the product.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.bugs import commits, completeness, erasing, folding, homes, jobs, reading, resolutions
from tests.simulation.bugs.planting import Bug
from tests.simulation.shrinking import case_of, run

__all__ = ["BUGS", "Bug", "caught_by", "hunt"]

BUGS: tuple[Bug, ...] = (
    *commits.BUGS,
    *folding.BUGS,
    *reading.BUGS,
    *erasing.BUGS,
    *completeness.BUGS,
    *homes.BUGS,
    *jobs.BUGS,
    *resolutions.BUGS,
)


def hunt(bug: Bug, seeds: Iterable[int]) -> tuple[int, frozenset[str]] | None:
    """The first seed at which one of the expected checkers catches it, and every checker that does."""
    for seed in seeds:
        with bug.plant():
            failure = run(case_of(seed, bug.options(seed)))
        if failure is not None and failure.checkers & set(bug.caught_by):
            return seed, failure.checkers
    return None


def caught_by(bug: Bug, caught: tuple[int, frozenset[str]]) -> str:
    """The checkers that were to catch it, and did."""
    return ", ".join(f"`{name}`" for name in bug.caught_by if name in caught[1])
