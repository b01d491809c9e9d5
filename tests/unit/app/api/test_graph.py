"""The graph and what may not be shown: withheld, erased and deleted texts, in whichever region is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.app.kernel.graph_results import GraphAnswer, GraphContext
from memolith.app.kernel.results import ReadConsistency
from memolith.app.search.former_paths import FOLLOWED_MAX, LOOKED_UP_MAX
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
    return scene.at(HOME).graph.context(scene.call(), scene.store, url=url, **asked)  # type: ignore[arg-type]  # keywords of more than one type


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
    assert scene.at(AWAY).graph.reach(demanding, scene.store, root="Root", **asked) == here  # type: ignore[arg-type]  # keywords of more than one type
    asked = {"depth": 3, "since": None, "page": 1, "page_size": 10, "max_related": 10}
    demanding = replace(scene.call(), demand=ReadConsistency(home=True))
    found = scene.at(AWAY).graph.context(demanding, scene.store, url="Root", **asked)  # type: ignore[arg-type]  # keywords of more than one type
    assert found == context(scene, "Root")


# ---- more than one answer looks at -----------------------------------------------------------------------------------


def paths(answer: GraphAnswer) -> list[str]:
    return sorted(node.path for node in answer.nodes)


def test_links_of_other_types_take_no_place_of_those_that_are_asked_for() -> None:
    scene = Searched()
    scene.create("/hub.md", "# Hub\n")
    scene.create("/first.md", "# First\n\n- depends_on [[Hub]]\n")
    for number in range(5):
        scene.create(f"/log{number}.md", f"# Log {number}\n\n" + "- uses [[Hub]]\n" * 500)
    scene.create("/last.md", "# Last\n\n- depends_on [[Hub]]\n")
    found = reach(scene, "Hub", direction="in", types=["depends_on"], depth=1)
    assert (paths(found), found.truncated) == (["/first.md", "/hub.md", "/last.md"], False)
    scene.create("/many.md", "# Many\n\n" + "[[Some]] here.\n\n" * 2_000 + "- depends_on [[Hub]]\n")
    found = reach(scene, "Many", direction="out", types=["depends_on"], depth=1)
    assert (paths(found), found.truncated) == (["/hub.md", "/many.md"], False)


def test_of_more_than_five_hundred_links_those_over_which_memories_are_reached_are_in_the_answer() -> None:
    scene = Searched()
    dead = "".join(f"- uses [[Thing {number}]]\n" for number in range(499))
    scene.create("/root.md", f"# Root\n\n{dead}- uses [[Near]]\n[[Thing]]\n\n[[Last]]\n")
    for title in ("Near", "Last"):
        scene.create(f"/{title.lower()}.md", f"# {title}\n")
    found = reach(scene, "Root", direction="out", depth=1)
    assert (paths(found), len(found.edges), found.truncated) == (["/last.md", "/near.md", "/root.md"], 500, True)
    assert [edge.line for edge in found.edges] == sorted(edge.line for edge in found.edges)


@pytest.mark.parametrize("direction", ["in", "both"])
def test_an_answer_says_where_it_does_not_look_at_all_links_that_may_lead_to_a_memory(direction: str) -> None:
    """Two memories are called hub; 1,999 newer links name it, and mean the other one."""
    scene = Searched()
    scene.create("/hub.md", "# A\n")
    scene.create("/team/hub.md", "# B\n")
    scene.create("/first.md", "# First\n\n- uses [[team/hub]]\n")
    for number in range(4):
        scene.create(f"/log{number}.md", f"# Log {number}\n\n" + "- uses [[hub]]\n" * (500 - (number == 0)))
    found = reach(scene, "team/hub", direction=direction, depth=1)
    assert (paths(found), found.truncated) == (["/first.md", "/team/hub.md"], False)
    scene.create("/last.md", "# Last\n\n- uses [[hub]]\n")
    assert reach(scene, "team/hub", direction=direction, depth=1).truncated


@pytest.mark.parametrize(("links", "truncated"), [(1_999, False), (2_000, True)])
def test_an_answer_says_where_it_does_not_look_at_all_links_of_a_memory(links: int, truncated: bool) -> None:
    scene = Searched()
    scene.create("/root.md", "# Root\n\n" + "[[Some]] " * links + "\n\n- uses [[Hub]]\n")
    scene.create("/hub.md", "# Hub\n")
    found = reach(scene, "Root", direction="out", depth=1)
    assert (paths(found), found.truncated) == (["/root.md"] if truncated else ["/hub.md", "/root.md"], truncated)


# ---- links that follow a rename --------------------------------------------------------------------------------------


def renamed() -> tuple[Searched, Any]:
    scene = Searched()
    made = scene.create("/people/ada.md", "# Countess\n")
    scene.create("/root.md", "# Root\n\n- knows [[people/ada]]\n")
    scene.update(made, path="/archive/lovelace.md")
    scene.deliver()
    return scene, made


@pytest.mark.parametrize("packed", [False, True])
def test_a_link_to_a_path_that_a_memory_has_left_leads_to_the_memory(packed: bool) -> None:
    scene, made = renamed()
    if packed:
        scene.pack()
        scene.cold()
    assert [node.path for node in reach(scene, "Root", direction="out").nodes] == ["/root.md", "/archive/lovelace.md"]
    back = reach(scene, made.id, direction="in", depth=1)
    assert [node.path for node in back.nodes] == ["/archive/lovelace.md", "/root.md"]
    assert [edge.target_id for edge in back.edges] == [made.id]
    assert reach(scene, "/people/ada.md").nodes[0].memory_id == made.id
    assert context(scene, "memory://people/ada").items[0].nodes[0].memory_id == made.id


def test_what_is_at_a_path_now_is_meant_and_not_what_was_there() -> None:
    scene, made = renamed()
    other = scene.create("/people/ada.md", "# Another\n")
    assert [edge.target_id for edge in reach(scene, "Root", direction="out").edges] == [other.id]
    assert reach(scene, made.id, direction="in", depth=1).edges == ()


def test_a_memory_is_followed_over_several_renames_and_not_beyond_its_deletion() -> None:
    scene, made = renamed()
    scene.update(made, path="/third.md")
    assert [edge.target_id for edge in reach(scene, "Root", direction="out").edges] == [made.id]
    scene.delete(made)
    assert [edge.target_id for edge in reach(scene, "Root", direction="out").edges] == [None]


def test_a_path_that_was_erased_from_the_versions_leads_nowhere() -> None:
    scene, made = renamed()
    scene.redact(made.version_id)
    scene.deliver()
    assert [edge.target_id for edge in reach(scene, "Root", direction="out").edges] == [None]
    assert reach(scene, made.id, direction="in", depth=1).edges == ()


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_links_to_what_never_was_take_no_place_of_those_that_are_followed(direction: str) -> None:
    scene = Searched()
    dead = [f"- knows [[Idea {number}]]" for number in range(2 * LOOKED_UP_MAX)]
    said = [*dead[: 2 * FOLLOWED_MAX], "- knows [[old/budget]]", *dead[2 * FOLLOWED_MAX :]]
    note = scene.create("/old/plan.md", "\n".join(["# Plan", "", *said, ""]))
    scene.update(scene.create("/old/budget.md", "# Budget\n"), path="/new/costs.md")
    scene.update(note, path="/new/other.md")
    scene.create("/root.md", "# Root\n\n- knows [[old/plan]]\n")
    expected = {"in": ["/root.md"], "out": ["/new/costs.md"], "both": ["/new/costs.md", "/root.md"]}[direction]
    assert paths(reach(scene, note.id, direction=direction, depth=1)) == sorted([*expected, "/new/other.md"])


def test_of_many_links_the_first_ones_of_the_text_are_looked_up() -> None:
    """Every order of hashes gives the same answer."""
    scene = Searched()
    said = "".join(f"- knows [[old/{number}]]\n" for number in range(2 * LOOKED_UP_MAX))
    scene.create("/root.md", f"# Root\n\n{said}")
    for number in (LOOKED_UP_MAX - 1, LOOKED_UP_MAX):
        scene.update(scene.create(f"/old/{number}.md", f"# Number {number}\n"), path=f"/new/{number}-moved.md")
    found = reach(scene, "Root", direction="out", depth=1)
    assert paths(found) == [f"/new/{LOOKED_UP_MAX - 1}-moved.md", "/root.md"]


def test_at_most_ten_links_of_an_answer_are_followed() -> None:
    scene = Searched()
    links = []
    for number in range(FOLLOWED_MAX + 1):
        made = scene.create(f"/old/{number}.md", f"# Number {number}\n")
        scene.update(made, path=f"/new/{number}-moved.md")
        links.append(f"- knows [[old/{number}]]")
    scene.create("/root.md", "\n".join(["# Root", "", *links, ""]))
    followed = [edge for edge in reach(scene, "Root", direction="out", depth=1).edges if edge.target_id is not None]
    assert len(followed) == FOLLOWED_MAX
