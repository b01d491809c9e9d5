"""Conflicts that a later home resolved, resolved again in a region that shows that and has not heard of the home.

Promise 48: whoever decides later, in whichever region, is told what was decided.
"""

from __future__ import annotations

import pytest

from memolith.core.errors import InvalidRequest
from tests.simulation.moving_stage import AWAY, THIRD, MovingStage
from tests.simulation.resolutions import _page, statement
from tests.simulation.unheard_homes import seen_in, taken_over


def test_a_conflict_that_a_region_shows_as_resolved_is_not_resolved_otherwise_there() -> None:
    stage = MovingStage()
    for number in (0, 1):
        stage.create(f"/{number}.md", statement(number))
    taken_over(stage)
    (conflict,) = _page(stage.memolith(AWAY), stage.call(), stage.store)
    versions = [side.version_id for side in conflict.sides]
    kept = conflict.sides[0].statement_id

    def resolve(region: str, keep: str) -> object:
        resolve = stage.memolith(region).conflict_resolutions.resolve
        return resolve(stage.call(), stage.store, conflict.id, version_ids=versions, keep=keep)

    resolve(AWAY, kept)
    seen_in(stage, THIRD)
    assert _page(stage.memolith(THIRD), stage.call(), stage.store) == ()
    with pytest.raises(InvalidRequest, match="resolved already"):
        resolve(THIRD, "both")
