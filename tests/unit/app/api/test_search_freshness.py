"""What a search finds right after a write: all of every current text, and nothing of what is no longer one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memolith.adapters.layered import CallCounts
from memolith.app.api.search import CONFIRMED_SPARE
from memolith.app.indexer.indexer import Indexer
from memolith.app.search.pack_cache import LOOKED_FOR_EVERY_US
from memolith.core.objects import search_pack
from tests.support.examples import examples
from tests.unit.app.failing import fail_over, hold_back
from tests.unit.app.scene import AWAY, HOME
from tests.unit.app.searched import Searched

LONG = 1_500
"""Words: of seven bytes each, more than a store of the most memories could keep of every text."""


def words_of(numbers: range) -> list[str]:
    """Words that differ by digits, so that none is taken for a misspelling of another."""
    return [f"w{number:05}" for number in numbers]


@pytest.mark.parametrize("packed", [False, True], ids=["without a pack", "with a pack"])
def test_the_end_of_a_long_text_is_found_right_after_it_was_written_and_after_it_was_changed(packed: bool) -> None:
    scene = Searched()
    made = scene.create("/long.md", " ".join([*words_of(range(LONG)), "periwinkle"]))
    if packed:
        scene.pack()
    assert scene.search("periwinkle") == ["/long.md"]
    scene.update(made, " ".join([*words_of(range(1, LONG)), "periwinkle marigold"]))
    assert scene.search("periwinkle") == scene.search("marigold") == ["/long.md"]


def test_of_a_store_that_is_too_large_a_reader_searches_as_much_as_the_packer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_pack.text_max_bytes, "__defaults__", (20_000,))
    scene = Searched()
    texts = [words_of(range(start, start + LONG)) for start in (0, 10_000, 20_000, 30_000)]
    for number, text in enumerate(texts):
        scene.create(f"/{number}.md", " ".join(text))
    scene.pack()
    [made] = [item for item in scene.page().items if item.path == "/0.md"]
    changed = words_of(range(40_000, 40_000 + LONG))
    scene.update(made.id, " ".join(changed))  # type: ignore[union-attr]  # a memory, and no folder
    found = [word for word in changed[::50] if scene.search(word)]
    scene.pack()
    scene.cold()
    assert found == [word for word in changed[::50] if scene.search(word)]
    assert 0 < len(found) < len(changed[::50])


def test_a_text_that_was_cut_is_searched_as_a_whole_once_the_store_is_small_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search_pack.text_max_bytes, "__defaults__", (20_000,))
    scene = Searched()
    texts = [words_of(range(start, start + LONG)) for start in (0, 10_000, 20_000, 30_000)]
    made = [scene.create(f"/{number}.md", " ".join(text)) for number, text in enumerate(texts)]
    scene.pack()
    for memory in made[:3]:
        scene.delete(memory)
    scene.pack()
    scene.cold()
    assert scene.search(texts[3][-1]) == ["/3.md"]
    scene.pack()
    assert len(scene.packs()) == 1 and scene.packs()[0].endswith("2"), "and then it stays as it is"


@dataclass
class Written:
    """What is in the store, and every word that ever was."""

    scene: Searched
    texts: dict[str, list[str]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def text(self, length: int) -> list[str]:
        first = next(self.numbers) * LONG
        return words_of(range(first, first + length))

    def write(self, path: str, length: int) -> None:
        """Create the memory; or change it, keeping the first half of what it says."""
        if path not in self.ids:
            self.texts[path] = self.text(length)
            self.ids[path] = self.scene.create(path, " ".join(self.texts[path])).id
            return
        before = self.texts[path]
        kept = before[: len(before) // 2]
        self.replaced |= set(before) - set(kept)
        self.texts[path] = [*kept, *self.text(length)][-LONG * 2 :]
        self.replaced |= set(kept) - set(self.texts[path])
        self.scene.update(self.ids[path], " ".join(self.texts[path]))

    def remove(self, path: str) -> None:
        if path in self.ids:
            self.scene.delete(self.ids.pop(path))
            self.replaced |= set(self.texts.pop(path))

    def check(self, step: int) -> None:
        for path, text in self.texts.items():
            for word in {text[0], text[-1], *text[step % 7 :: max(len(text) // 8, 1)]}:
                assert self.scene.search(word) == [path], f"{word} of {path}"
        for word in sorted(self.replaced)[:: max(len(self.replaced) // 10, 1)]:
            assert self.scene.search(word) == [], f"{word} is in old texts alone"


PATHS = st.sampled_from(["/a.md", "/b.md", "/c/d.md"])
STEPS = st.one_of(
    st.tuples(st.just("write"), PATHS, st.sampled_from([1, 40, LONG])),
    st.tuples(st.just("delete"), PATHS, st.just(0)),
    st.tuples(st.sampled_from(["pack", "new process", "an hour passes"]), st.just(""), st.just(0)),
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=1, max_size=8))
def test_after_any_writes_each_word_of_a_current_text_is_found_and_none_of_an_old_one(
    steps: list[tuple[str, str, int]],
) -> None:
    scene = Searched(regions=("us-east-1",))
    written = Written(scene)
    for number, (step, path, length) in enumerate(steps):
        if step == "write":
            written.write(path, length)
        elif step == "delete":
            written.remove(path)
        elif step == "pack":
            scene.pack()
        elif step == "new process":
            scene.cold()
        else:
            scene.clock.advance(3_600)
        written.check(number)


def test_a_search_asks_the_index_for_little_more_than_it_shows_and_for_the_rest_where_that_is_withheld() -> None:
    scene = Searched()
    made = [scene.create(f"/{number}.md", f"{'zeppelin ' * number}at noon") for number in range(1, 24)]
    scene.pack()
    scene.search("zeppelin")
    counts = CallCounts()
    with scene.intercepted_by(counts):
        best = scene.search("zeppelin", limit=20)
        counts.rows.clear()
        scene.search("zeppelin", limit=3)
    assert counts.rows["read.memories"] == 3 + CONFIRMED_SPARE + 1, "the heads, and the mark of a whole table"
    for memory in made:
        if memory.path in best:
            scene.judge(memory)
    assert sorted(scene.search("zeppelin", limit=3)) == sorted({one.path for one in made} - set(best))[:3]


def renamed_in_vain(packed: bool, packs_by_events: bool = False) -> Searched:
    """A store of which a region has searched a memory at the path to which it was renamed; its new home never had
    that rename.
    """
    scene = Searched(packs_by_events=packs_by_events)
    memory = scene.create("/a.md", "The wombat stays.")
    scene.deliver()
    scene.clock.advance(3_600)
    assert scene.search("wombat") == ["/a.md"]
    scene.update(memory, "The numbat leaves.", path="/b.md")
    assert (scene.search("wombat"), scene.search("numbat")) == ([], ["/b.md"])
    if packed:
        scene.pack()
        scene.cold()
    hold_back(scene)
    fail_over(scene)
    for region in (HOME, AWAY):
        scene.cloud.claim_complete(region, scene.clock.now_us())
    return scene


@pytest.mark.parametrize("packed", [False, True], ids=["by a reader", "by the packer"])
def test_a_head_that_a_failover_took_back_is_found_where_the_lost_one_had_been_searched(packed: bool) -> None:
    scene = renamed_in_vain(packed)
    scene.deliver()
    assert scene.paths() == ["/a.md"]
    assert (scene.search("wombat"), scene.search("numbat")) == (["/a.md"], [])
    asked: dict[str, Any] = {"root": "/a.md", "direction": "both", "depth": 1, "types": [], "limit": 9}
    assert [one.path for one in scene.at(HOME).graph.reach(scene.call(), scene.store, **asked).nodes] == ["/a.md"]
    with scene.intercepted_by(counts := CallCounts()):
        scene.search("wombat")
    assert counts.requests["dynamodb.Query"] == 1, "it is compared as a whole once"


def test_a_search_that_runs_before_the_rows_are_repaired_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = renamed_in_vain(packed=True, packs_by_events=True)
    repair = Indexer.repair_rows

    def searched_before(self: Indexer, *given: Any) -> str | None:
        scene.search("wombat")
        return repair(self, *given)

    monkeypatch.setattr(Indexer, "repair_rows", searched_before)
    scene.cloud.pack_all()
    scene.deliver()
    scene.clock.advance(search_pack.REFRESH_DELAY_S)
    scene.cloud.pack_all()
    scene.clock.advance(LOOKED_FOR_EVERY_US // 1_000_000)
    assert (scene.search("wombat"), scene.search("numbat")) == (["/a.md"], [])
