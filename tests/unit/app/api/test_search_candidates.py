"""What excludes memories from a search excludes them before the best are cut off, however many others match better."""

from __future__ import annotations

import pytest

from memolith.app.search.retrieval import CANDIDATES_MAX
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
