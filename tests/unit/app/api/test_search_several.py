"""Searching several stores: in the order that one store with all of their memories would give."""

from __future__ import annotations

from memolith.core.limits import SESSION_STORES_MAX
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched

TEXTS = {
    "/a.md": "The kite flies over the meadow.",
    "/b.md": "The kite, the wombat and the meadow.",
    "/c.md": "A wombat sleeps.",
    "/d.md": "A wombat eats, and another wombat eats.",
    "/e.md": "The wombat of the meadow looks at the other wombats.",
    "/f.md": "Pizza.",
}


def filled(scene: Searched, paths: str) -> str:
    store = scene.at(HOME).stores.create(scene.call(), name=paths, description="", metadata={}).id
    for path, text in TEXTS.items():
        if path[1] in paths:
            scene.at(HOME).memories.create(scene.call(), store, path=path, content=text, full=False)
    return store


def test_memories_of_several_stores_have_the_order_that_they_have_in_one() -> None:
    scene = Searched()
    whole, *parts = filled(scene, "abcdef"), filled(scene, "af"), filled(scene, "b"), filled(scene, "cde")
    search = scene.at(HOME).search
    for query in ("wombat kite", "kite meadow", "wombat", "meadow eats", "pizza wombat"):
        one = search.search(scene.call(), whole, query=query, limit=10).items
        several = search.search_several(scene.call(), parts, query=query, limit=10).items
        assert [(hit.memory.path, hit.score) for hit in several] == [(hit.memory.path, hit.score) for hit in one], query
    rarest_in_its_own = [search.search(scene.call(), part, query="wombat", limit=1).items for part in parts]
    assert [hits[0].score if hits else 0.0 for hits in rarest_in_its_own][1] > 0.0


def test_no_store_is_asked_for_more_hits_than_are_wanted_and_as_many_stores_as_a_session_has_are_taken() -> None:
    scene = Searched()
    stores = [filled(scene, "abcdef") for _ in range(SESSION_STORES_MAX)]
    found = scene.at(HOME).search.search_several(scene.call(), stores, query="wombat", limit=50).items
    assert len(found) == 4 * SESSION_STORES_MAX
    assert len(scene.at(HOME).search.search_several(scene.call(), stores, query="wombat", limit=3).items) == 3
