"""Of which trust class it is what a session taught, where it is extracted by itself."""

from __future__ import annotations

import pytest

from memolith.app.kernel.results import StoreToAttach
from tests.api.dreams.stage import Stage, choose
from tests.unit.app.api.test_automatic import RULE, look, open_proposals, say, told, wait
from tests.unit.app.scene import AWAY


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_what_a_session_of_strangers_words_teaches_is_no_more_trusted_than_they(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    session_id = told(stage)
    stage.memolith.session_trust.lower(stage.workspace, session_id, "d")
    stage.scene.deliver()
    wait(stage, 7)
    assert look(stage).extracted == {"proposed": 1}
    [proposal] = open_proposals(stage)
    found = stage.memolith.proposals.retrieve(stage.scene.call(), stage.scene.store, proposal.id)
    assert [edit.trust for edit in found.edits or ()] == ["d"]


def test_what_a_session_teaches_where_its_services_key_has_not_arrived_is_of_unknown_class(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    stage.scene.deliver()
    away, pending = stage.scene.at(AWAY), stage.scene.cloud.pending
    issued = away.api_keys.create(stage.workspace, "n", "write", holder="service")
    pending.clear()
    session_id = away.sessions.create(
        stage.scene.call(issued.api_key),
        [StoreToAttach(stage.scene.store, "read_write", "")],
        title=None,
        metadata={},
        token_lifetime_s=3_600,
    ).record.session_id
    stage.scene.deliver()
    say(stage, session_id, RULE)
    wait(stage, 7)
    assert look(stage).extracted == {"proposed": 1}
    [proposal] = open_proposals(stage)
    found = stage.memolith.proposals.retrieve(stage.scene.call(), stage.scene.store, proposal.id)
    assert [edit.trust for edit in found.edits or ()] == [None]
