"""Conflicts of which there are many: all of a group are listed and marked, and an answer says what was left out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from memolith.app.api import conflict_pairs, disputes
from memolith.app.kernel.conflict_results import Conflicts
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched


def scene_with(count: int) -> Searched:
    """As many memories that state different values for one subject."""
    scene = Searched()
    for number in range(count):
        scene.create(f"/{number}.md", f"- [limit] The timeout of [[Gateway]] is {number + 10} s\n")
    scene.deliver()
    return scene


def listed(scene: Searched, limit: int = 100, resolved: bool = False) -> Conflicts:
    asked: dict[str, Any] = {"path_prefix": None, "superseded": False, "limit": limit, "resolved": resolved}
    return scene.at(HOME).conflicts.page(scene.call(), scene.store, **asked)


def between(found: Conflicts) -> set[frozenset[str]]:
    return {frozenset(side.memory.path for side in one.sides) for one in found.items}


def pairs_of(count: int) -> set[frozenset[str]]:
    return {frozenset(f"/{one}.md" for one in both) for both in combinations(range(count), 2)}


def test_every_pair_of_a_group_is_listed_and_marked_also_once_others_are_resolved() -> None:
    scene = scene_with(6)
    assert between(listed(scene)) == pairs_of(6)
    for one in listed(scene, limit=10).items:
        versions = [side.version_id for side in one.sides]
        resolve = scene.at(HOME).conflict_resolutions.resolve
        resolve(scene.call(), scene.store, one.id, version_ids=versions, keep="both")
    found, resolved = listed(scene), listed(scene, resolved=True)
    assert (len(found.items), found.truncated) == (5, False)
    assert between(found) | between(resolved) == pairs_of(6)
    marked = {one.conflict_id for hit in scene.hits("gateway timeout") for one in hit.disputed}
    assert marked == {one.id for one in found.items}


def test_statements_of_one_group_beyond_those_that_are_looked_at_are_not_left_out_silently() -> None:
    scene = scene_with(conflict_pairs.STATEMENTS_MAX)
    assert (len(listed(scene, limit=190).items), listed(scene, limit=190).truncated) == (190, False)
    scene.create("/one-more.md", "- [limit] The timeout of [[Gateway]] is 5 s\n")
    assert listed(scene, limit=190).truncated


def test_declared_conflicts_beyond_those_that_are_looked_at_are_not_left_out_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conflict_pairs, "DECLARED_MAX", 2)
    scene = Searched()
    scene.create("/gateway.md", "# Gateway\n")
    for number in range(2):
        scene.create(f"/{number}.md", "- contradicts [[Gateway]]\n")
    assert (len(listed(scene).items), listed(scene).truncated) == (2, False)
    scene.create("/2.md", "- contradicts [[Gateway]]\n")
    assert (len(listed(scene).items), listed(scene).truncated) == (2, True)


def test_the_conflicts_that_an_answer_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disputes, "MARKED_MAX", 5)
    marked = {one.conflict_id for hit in scene_with(6).hits("gateway timeout") for one in hit.disputed}
    assert len(marked) == 5
