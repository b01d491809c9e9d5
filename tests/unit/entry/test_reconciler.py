"""The reconciler's comparisons: one call makes all of them, and one that fails stops no other and is not hidden."""

from __future__ import annotations

import pytest

from memolith.adapters.memory import ManualClock
from memolith.app.index.resumable_scan import ScanProgress
from memolith.core.errors import Unavailable
from memolith.entry.compose_reconciler import Comparison, dispatch
from tests.support.cloud import Cloud

SEEN = ScanProgress(looked_at=3, repaired=1, finished=True)


def compare(**comparisons: Comparison) -> object:
    reconciling = Cloud(("us-east-1",)).sites["us-east-1"].reconciling
    return dispatch(reconciling, lambda event: comparisons, ManualClock())({"call": "compare"}, None)


def test_a_call_answers_with_what_each_comparison_saw() -> None:
    seen = {"looked_at": 3, "repaired": 1, "finished": True}
    assert compare(one=lambda until_us: SEEN, other=lambda until_us: SEEN) == {"one": seen, "other": seen}


def test_one_that_fails_stops_no_other_and_fails_the_call() -> None:
    made: list[int] = []

    def fail(until_us: int) -> ScanProgress:
        raise Unavailable("not now")

    def see(until_us: int) -> ScanProgress:
        made.append(until_us)
        return SEEN

    with pytest.raises(Unavailable):
        compare(one=fail, other=see)
    assert len(made) == 1
