"""When what is done once in a while is due."""

from __future__ import annotations

import pytest

from memolith.core.times import is_due, not_ahead

HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("began_us", "due"),
    [
        (None, True),
        (10 * HOUR_US, False),
        (9 * HOUR_US + 1, False),
        (9 * HOUR_US, True),
        (0, True),
        (10 * HOUR_US + 5_000_000, False),
        (11 * HOUR_US - 1, False),
        (11 * HOUR_US, True),
        (8_000 * HOUR_US, True),
    ],
)
def test_a_pass_is_due_an_interval_after_it_began_or_where_it_began_an_interval_ahead(
    began_us: int | None, due: bool
) -> None:
    assert is_due(began_us, 10 * HOUR_US, HOUR_US) is due


@pytest.mark.parametrize(("instant_us", "counts"), [(None, 0), (9, 9), (10, 10), (11, 0)])
def test_an_instant_that_is_still_to_come_says_nothing_of_what_is_done(instant_us: int | None, counts: int) -> None:
    assert not_ahead(instant_us, 10) == counts
