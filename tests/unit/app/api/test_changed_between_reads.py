"""A segment that changes between two reads for one answer: nothing of an old version is shown as the new one's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.sqlite.graph_tables import GraphTables
from memolith.app.kernel.graph_results import GraphAnswer
from memolith.app.search.packs import READ_ATTEMPTS
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched

TEXT = "# Ada\n\n- [limit] The timeout of [[Gateway]] is 30 s\n- uses [[Babbage]]\n"


def reach(scene: Searched) -> object:
    asked: dict[str, Any] = {"root": "babbage.md", "direction": "both", "depth": 1, "types": [], "limit": 9}
    return scene.at(HOME).graph.reach(scene.call(), scene.store, **asked).edges


def context(scene: Searched) -> object:
    asked: dict[str, Any] = {"depth": 1, "since": None, "page": 1, "page_size": 9, "max_related": 9}
    return [one.edges for one in scene.at(HOME).graph.context(scene.call(), scene.store, url="*", **asked).items]


def observations(scene: Searched) -> object:
    asked: dict[str, Any] = {"category": None, "tag": None, "valid_at": None, "query": "30", "limit": 9}
    return scene.at(HOME).graph.observations(scene.call(), scene.store, **asked).observations


def recall(scene: Searched) -> object:
    asked: dict[str, Any] = {"recent_tools": [], "loaded": [], "limit": 5, "max_tokens": 0}
    found: GraphAnswer = scene.at(HOME).recall.recall(scene.call(), scene.store, query="gateway timeout", **asked)
    return [one.path for one in found.nodes if one.path == "/ada.md"]


def conflicts(scene: Searched) -> object:
    asked: dict[str, Any] = {"path_prefix": None, "superseded": False, "limit": 9}
    return scene.at(HOME).conflicts.page(scene.call(), scene.store, **asked).items


@pytest.fixture
def scene() -> Searched:
    made = Searched()
    made.create("/babbage.md", "# Babbage\n")
    made.create("/gateway.md", "# Gateway\n\n- [limit] The timeout is 60 s\n")
    return made


def meanwhile(monkeypatch: pytest.MonkeyPatch, method: str, act: Callable[[], object], number: int = 1) -> None:
    """Have something done once, right after the segment has answered this read the given number of times."""
    read, left = getattr(GraphTables, method), [number]

    def reading(self: GraphTables, *given: Any) -> object:
        found = read(self, *given)
        left[0] -= 1
        if left[0] == 0:
            act()
        return found

    monkeypatch.setattr(GraphTables, method, reading)


@pytest.mark.parametrize(
    ("ask", "method"),
    [
        (reach, "relations_to"),
        (context, "relations"),
        (observations, "observations"),
        (recall, "relations"),
        (conflicts, "claims_that_differ"),
    ],
)
def test_what_a_replaced_version_said_is_not_shown_as_what_the_present_one_says(
    scene: Searched, ask: Callable[[Searched], object], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scene.create("/ada.md", TEXT)
    shown = ask(scene)
    assert shown not in ([], (), [()] * 3)

    def replaced() -> None:
        scene.update(made, "# Ada\n\nNothing.\n")
        scene.redact(made.version_id)
        scene.search("nothing")

    meanwhile(monkeypatch, method, replaced)
    now = ask(scene)
    assert now in ([], (), [()] * 3)
    assert now == ask(scene)


def test_a_note_that_is_deleted_between_two_reads_of_a_context_is_no_error(
    scene: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scene.create("/ada.md", TEXT)

    def deleted() -> None:
        scene.delete(made)
        scene.search("nothing")

    meanwhile(monkeypatch, "notes", deleted, number=2)
    asked: dict[str, Any] = {"depth": 1, "since": None, "page": 1, "page_size": 9, "max_related": 9}
    found = scene.at(HOME).graph.context(scene.call(), scene.store, url="babbage.md", **asked)
    assert [node.path for one in found.items for node in one.nodes] == ["/babbage.md"]


def test_an_answer_is_read_from_a_copy_where_the_segment_changes_again_and_again(
    scene: Searched, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, read, times = scene.create("/ada.md", TEXT), GraphTables.observations, [0]

    def reading(self: GraphTables, *given: Any) -> object:
        found = read(self, *given)
        times[0] += 1
        scene.update(made, f"{TEXT}\nAgain, for the {times[0]}. time.\n")
        scene.search("again")
        return found

    monkeypatch.setattr(GraphTables, "observations", reading)
    assert observations(scene) == ()
    assert times == [READ_ATTEMPTS + 1]
