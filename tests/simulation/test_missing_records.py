"""Records that never arrive where a row shows them already, from an answer or from another record: they are fetched.

docs/operations/replication-failed.md: a region's reconciler copies what its homes' checkpoints name and it does not
have. Promise 28: the texts of a proposal go from every region. S3 gives up on a replica, as in `test_missing_objects`.
"""

from __future__ import annotations

import pytest

from memolith.app.api.dreams import DreamRequest
from memolith.app.kernel.results import StoreToAttach
from memolith.core.objects.run_record import UPDATE_EXISTING
from tests.simulation.lost_objects import assert_waited_for_and_fetched, lose, minutes
from tests.simulation.moving_stage import AWAY, HOME, MovingStage
from tests.simulation.resolutions import _page, statement
from tests.simulation.test_brought_proposals import Desk
from tests.simulation.test_redacted_proposals import RedactedDesk


@pytest.fixture
def stage() -> MovingStage:
    stage = MovingStage()
    minutes(stage, 2)
    return stage


def test_the_texts_of_a_proposal_go_where_the_order_to_erase_them_never_arrived() -> None:
    """A version that it wrote is redacted through the region, which knows of the order from its home's answer."""
    desk = RedactedDesk()
    stage = desk.stage
    minutes(stage, 3)
    stage.redact(desk.version_id, AWAY)
    told_us = stage.clock.now_us()
    lost = lose(stage, "/proposal/")
    stage.deliver()
    assert stage.found("proposed", AWAY), "or this test shows nothing"
    [order] = [event for event in lost if event.key.endswith("/0000000006")]
    assert_waited_for_and_fetched(stage, [order], told_us)
    assert stage.found("proposed", AWAY) == []
    desk.assert_at_rest("approved", "harmless")


def test_the_texts_of_a_proposal_go_where_the_event_alone_of_the_order_to_erase_them_was_lost() -> None:
    desk = RedactedDesk()
    stage = desk.stage
    minutes(stage, 3)
    stage.redact(desk.version_id, AWAY)
    lost = lose(stage, "/proposal/")
    stage.deliver()
    stage.cloud.buckets.replicate(next(event for event in lost if event.key.endswith("/0000000006")), AWAY)
    stage.cloud.pending.clear()
    assert stage.found("proposed", AWAY), "or this test shows nothing"
    minutes(stage, 4)
    assert stage.found("proposed", AWAY) == []
    desk.assert_at_rest("approved", "harmless")


def test_a_proposal_that_was_opened_through_a_region_is_there_once_its_home_is_lost() -> None:
    desk = Desk()
    stage = desk.stage
    minutes(stage, 3)
    desk.id = desk.open(AWAY, content="second").id
    told_us = stage.clock.now_us()
    assert_waited_for_and_fetched(stage, lose(stage, "/proposal/"), told_us)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
        assert desk.do("approve", AWAY).status == "approved"
    desk.assert_at_rest("approved", "second")


def test_a_resolution_that_a_region_knows_from_an_answer_is_fetched_too(stage: MovingStage) -> None:
    for number in (0, 1):
        stage.create(f"/{number}.md", statement(number))
    stage.deliver()
    minutes(stage)
    (conflict,) = _page(stage.memolith(AWAY), stage.call(), stage.store)
    versions = [side.version_id for side in conflict.sides]
    resolve = stage.memolith(AWAY).conflict_resolutions.resolve
    resolve(stage.call(), stage.store, conflict.id, version_ids=versions, keep="both")
    told_us = stage.clock.now_us()
    assert_waited_for_and_fetched(stage, lose(stage, "/resolution/"), told_us)


def test_the_record_of_a_dream_that_a_region_knows_from_an_answer_is_fetched_too(stage: MovingStage) -> None:
    request = DreamRequest(stage.store, (), "slow", behavior=UPDATE_EXISTING)
    dream = stage.memolith(HOME).dreams.create(stage.call(), request)
    stage.deliver()
    minutes(stage)
    stage.memolith(AWAY).dreams.cancel(stage.call(), dream.run_id)
    told_us = stage.clock.now_us()
    assert_waited_for_and_fetched(stage, lose(stage, "/run/"), told_us)


def test_the_beginning_of_a_session_is_fetched_though_a_change_made_its_row(stage: MovingStage) -> None:
    """The beginning alone has the session's context; the change was made in the region, which looked it up at home."""
    stage.create("/a", "first")
    stage.deliver()
    minutes(stage)
    session = stage.memolith(HOME).sessions.create(
        stage.call(), [StoreToAttach(stage.store, "read_write", "")], title="t", metadata={}, token_lifetime_s=60
    )
    told_us = stage.clock.now_us()
    session_id = session.record.session_id
    stage.memolith(AWAY).sessions.update(stage.call(), session_id, title="changed", metadata={})
    [began] = [event for event in lose(stage, "/session/") if event.region == HOME]
    assert_waited_for_and_fetched(stage, [began], told_us)
    with stage.dead(HOME):
        stage.memolith(AWAY).sessions.context(stage.call(), session_id, refresh=False)
