"""Dreams that a later home ended, archived in a region that shows that and has not heard of the home."""

from __future__ import annotations

import pytest

from memolith.app.api.dreams import DreamRequest
from memolith.core.errors import Unavailable
from memolith.core.objects.run_record import UPDATE_EXISTING, DreamStatus, RunRecord
from tests.simulation.moving_stage import AWAY, THIRD, MovingStage
from tests.simulation.unheard_homes import seen_in, taken_over


def canceled_by_a_later_home(stage: MovingStage) -> RunRecord:
    request = DreamRequest(stage.store, (), "slow", behavior=UPDATE_EXISTING)
    dream = stage.memolith().dreams.create(stage.call(), request)
    taken_over(stage)
    stage.memolith(AWAY).dreams.cancel(stage.call(), dream.run_id)
    seen_in(stage, THIRD)
    shown = stage.memolith(THIRD).dreams.retrieve(stage.call(), dream.run_id)
    assert shown.status is DreamStatus.CANCELED, "or a test of this shows nothing"
    return shown


def test_a_dream_that_a_region_shows_as_canceled_is_archived_there() -> None:
    stage = MovingStage()
    dream = canceled_by_a_later_home(stage)
    assert stage.memolith(THIRD).dreams.archive(stage.call(), dream.run_id).archived_at is not None
    for region in (AWAY, THIRD):
        assert stage.memolith(region).dreams.retrieve(stage.call(), dream.run_id).archived_at is not None


def test_a_dream_that_a_region_shows_as_canceled_is_not_archived_while_that_home_does_not_answer() -> None:
    stage = MovingStage()
    dream = canceled_by_a_later_home(stage)
    with stage.dead(AWAY), pytest.raises(Unavailable):
        stage.memolith(THIRD).dreams.archive(stage.call(), dream.run_id)
