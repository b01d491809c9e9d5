"""How often what matters is recalled, and how often nothing is where nothing does."""

from __future__ import annotations

from typing import Any

from memolith.app.kernel.graph_results import GraphNode
from tests.unit.app.api.recall_questions import MEMORIES, UNRELATED
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched


def recall(scene: Searched, query: str, **more: Any) -> tuple[GraphNode, ...]:
    asked = {"recent_tools": [], "loaded": [], "limit": 5, "max_tokens": 4_000, **more}
    return scene.at(HOME).recall.recall(scene.call(), scene.store, query=query, **asked).nodes


def path_of(name: str) -> str:
    return f"/{name.replace(' ', '-')}.md"


def team_store() -> Searched:
    """Make a store of the fifty memories of a team."""
    scene = Searched()
    for name, text, _, _ in MEMORIES:
        scene.create(path_of(name), f"# {name}\n\n{text}\n")
    scene.deliver()
    return scene


def found_share(team: Searched, remainder: int) -> float:
    wanted = [
        (path_of(name), query)
        for number, (name, _, *queries) in enumerate(MEMORIES)
        if number % 2 == remainder
        for query in queries
    ]
    found = [path in [node.path for node in recall(team, query)] for path, query in wanted]
    return sum(found) / len(found)


def empty_share(team: Searched, remainder: int) -> float:
    queries = UNRELATED[remainder::2]
    return sum(recall(team, query) == () for query in queries) / len(queries)
