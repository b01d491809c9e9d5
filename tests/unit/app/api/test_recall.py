"""Recalling: enough of what matters, and nothing where nothing does; measured on texts that did not set the floor."""

from __future__ import annotations

import pytest

from memolith.core.errors import InvalidRequest
from tests.unit.app.api.recall_questions import MEMORIES, UNRELATED
from tests.unit.app.api.recall_shares import empty_share, found_share, recall, team_store
from tests.unit.app.searched import Searched


@pytest.fixture(scope="module")
def team() -> Searched:
    return team_store()


@pytest.fixture
def scene() -> Searched:
    made = Searched()
    made.create(
        "/tools/ripgrep.md", "---\nname: ripgrep\ntype: reference\n---\nripgrep searches folders with -g globs.\n"
    )
    made.create(
        "/tools/sqlite.md", "---\nname: sqlite\ntype: reference\n---\nsqlite gotcha: vacuum needs twice the space.\n"
    )
    made.create("/deploys.md", "# Deploys\n\nDeploys go out on Tuesdays.\n- decided_in [[Retrospective]]\n")
    made.create("/retro.md", "# Retrospective\n\nWe agreed on a fixed day for deploys, after an outage.\n")
    made.create("/MEMORY.md", "- [Deploys](deploys.md): deploys go out on Tuesdays\n")
    made.create("/logs/2026-05-01.md", "deploys go out on Tuesdays, said Ada\n")
    made.deliver()
    return made


def test_of_a_hundred_related_questions_eighty_five_find_their_memory_among_five(team: Searched) -> None:
    assert len(MEMORIES) == 50
    assert (found_share(team, 0) + found_share(team, 1)) / 2 >= 0.85


def test_of_the_related_questions_that_did_not_set_the_floor_eighty_five_in_a_hundred_find_theirs(
    team: Searched,
) -> None:
    assert found_share(team, 1) >= 0.85


def test_of_a_hundred_unrelated_questions_ninety_find_nothing(team: Searched) -> None:
    assert len(UNRELATED) == 100
    assert (empty_share(team, 0) + empty_share(team, 1)) / 2 >= 0.9


def test_of_the_unrelated_questions_that_did_not_set_the_floor_ninety_in_a_hundred_find_nothing(team: Searched) -> None:
    assert empty_share(team, 1) >= 0.9


def test_what_is_recalled_says_why_and_comes_with_its_content_and_with_what_it_is_linked(scene: Searched) -> None:
    first, second = recall(scene, "do deploys go out on Tuesdays?")
    assert (first.path, first.content) == (
        "/deploys.md",
        "# Deploys\n\nDeploys go out on Tuesdays.\n- decided_in [[Retrospective]]\n",
    )
    assert first.why[0].startswith("has ")
    assert (second.path, second.why[-1]) == ("/retro.md", "linked with Deploys")


def test_an_index_a_log_and_what_is_loaded_already_are_not_recalled(scene: Searched) -> None:
    paths = [node.path for node in recall(scene, "deploys on Tuesdays")]
    assert "/MEMORY.md" not in paths
    assert not [path for path in paths if path.startswith("/logs/")]
    first = recall(scene, "deploys on Tuesdays")[0]
    assert first.memory_id not in [
        node.memory_id for node in recall(scene, "deploys on Tuesdays", loaded=[first.memory_id])
    ]


def test_a_reference_on_a_tool_in_use_is_left_out_unless_it_holds_a_caution(scene: Searched) -> None:
    assert [node.path for node in recall(scene, "ripgrep globs")] == ["/tools/ripgrep.md"]
    assert recall(scene, "ripgrep globs", recent_tools=["ripgrep"]) == ()
    assert [node.path for node in recall(scene, "sqlite vacuum", recent_tools=["sqlite"])] == ["/tools/sqlite.md"]


def test_contents_take_no_more_than_is_asked_for_and_no_more_memories_than_the_limit(scene: Searched) -> None:
    assert [node.content for node in recall(scene, "when do deploys go out?", max_tokens=1)] == [None, None]
    assert len(recall(scene, "when do deploys go out?", limit=1)) == 1


def test_a_withheld_memory_is_recalled_by_nobody(scene: Searched) -> None:
    made = next(item for item in scene.page().items if item.path == "/deploys.md")
    scene.judge(made)  # type: ignore[arg-type]  # a memory, and no folder
    scene.deliver()
    assert "/deploys.md" not in [node.path for node in recall(scene, "when do deploys go out?")]


def test_what_matters_only_by_a_link_to_a_withheld_memory_is_not_recalled(scene: Searched) -> None:
    query = "deploys go out on Tuesdays"
    assert [(node.path, node.why[1:]) for node in recall(scene, query)] == [
        ("/deploys.md", ()),
        ("/retro.md", ("linked with Deploys",)),
    ]
    scene.judge(next(item for item in scene.page().items if item.path == "/deploys.md"))  # type: ignore[arg-type]  # a memory, and no folder
    scene.deliver()
    assert recall(scene, query) == ()


def linked_late(*roots: str) -> Searched:
    """Return a store in which notes about quokkas have 520 links to what is no memory before one to a late memory."""
    made = Searched()
    links = "".join(f"[[Filler {number}]] number\n\n" for number in range(520))
    for title in roots:
        made.create(f"/{title.lower()}.md", f"# {title}\n\nquokka wombat numbat\n\n{links}[[Late]]\n")
    for number in range(30):
        made.create(f"/other{number}.md", f"other text {number}\n")
    made.create("/late.md", "# Late\n\nnumbat things\n")
    made.deliver()
    return made


def judge(scene: Searched, path: str) -> None:
    scene.judge(next(item for item in scene.page().items if item.path == path))  # type: ignore[arg-type]  # a memory, and no folder
    scene.deliver()


def test_a_memory_behind_five_hundred_links_says_what_it_is_linked_with_and_goes_with_that() -> None:
    made, query = linked_late("Index"), "quokka wombat numbat"
    assert [(node.path, node.why[1:]) for node in recall(made, query)] == [
        ("/index.md", ()),
        ("/late.md", ("linked with Index",)),
    ]
    judge(made, "/index.md")
    assert recall(made, query) == ()


def test_a_memory_that_two_memories_lead_to_is_recalled_where_one_of_them_is_withheld() -> None:
    made, query = linked_late("Annals", "Index"), "quokka wombat numbat"
    assert recall(made, query)[-1].why[1:] == ("linked with Annals",)
    judge(made, "/annals.md")
    assert [(node.path, node.why[1:]) for node in recall(made, query)] == [
        ("/index.md", ()),
        ("/late.md", ("linked with Index",)),
    ]


def test_a_query_of_nothing_is_refused(scene: Searched) -> None:
    with pytest.raises(InvalidRequest, match="query"):
        recall(scene, "  ")
