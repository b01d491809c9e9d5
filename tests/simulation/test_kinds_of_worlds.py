"""Every promise is kept in worlds of the kinds that are about one fault each (`tests.simulation.kinds`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.kinds import (
    conflicting,
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
    visiting,
    working,
)
from tests.simulation.options import Options
from tests.simulation.test_worlds import check_all


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [(disagreeing, 8), (visiting, 8), (joining, 8), (conflicting, 12), (deciding, 4), (crossing, 4), (redacting, 4)],
)
def test_every_promise_is_kept_in_worlds_of_one_fault(kind: Callable[[int], Options], seeds: int) -> None:
    check_all(list(range(seeds)), kind)


@pytest.mark.parametrize(
    ("kind", "seeds"), [(losing, 10), (emptied, 10), (repeating, 10), (scattering, 10), (mixed, 10), (working, 10)]
)
def test_every_promise_is_kept_where_nobody_repairs_or_tells(kind: Callable[[int], Options], seeds: int) -> None:
    check_all(list(range(seeds)), kind)
