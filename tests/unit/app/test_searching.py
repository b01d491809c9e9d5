"""Searching: what is found, by whom, and how soon; what a cold start costs. All of it is ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cairn.app.answers import Hit
from cairn.core.packs import PackKey
from tests.unit.app.scene import AWAY, HOME, Scene


class Searched(Scene):
    """A scene that can be searched."""

    def search(self, query: str, *, at: str = HOME, limit: int = 10, key: str | None = None, **more: str) -> list[str]:
        return [hit.memory.path for hit in self.hits(query, at=at, limit=limit, key=key, **more)]

    def hits(
        self, query: str, *, at: str = HOME, limit: int = 10, key: str | None = None, **more: str
    ) -> tuple[Hit, ...]:
        return self.at(at).search_memories(self.call(key), self.store, query=query, limit=limit, **more).items

    def pack(self, at: str = HOME) -> None:
        answer = self.cloud.peers.call(at, "packer", {"call": "pack", "store_id": self.store})
        assert "error" not in answer

    def packs(self, at: str = HOME) -> list[str]:
        return list(self.cloud.buckets.page(at, PackKey.prefix(self.store), None, 1_000).keys)

    def cold(self) -> None:
        """Every reader starts anew."""
        for site in self.cloud.sites.values():
            site.cairn._shelf.forget()


@pytest.fixture(params=["without a pack", "with a pack"])
def scene(request: pytest.FixtureRequest) -> Iterator[Searched]:
    """Three memories, known to the pack or only to the index."""
    made = Searched()
    made.create("/deploy/checklist.md", "Before deploying to production, run the migrations and page Caroline.")
    made.create("/people/caroline.md", "Caroline leads the platform team. She prefers short status updates.")
    made.create("/food.md", "The team orders pizza on Fridays; no anchovies.")
    made.deliver()
    if request.param == "with a pack":
        made.pack(HOME)
        made.pack(AWAY)
    yield made


def test_words_are_found_whatever_their_form(scene: Searched) -> None:
    assert scene.search("how do we deploy a migration?") == ["/deploy/checklist.md"]
    assert scene.search("pizzas", at=AWAY) == ["/food.md"]


def test_a_name_leads_to_whom_it_names_first(scene: Searched) -> None:
    assert scene.search("Who is Caroline?")[0] == "/people/caroline.md"


def test_a_slip_of_one_letter_is_seen_through(scene: Searched) -> None:
    assert scene.search("anchovis") == ["/food.md"]


def test_a_hit_shows_the_place_that_answers(scene: Searched) -> None:
    [hit] = scene.hits("anchovies")
    assert "no anchovies" in hit.excerpt
    assert hit.memory.content is None


def test_what_was_just_written_is_found_and_what_was_just_changed_is_not_found_as_it_was(scene: Searched) -> None:
    scene.search("pizza")
    scene.create("/new.md", "The zeppelin arrives at noon.")
    food = next(item for item in scene.page().items if item.path == "/food.md")
    scene.update(food.id, "The team orders ramen on Fridays.")  # type: ignore[union-attr]
    assert scene.search("zeppelin") == ["/new.md"]
    assert scene.search("ramen") == ["/food.md"]
    assert scene.search("pizza") == []


def test_a_memory_that_was_moved_is_found_where_it_is_and_one_that_was_deleted_is_not(scene: Searched) -> None:
    scene.search("pizza")
    rows = {item.path: item.id for item in scene.page().items}  # type: ignore[union-attr]
    scene.update(rows["/food.md"], path="/archive/food.md")
    scene.delete(rows["/people/caroline.md"])
    assert scene.search("pizza") == ["/archive/food.md"]
    assert scene.search("platform") == []
