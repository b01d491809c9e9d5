"""The graph and what may not be shown: withheld, erased and deleted texts, in whichever region is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memolith.app.kernel.graph_results import GraphAnswer, GraphContext
from memolith.app.kernel.results import ReadConsistency
from tests.unit.app.scene import AWAY, HOME
from tests.unit.app.searched import Searched

HIDDEN = "# Wombatword\n\n- [fact] quokkaword #numbatword (dunnartword)\n- bilbyword [[Potorooword]]\n"


def linked() -> tuple[Searched, Any]:
    scene = Searched()
    made = scene.create("/hidden.md", HIDDEN)
    scene.create("/root.md", "# Root\n\n- knows [[Wombatword]]\n")
    scene.create("/beyond.md", "# Potorooword\n")
    scene.deliver()
    return scene, made


def reach(scene: Searched, root: str = "Root", at: str = HOME, **more: Any) -> GraphAnswer:
    asked = {"direction": "both", "depth": 3, "types": [], "limit": 50, **more}
    return scene.at(at).graph.reach(scene.call(), scene.store, root=root, **asked)


def context(scene: Searched, url: str) -> GraphContext:
    asked = {"depth": 3, "since": None, "page": 1, "page_size": 10, "max_related": 10}
    return scene.at(HOME).graph.context(scene.call(), scene.store, url=url, **asked)  # type: ignore[arg-type]


def observations(scene: Searched) -> GraphAnswer:
    return scene.at(HOME).graph.observations(
        scene.call(), scene.store, category=None, tag=None, valid_at=None, query=None, limit=10
    )


def test_a_withheld_text_is_in_no_node_no_edge_no_observation_and_no_suggestion() -> None:
    scene, made = linked()
    assert [node.title for node in reach(scene).nodes] == ["Root", "Wombatword", "Potorooword"]
    scene.judge(made)
    scene.deliver()
    answer = reach(scene)
    assert [node.title for node in answer.nodes] == ["Root"], "what is only linked over it is not reached either"
    [edge] = answer.edges
    assert (edge.source_id, edge.target_id) == (answer.nodes[0].memory_id, None)
    assert context(scene, "hidden.md").items == ()
    assert all("word" not in node.title for item in context(scene, "Root").items for node in item.nodes)
    assert observations(scene) == GraphAnswer(())
    scene.create("/other.md", "# Wombatword\n")
    [candidates] = [edge.candidates for edge in reach(scene).edges]
    assert "/hidden.md" not in candidates
    scene.pack()
    scene.cold()
    assert observations(scene) == GraphAnswer(())


def test_a_redacted_text_leaves_every_table_of_the_graph() -> None:
    scene, made = linked()
    scene.pack()
    scene.update(made, "Nothing is hidden here.")
    scene.redact(made.version_id)
    scene.deliver()
    scene.pack()
    [body] = [version.object.body for key in scene.packs() for version in scene.cloud.buckets.versions(HOME, key)]
    assert not [word for word in (b"quokkaword", b"numbatword", b"dunnartword", b"bilbyword") if word in body]


def test_another_region_answers_the_same_also_where_it_has_to_ask_the_home() -> None:
    scene, _ = linked()
    here = reach(scene)
    assert reach(scene, at=AWAY) == here
    demanding = replace(scene.call(), demand=ReadConsistency(home=True))
    asked = {"direction": "both", "depth": 3, "types": [], "limit": 50}
    assert scene.at(AWAY).graph.reach(demanding, scene.store, root="Root", **asked) == here  # type: ignore[arg-type]
    asked = {"depth": 3, "since": None, "page": 1, "page_size": 10, "max_related": 10}
    demanding = replace(scene.call(), demand=ReadConsistency(home=True))
    found = scene.at(AWAY).graph.context(demanding, scene.store, url="Root", **asked)  # type: ignore[arg-type]
    assert found == context(scene, "Root")
