"""The session of a dream that began by itself: callers are shown it like any other."""

from __future__ import annotations

import pytest

from memolith.core.objects.run_record import ANY_SCHEDULED
from tests.api.dreams.stage import Stage, choose
from tests.unit.app.api.test_automatic import dream, told


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize("author", sorted(ANY_SCHEDULED))
def test_the_session_of_a_dream_that_began_by_itself_is_listed_retrieved_changed_and_ended(
    stage: Stage, author: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is what earlier releases recorded. No answer could show it: the list of sessions stayed a 500."""
    monkeypatch.setattr("memolith.app.api.dreams.SCHEDULED", author)
    choose(stage, auto_dream="propose", dream_min_sessions=1)
    asked = told(stage)
    session_id = dream(stage).session_id
    sessions = stage.client.beta.sessions
    by = {"type": "service_account_actor", "service_account_id": "schedule"}
    assert sessions.retrieve(session_id).to_dict()["created_by"] == by
    assert [one.id for one in sessions.list()] == [session_id, asked]
    assert sessions.update(session_id, title="a dream").title == "a dream"
    assert sessions.archive(session_id).status == "terminated"
