"""A search of the store as it was finds what was there then, as it was, and nothing erased since."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.app.api import past_search, snapshots
from memolith.app.kernel.results import Hit
from memolith.app.kernel.search_filter import SearchFilter
from memolith.core.errors import InvalidRequest, SnapshotIncomplete
from tests.unit.app.scene import AWAY, HOME
from tests.unit.app.searched import Searched


def settle(scene: Searched) -> int:
    """Let so much time pass that nothing can bear an earlier time any more; return the instant before."""
    scene.deliver()
    instant = scene.clock.now_us()
    scene.clock.advance(60)
    for region in (HOME, AWAY):
        scene.cloud.claim_complete(region, scene.clock.now_us())
    return instant


def past(scene: Searched, query: str, as_of: int, at: str = HOME, **more: object) -> dict[str, str]:
    asked = {"limit": 10, **more}
    found = scene.at(at).search.search(scene.call(), scene.store, query=query, as_of=as_of, **asked)  # type: ignore[arg-type]  # keywords of more than one type
    return {hit.memory.path: hit.excerpt for hit in found.items}


def test_what_was_changed_moved_deleted_or_created_since_is_found_as_it_was() -> None:
    scene = Searched()
    same = scene.create("/same.md", "The wombat stays.")
    changed = scene.create("/changed.md", "The wombat is brown.")
    moved = scene.create("/before.md", "The wombat moves.")
    gone = scene.create("/gone.md", "The wombat leaves.")
    then = settle(scene)
    scene.update(changed, "The numbat is striped.")
    scene.update(moved, path="/after.md")
    scene.delete(gone)
    scene.create("/new.md", "The wombat arrives.")
    now = settle(scene)
    scene.pack()
    for region in (HOME, AWAY):
        assert past(scene, "wombat", then, region) == {
            "/same.md": "The wombat stays.",
            "/changed.md": "The wombat is brown.",
            "/before.md": "The wombat moves.",
            "/gone.md": "The wombat leaves.",
        }
        assert past(scene, "numbat", then, region) == {}
        assert set(past(scene, "wombat", now, region)) == {"/same.md", "/after.md", "/new.md"}
    versions = {hit.memory.version_id for hit in hits(scene, "wombat", then)}
    assert {same.version_id, changed.version_id, moved.version_id, gone.version_id} == versions


def hits(scene: Searched, query: str, as_of: int) -> tuple[Hit, ...]:
    return scene.at(HOME).search.search(scene.call(), scene.store, query=query, limit=10, as_of=as_of).items


@pytest.mark.parametrize("asks_withheld", [False, True])
def test_what_was_redacted_or_withheld_since_is_not_found_in_the_past(
    asks_withheld: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor in the graph of the past, by any caller: an admin is shown withheld texts where they are read by name."""
    scene = Searched()
    monkeypatch.setattr(scene, "call", lambda: replace(scene.cloud.call(scene.api_key), shows_withheld=asks_withheld))
    erased = scene.create("/erased.md", "The wombat is erased.")
    hidden = scene.create("/hidden.md", "- [size] The wombat is hidden.")
    scene.create("/shown.md", "- [size] The wombat is shown.")
    then = settle(scene)
    scene.update(erased, "Nothing.")
    scene.update(hidden, "Nothing either.")
    scene.redact(erased.version_id)
    scene.judge(hidden)
    settle(scene)
    assert set(past(scene, "wombat", then)) == {"/shown.md"}
    asked: Any = {"category": None, "tag": None, "valid_at": None, "query": None, "limit": 10}
    graph = scene.at(HOME).graph.observations(scene.call(), scene.store, as_of=then, **asked)
    assert [one.text for one in graph.observations] == ["The wombat is shown."]


def test_what_cannot_be_searched_within_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Searched()
    made = [scene.create(f"/{number}.md", f"wombat {number}") for number in range(3)]
    then = settle(scene)
    for one in made:
        scene.update(one, "changed")
    settle(scene)
    assert len(past(scene, "wombat", then)) == 3
    monkeypatch.setattr(past_search, "CHANGED_MAX", 2)
    with pytest.raises(InvalidRequest, match=r"more than 2 memories have changed since.*later instant"):
        past(scene, "wombat", then)
    with pytest.raises(InvalidRequest, match="as_of"):
        past(scene, "wombat", then, filter=SearchFilter(author="api_key:x"))
    with pytest.raises(InvalidRequest, match="future"):
        past(scene, "wombat", scene.clock.now_us() + 1_000_000)
    with pytest.raises(SnapshotIncomplete):
        past(scene, "wombat", scene.clock.now_us())


def test_a_store_that_has_had_too_many_memories_for_a_search_of_its_past_is_refused_for_that_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshots, "MEMORIES_LOOKED_AT", 2)
    monkeypatch.setattr(snapshots, "ROWS_MAX", 4)
    scene = Searched()
    made = [scene.create(f"/{number}.md", f"wombat {number}") for number in range(4)]
    scene.delete(made[0])
    settle(scene)
    then = settle(scene)
    scene.update(made[1], "changed")
    settle(scene)
    assert set(past(scene, "wombat", then)) == {"/1.md", "/2.md", "/3.md"}, "just as many as are looked at"
    scene.create("/4.md", "wombat 4")
    settle(scene)
    with pytest.raises(InvalidRequest, match="the store has had more than 4 memories; list the memories") as refused:
        past(scene, "wombat", then)
    assert "later instant" not in str(refused.value)
