"""Searching with a reranker: what it is sent, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memolith.app.api.search import RERANKED_MAX
from memolith.ports.errors import Unavailable
from tests.unit.app.searched import Searched


class Backwards:
    """Likes the last best, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[str]]] = []
        self.fails = False

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.sent.append((query, list(texts)))
        if self.fails:
            raise Unavailable("it is away")
        return [float(place) for place in range(len(texts))]


def filled() -> tuple[Searched, Backwards]:
    reranker = Backwards()
    scene = Searched(reranker=reranker)
    scene.create("/best.md", "kite kite kite")
    scene.create("/good.md", "a kite, and other things that fly over the meadow in autumn")
    scene.create("/hidden.md", "kite of the wombat")
    scene.judge(next(one for one in scene.page().items if one.path == "/hidden.md"))  # type: ignore[arg-type]  # a memory, and no folder
    scene.create("/other.md", "pizza")
    return scene, reranker


def test_a_reranker_decides_the_order_and_is_sent_only_what_the_caller_may_see() -> None:
    scene, reranker = filled()
    assert scene.search("kite") == ["/good.md", "/best.md"]
    [(query, texts)] = reranker.sent
    assert query == "kite"
    assert texts[0] == "/best.md\nkite kite kite"
    assert not any("wombat" in text for text in texts)
    assert scene.search("kite", limit=1) == ["/good.md"], "more is ranked than is shown"


def test_where_the_reranker_does_not_answer_the_search_keeps_its_own_order(caplog: pytest.LogCaptureFixture) -> None:
    scene, reranker = filled()
    reranker.fails = True
    assert scene.search("kite") == ["/best.md", "/good.md"]
    assert "kept its own order" in caplog.text


def test_a_reranker_is_not_asked_about_one_hit_nor_about_more_than_it_is_to_rank() -> None:
    scene, reranker = filled()
    assert scene.search("pizza") == ["/other.md"]
    assert reranker.sent == []
    for number in range(RERANKED_MAX + 5):
        scene.create(f"/many/{number}.md", "zeppelin")
    assert len(scene.search("zeppelin", limit=50)) == RERANKED_MAX + 5
    assert [len(texts) for _, texts in reranker.sent] == [RERANKED_MAX]
