"""For how long a call holds the session that it extracts: no model is asked about it by two at once."""

from __future__ import annotations

import pytest

from memolith.app.api.extraction import LEASE_US
from memolith.core.errors import Busy
from memolith.ports.model import CALL_TIMEOUT_S
from tests.api.dreams.stage import Stage, choose
from tests.unit.app.api.test_automatic import another_process, told, wait

LAST_US = LEASE_US - round(CALL_TIMEOUT_S * 1_000_000)
"""How long after its claim a call may ask the model for the last time."""


def test_a_session_stays_held_while_a_model_takes_the_longest_that_its_answer_and_its_repair_may() -> None:
    stage = Stage()
    session_id = told(stage)
    refused: list[Busy] = []

    def meanwhile() -> None:
        stage.scene.clock.advance(2 * CALL_TIMEOUT_S)
        with pytest.raises(Busy) as raised:
            another_process(stage).extractions.extract(stage.scene.call(), session_id)
        refused.append(raised.value)

    stage.model.before = meanwhile
    assert stage.memolith.extractions.extract(stage.scene.call(), session_id).outcome == "proposed"
    assert (len(refused), len(stage.model.asks)) == (1, 1)
    assert session_id in str(refused[0])


def test_a_model_is_not_asked_for_a_caller_so_late_that_its_answer_comes_after_the_session_is_held() -> None:
    stage = Stage()
    session_id = told(stage)
    claimed_us = stage.scene.clock.now_us()
    stage.memolith.extractions.extract(stage.scene.call(), session_id)
    assert [ask.until_us for ask in stage.model.asks] == [claimed_us + LAST_US]


@pytest.mark.parametrize(
    ("allowed_us", "told_us"), [(None, LAST_US), (LAST_US + 1, LAST_US), (LAST_US - 1, LAST_US - 1)]
)
def test_an_extraction_by_itself_asks_neither_after_its_session_is_held_nor_after_its_process_ends(
    allowed_us: int | None, told_us: int
) -> None:
    stage = Stage()
    choose(stage, auto_extract="propose", idle_hours=1)
    told(stage)
    wait(stage, 2)
    claimed_us = stage.scene.clock.now_us()
    until_us = None if allowed_us is None else claimed_us + allowed_us
    assert stage.memolith.automatic.run(stage.scene.store, until_us).extracted == {"proposed": 1}
    assert [ask.until_us for ask in stage.model.asks] == [claimed_us + told_us]


def test_a_session_of_a_call_that_died_is_extracted_once_its_lease_is_over() -> None:
    stage = Stage()
    session_id = told(stage)

    def die() -> None:
        raise SystemExit

    stage.model.before = die
    with pytest.raises(SystemExit):
        stage.memolith.extractions.extract(stage.scene.call(), session_id)
    stage.model.before = lambda: None
    stage.scene.clock.advance(LEASE_US / 1e6)
    assert another_process(stage).extractions.extract(stage.scene.call(), session_id).outcome == "proposed"
