"""A failing world shrinks to the operations that it takes, and to no fault that it does not take."""

from __future__ import annotations

import pytest

from tests.simulation.checkers import Violation
from tests.simulation.evidence import Evidence
from tests.simulation.options import drawn
from tests.simulation.shrinking import case_of, run, shrink

SEED = 6


def a_second_path_is_created(evidence: Evidence) -> list[Violation]:
    """Object to every world in which two paths were created."""
    made = {one.asked["path"] for one in evidence.history.operations if one.kind == "create" and one.acknowledged}
    return [Violation("a_second_path_is_created", "/".join(sorted(made)))] if len(made) > 1 else []


@pytest.mark.guards
def test_a_failure_that_takes_two_operations_shrinks_to_two() -> None:
    failure = run(case_of(SEED, drawn(SEED)), a_second_path_is_created)
    assert failure is not None
    small = shrink(failure, tries=120, checked=a_second_path_is_created)
    assert small.checkers == failure.checkers
    assert small.case.operations == 2 < failure.case.operations
