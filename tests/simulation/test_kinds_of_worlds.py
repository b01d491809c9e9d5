"""Every promise is kept in worlds of the kinds that are about one fault each (`tests.simulation.kinds`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.kinds import (
    conflicting,
    contradicting,
    crossing,
    deciding,
    disagreeing,
    emptied,
    joining,
    losing,
    mixed,
    redacting,
    repeating,
    scattering,
    telling,
    visiting,
    working,
)
from tests.simulation.options import Options
from tests.simulation.test_worlds import OF_A_KIND, check_all


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [disagreeing, visiting, joining, conflicting, deciding, crossing, redacting, contradicting]
)
def test_every_promise_is_kept_in_worlds_of_one_fault(kind: Callable[[int], Options]) -> None:
    check_all(list(OF_A_KIND), kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [losing, emptied, repeating, scattering, telling, mixed, working])
def test_every_promise_is_kept_where_nobody_repairs_or_tells(kind: Callable[[int], Options]) -> None:
    check_all(list(OF_A_KIND), kind)
