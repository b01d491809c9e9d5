"""Words are looked for in so many of the newest observations; an answer that looked at no more says that it is cut."""

from __future__ import annotations

import pytest

from memolith.app.api import graph
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched


@pytest.mark.parametrize(
    ("looked_at", "found", "truncated"),
    [(3, ["the wombat sleeps"], False), (2, [], True)],
    ids=["all were looked at", "more than are looked at"],
)
def test_words_that_were_not_looked_for_in_every_observation_give_a_truncated_answer(
    monkeypatch: pytest.MonkeyPatch, looked_at: int, found: list[str], truncated: bool
) -> None:
    monkeypatch.setattr(graph, "OBSERVATIONS_LOOKED_AT", looked_at)
    scene = Searched()
    scene.create("/old.md", "- [fact] the wombat sleeps\n")
    scene.clock.advance(1)
    scene.create("/new.md", "- [fact] one\n- [fact] two\n")
    scene.deliver()
    answer = scene.at(HOME).graph.observations(
        scene.call(), scene.store, category=None, tag=None, valid_at=None, query="wombat", limit=50
    )
    assert ([one.text for one in answer.observations], answer.truncated) == (found, truncated)
