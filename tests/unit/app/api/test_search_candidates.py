"""What excludes memories from a search excludes them before the best are cut off, however many others match better."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.adapters.layered import CallCounts
from memolith.app.api.search import CONFIRMED_AT_ONCE, FILTERED_MAX
from memolith.app.kernel.search_filter import SearchFilter
from memolith.app.search.retrieval import CANDIDATES_MAX
from memolith.core.trust import AGENT, USER
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched


@pytest.mark.parametrize("others", [CANDIDATES_MAX + 1, 4 * CANDIDATES_MAX + 1])
def test_a_phrase_is_found_behind_all_that_have_its_words_otherwise(others: int) -> None:
    scene = Searched((HOME,))
    for number in range(others):
        scene.create(f"/{number}.md", "Call back.")
    scene.create("/long.md", f"{'All about the rota. ' * 60}Ask who is on call tonight, and wait.")
    scene.pack()
    assert scene.search('"on call"') == ["/long.md"]


def trusted_behind(others: int) -> tuple[Searched, str]:
    """A store with one text of a person behind so many that match better; and the person's key."""
    scene = Searched((HOME,))
    person = scene.cloud.key("admin", holder="person")
    text = f"{'All about the rota. ' * 60}A wombat waits."
    scene.at(HOME).memories.create(scene.call(person), scene.store, path="/own.md", content=text, full=False)
    for number in range(others):
        scene.create(f"/{number}.md", "A wombat.")
    scene.pack()
    scene.clock.advance(60)
    scene.cloud.claim_complete(HOME, scene.clock.now_us())
    return scene, person


def found(scene: Searched, **more: Any) -> list[str]:
    asked = {"query": "wombat", "limit": 10, **more}
    return [one.memory.path for one in scene.at(HOME).search.search(scene.call(), scene.store, **asked).items]


def test_a_trusted_text_is_found_behind_all_that_match_better_and_are_not() -> None:
    scene, person = trusted_behind(CANDIDATES_MAX + 1)
    assert "/own.md" not in found(scene)
    assert found(scene, min_trust=USER) == ["/own.md"]
    author = SearchFilter(author=f"api_key:{scene.call(person).credentials.key_id}")  # type: ignore[union-attr]  # an API key's, and no session's
    assert found(scene, filter=author) == ["/own.md"]
    assert found(scene, min_trust=USER, as_of=scene.clock.now_us() - 60_000_000) == ["/own.md"]
    several = scene.at(HOME).search.search_several
    page = several(scene.call(), [scene.store, scene.create_store().id], query="wombat", limit=10, min_trust=USER)
    assert [one.memory.path for one in page.items] == ["/own.md"]


def test_a_search_for_trusted_texts_reads_more_only_where_too_few_are_found_and_within_a_bound() -> None:
    scene, _ = trusted_behind(CANDIDATES_MAX + 1)
    reads = []
    for asked in ({"limit": 1}, {"limit": 1, "min_trust": AGENT}, {"limit": 10, "min_trust": USER}):
        with scene.intercepted_by(counts := CallCounts()):
            found(scene, **asked)
        reads.append(counts.calls["index.read"])
    assert reads[0] == reads[1]
    assert reads[2] <= reads[0] + 2 * (1 + FILTERED_MAX // CONFIRMED_AT_ONCE)
