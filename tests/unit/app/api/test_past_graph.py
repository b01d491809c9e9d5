"""The graph of a store as it was: links, statements and names of then, and nothing erased or withheld since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from memolith.app.api import past_search
from memolith.app.kernel.graph_results import GraphAnswer
from memolith.core.errors import InvalidRequest, NotFound, SnapshotIncomplete
from tests.unit.app.api.test_past_search import settle
from tests.unit.app.scene import AWAY, HOME
from tests.unit.app.searched import Searched


def reach(scene: Searched, root: str, as_of: int | None, at: str = HOME) -> GraphAnswer:
    asked: dict[str, Any] = {"direction": "both", "depth": 2, "types": [], "limit": 50}
    return scene.at(at).graph.reach(scene.call(), scene.store, root=root, as_of=as_of, **asked)


def linked(scene: Searched, root: str, as_of: int | None, at: str = HOME) -> set[tuple[str, str, str | None]]:
    answer = reach(scene, root, as_of, at)
    paths = {node.memory_id: node.path for node in answer.nodes}
    return {(paths[edge.source_id], edge.type, paths.get(edge.target_id or "")) for edge in answer.edges}


def contents(scene: Searched, url: str, as_of: int | None) -> dict[str, str | None]:
    asked: dict[str, Any] = {"depth": 1, "since": None, "page": 1, "page_size": 10, "max_related": 10}
    found = scene.at(HOME).graph.context(scene.call(), scene.store, url=url, as_of=as_of, **asked)
    return {item.nodes[0].path: item.nodes[0].content for item in found.items}


def stated(scene: Searched, as_of: int | None, valid_at: int | None = None) -> list[str]:
    asked: dict[str, Any] = {"category": None, "tag": None, "query": None, "limit": 50}
    found = scene.at(HOME).graph.observations(scene.call(), scene.store, valid_at=valid_at, as_of=as_of, **asked)
    return sorted(one.text for one in found.observations)


@dataclass
class Told:
    """A store that has changed since `then`."""

    scene: Searched
    then: int
    version_of_ada: str
    ada: Any


@pytest.fixture
def told() -> Told:
    scene = Searched()
    ada = scene.create("/ada.md", "# Ada\n\n- works_with [[Babbage]]\n- [role] writes programs\n")
    moved = scene.create("/babbage.md", "# Babbage\n\n- [role] builds engines\n")
    gone = scene.create("/note.md", "# Note G\n\n- written_by [[Ada]]\n- [size] long\n")
    scene.create("/same.md", "# Same\n\n- knows [[Ada]]\n- [color] blue\n")
    then = settle(scene)
    scene.update(ada, "# Ada\n\n- works_with [[Somerville]]\n- [role] studies\n")
    scene.update(moved, path="/people/charles.md")
    scene.delete(gone)
    scene.create("/new.md", "# Somerville\n\n- teaches [[Ada]]\n- [role] teaches\n")
    settle(scene)
    return Told(scene, then, ada.version_id, ada)


@pytest.mark.parametrize("packed", [False, True])
def test_links_and_statements_are_those_of_the_instant_and_today_those_of_today(told: Told, packed: bool) -> None:
    scene = told.scene
    if packed:
        scene.pack()
    for region in (HOME, AWAY):
        assert linked(scene, "Ada", told.then, region) == {
            ("/ada.md", "works_with", "/babbage.md"),
            ("/note.md", "written_by", "/ada.md"),
            ("/same.md", "knows", "/ada.md"),
        }
    assert stated(scene, told.then) == ["blue", "builds engines", "long", "writes programs"]
    assert linked(scene, "Ada", None) == {
        ("/ada.md", "works_with", "/new.md"),
        ("/new.md", "teaches", "/ada.md"),
        ("/same.md", "knows", "/ada.md"),
    }
    assert stated(scene, None) == ["blue", "builds engines", "studies", "teaches"]


def test_a_context_has_the_contents_and_names_of_the_instant(told: Told) -> None:
    found = contents(told.scene, "*", told.then)
    assert set(found) == {"/ada.md", "/babbage.md", "/note.md", "/same.md"}
    assert found["/ada.md"] == "# Ada\n\n- works_with [[Babbage]]\n- [role] writes programs\n"
    with pytest.raises(NotFound):
        reach(told.scene, "Somerville", told.then)


def test_what_was_redacted_or_withheld_since_is_in_no_graph_of_the_past(told: Told) -> None:
    scene = told.scene
    scene.redact(told.version_of_ada)
    scene.judge(next(item for item in scene.page().items if item.path == "/same.md"))  # type: ignore[arg-type]  # a memory, and no folder
    scene.deliver()
    settle(scene)
    assert stated(scene, told.then) == ["builds engines", "long"]
    assert contents(scene, "*", told.then).keys() == {"/babbage.md", "/note.md"}


def test_what_was_believed_at_one_instant_of_another_is_answered_by_both_clocks() -> None:
    scene = Searched()
    made = scene.create("/rate.md", "# Rate\n\n- [rate] @effective[2026-01-01,2026-07-01) 4 percent\n")
    then = settle(scene)
    scene.update(made, "# Rate\n\n- [rate] @effective[2026-01-01,2026-04-01) 5 percent\n")
    settle(scene)
    may = 1_777_600_000_000_000  # 2026-05-01
    assert (stated(scene, then, may), stated(scene, None, may)) == (["4 percent"], [])


def test_an_instant_in_the_future_or_too_many_changes_ago_is_refused(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidRequest, match="as_of"):
        reach(told.scene, "Ada", told.scene.clock.now_us() + 1)
    with pytest.raises(SnapshotIncomplete):
        reach(told.scene, "Ada", told.scene.clock.now_us())
    monkeypatch.setattr(past_search, "CHANGED_MAX", 1)
    with pytest.raises(InvalidRequest, match="too long ago"):
        reach(told.scene, "Ada", told.then)


def test_the_pack_of_today_is_as_it_was_after_a_question_about_the_past(told: Told) -> None:
    before = (linked(told.scene, "Ada", None), stated(told.scene, None), told.scene.search("programs"))
    assert stated(told.scene, told.then) != before[1]
    assert (linked(told.scene, "Ada", None), stated(told.scene, None), told.scene.search("programs")) == before
