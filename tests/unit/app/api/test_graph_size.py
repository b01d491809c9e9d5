"""However much memories say, one answer about the graph can be sent: it is cut at its end, and says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memolith.core.graph.note import OBSERVATIONS_MAX
from memolith.core.limits import GRAPH_MAX_BYTES, LIST_MAX_FULL_BYTES
from memolith.wire import graph_views
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched

NOTES = 40
TAGS = "".join(f"- {number}{'é' * 240}\n" for number in range(64))
HEAD = f"---\ntags:\n{TAGS}---\n# Note"
LONG = "あ" * 1_900


def bytes_of(answer: Any) -> int:
    return len(json.dumps(answer, ensure_ascii=False).encode())


@pytest.fixture(scope="module")
def scene() -> Searched:
    made = Searched()
    made.create("/hub.md", "# Hub\n\nIn the middle.\n")
    for number in range(NOTES):
        said = "".join(f"- [fact] {line} {LONG}\n" for line in range(12))
        made.create(f"/notes/{number}.md", f"{HEAD} {number}\n\n- part_of [[Hub]]\n{said}")
    for number, value in ((1, "30"), (2, "60")):
        said = "".join(f"- [limit] The limit of [[Queue {line}]] is {value} s\n" for line in range(60))
        made.create(f"/limits/{number}.md", f"{HEAD} of limits {number}\n\n{said}")
    made.deliver()
    return made


@pytest.mark.slow
def test_what_is_linked_with_a_memory_fits_into_an_answer_that_says_that_there_is_more(scene: Searched) -> None:
    asked: dict[str, Any] = {"direction": "both", "depth": 1, "types": (), "limit": 100}
    answer = scene.at(HOME).graph.reach(scene.call(), scene.store, root="Hub", **asked)
    assert 10 < len(answer.nodes) < NOTES + 1
    assert answer.truncated
    assert {edge.source_id for edge in answer.edges} <= {node.memory_id for node in answer.nodes}
    assert bytes_of(graph_views.graph(answer, 0)) < 1.2 * GRAPH_MAX_BYTES


@pytest.mark.slow
def test_a_folder_with_all_around_it_fits_into_an_answer_that_shows_every_memory_of_the_page(scene: Searched) -> None:
    asked: dict[str, Any] = {"depth": 1, "since": None, "page": 1, "page_size": NOTES, "max_related": 10}
    answer = scene.at(HOME).graph.context(scene.call(), scene.store, url="notes/*", **asked)
    assert len(answer.items) == NOTES
    assert answer.items[0].observations
    assert [one.truncated for one in answer.items][-1]
    assert not answer.items[-1].observations
    assert bytes_of(graph_views.context(answer, 0, {})) < 1.2 * LIST_MAX_FULL_BYTES


@pytest.mark.slow
def test_observations_fit_into_an_answer_with_the_memories_that_they_are_of(scene: Searched) -> None:
    asked: dict[str, Any] = {"category": "fact", "tag": None, "valid_at": None, "query": None, "limit": 100}
    answer = scene.at(HOME).graph.observations(scene.call(), scene.store, **asked)
    assert 10 < len(answer.observations) < 100
    assert answer.truncated
    assert {one.memory_id for one in answer.observations} == {node.memory_id for node in answer.nodes}
    assert bytes_of(graph_views.observations(answer, 0)) < 1.2 * GRAPH_MAX_BYTES


@pytest.mark.slow
def test_conflicts_fit_into_an_answer_with_both_sides_of_each(scene: Searched) -> None:
    asked: dict[str, Any] = {"path_prefix": None, "superseded": False, "limit": 100}
    answer = scene.at(HOME).conflicts.page(scene.call(), scene.store, **asked)
    assert 5 < len(answer.items) < 60
    assert answer.truncated
    assert bytes_of(graph_views.conflicts(answer, 0)) < 1.2 * GRAPH_MAX_BYTES


def test_a_context_has_every_observation_of_its_memory() -> None:
    scene = Searched()
    scene.create("/many.md", "".join(f"- [fact] {number}\n" for number in range(OBSERVATIONS_MAX)))
    asked: dict[str, Any] = {"depth": 1, "since": None, "page": 1, "page_size": 10, "max_related": 10}
    [item] = scene.at(HOME).graph.context(scene.call(), scene.store, url="many.md", **asked).items
    assert [one.text for one in item.observations] == [str(number) for number in range(OBSERVATIONS_MAX)]
    assert not item.truncated
