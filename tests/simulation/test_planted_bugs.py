"""Each checker is shown to fire: a defect is planted, and has to be caught, by a checker that is meant for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.bugs import BUGS, Bug, hunt
from tests.simulation.shrinking import case_of, run, shrink

SEEDS = 250
"""How many worlds a defect may hide in. A change of the product moves the seed at which it is found, not the fact."""


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "_"))
def test_a_planted_defect_is_caught(bug: Bug, record_property: Callable[[str, object], None]) -> None:
    caught = hunt(bug, range(SEEDS))
    assert caught is not None, f"{bug.name}: none of {bug.caught_by} fired in {SEEDS} worlds"
    seed, checkers = caught
    record_property("seed", seed)
    record_property("caught_by", ", ".join(sorted(checkers)))
    failure = run(case_of(seed, bug.options(seed)))
    assert failure is None, f"seed {seed} fails without the defect: {failure}"


def test_a_failure_shrinks_to_what_it_takes() -> None:
    bug = next(bug for bug in BUGS if bug.name == "no claim")
    caught = hunt(bug, range(SEEDS))
    assert caught is not None
    with bug.plant():
        failure = run(case_of(caught[0]))
        assert failure is not None
        small = shrink(failure, tries=400)
    assert small.checkers & failure.checkers
    assert small.case.operations <= 4 < failure.case.operations
