"""How well search finds and how it does at size: ``python -m scripts.bench.search [memories] [queries]``
(``make bench-search``). What it finds is in `search_quality`; a folder of questions of one's own is named by
``RECALL=folder make bench-search``.

A store of made-up memories in one process, over adapters in memory: what is measured is packing, ranking and SQLite,
not the network; and times are a processor's, so that what else the machine does leaves them alone. The exit code is 1
where a figure misses its target. Then the same store from a folder, with four clients at once. The words are drawn
as words of a language are, a few of them very often and most of them seldom.
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import ManualClock
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Hit, Memory
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.objects.search_pack import PackKey
from scripts.bench import search_quality
from tests.support.cloud import Cloud
from tests.unit.app.api import planted_questions, recall_shares

QUESTIONS = Path(os.environ.get("RECALL", "../shared/corpora/recall-dev"))
SEED = 7
VOCABULARY = 30_000
WORDS_PER_MEMORY = (40, 400)
NAMES = ("Caroline", "Melanie", "Joanna", "Nate", "Tim", "John", "Maria", "James", "Evan", "Sam", "Calvin", "Dave")
REGION = "us-east-1"
ADDED = "periwinkle"


def vocabulary(chance: random.Random) -> tuple[list[str], list[float]]:
    """Make up words, and how often each is drawn (Zipf)."""
    syllables = [a + b for a in "bcdfglmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "or", "us")]
    words = list({"".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(VOCABULARY)})
    words.sort()
    chance.shuffle(words)
    return words, list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))


class Texts:
    """Made-up texts of `count` memories, and questions about them."""

    def __init__(self, count: int) -> None:
        self.chance = random.Random(SEED)  # noqa: S311 - made-up texts, the same each time
        self.words, self.weights = vocabulary(self.chance)
        self.texts = [self.text() for _ in range(count)]

    def text(self) -> str:
        """Make one memory's text: sentences, with a name here and there."""
        length = self.chance.randint(*WORDS_PER_MEMORY)
        drawn = self.chance.choices(self.words, cum_weights=self.weights, k=length)
        for place in range(5, length, 23):
            drawn[place] = self.chance.choice(NAMES)
        return " ".join(drawn)

    def questions(self, count: int) -> Iterator[tuple[str, str]]:
        """Yield questions, each with the path of the memory that its words are from."""
        for _ in range(count):
            number = self.chance.randrange(len(self.texts))
            words = self.texts[number].split()
            asked = self.chance.sample(words, k=min(6, len(words)))
            yield f"What did {self.chance.choice(NAMES)} say about {' '.join(asked)}?", f"/notes/{number}.md"


class Store(Texts):
    """A store of `count` memories, and questions about them."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.clock = ManualClock()
        self.counts = CallCounts()
        self.cloud = Cloud((REGION,), interceptor=self.counts, clock=self.clock, memories_per_store=max(count, 1))
        self.call = self.cloud.call(self.cloud.key())
        self.memolith = self.cloud.sites[REGION].memolith
        self.id = self.memolith.stores.create(self.call, name="bench", description="", metadata={}).id
        for number, text in enumerate(self.texts):
            self.memolith.memories.create(self.call, self.id, path=f"/notes/{number}.md", content=text, full=False)
            self.clock.advance(60)
        self.cloud.pending.clear()

    def change_one(self) -> str:
        """Another text for one memory; return a word that it alone has."""
        [first] = self.memolith.memories.page(
            self.call, self.id, path_prefix=None, depth=0, limit=1, after=None, full=False
        ).items
        if isinstance(first, Memory):
            self.memolith.memories.update(
                self.call, self.id, first.id, content=f"{self.text()} {ADDED}", path=None,
                expected_content_sha256=None, full=False,
            )  # fmt: skip
        return ADDED

    def begin_anew(self) -> None:
        """Start a new reader, a while after the last change, and count calls from here."""
        self.clock.advance(3_600)
        self.memolith = Memolith(self.cloud.sites[REGION].region, LettingAllThrough(), packs=SqlitePacks())
        self.counts.calls.clear()

    def search(self, query: str) -> Sequence[Hit]:
        """Return the ten that answer best."""
        return self.memolith.search.search(self.call, self.id, query=query, limit=10).items

    def pack(self) -> float:
        """Make the search segment; return how many seconds that took."""
        began = time.process_time()
        answer = self.cloud.peers.call(REGION, "packer", {"call": "pack", "store_id": self.id})
        if "error" in answer:
            raise SystemExit(str(answer))
        return time.process_time() - began

    def pack_bytes(self) -> int:
        """Return the size of the newest search segment."""
        [key] = self.cloud.buckets.page(REGION, PackKey.prefix(self.id), None, 10).keys
        stored = self.cloud.buckets.current(REGION, key)
        return 0 if stored is None else stored.size_bytes


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, beside what it should be: at least, or at most. None where it was not measured."""

    name: str
    value: float | None
    target: float
    at_least: bool = False

    @property
    def missed(self) -> bool:
        if self.value is None:
            return False
        return round(self.value, 3) < self.target if self.at_least else self.value > self.target

    def __str__(self) -> str:
        shown = "       -" if self.value is None else f"{self.value:8.3f}"
        return f"{self.name:58} {shown} {'>=' if self.at_least else '<='} {self.target:g}{'  MISSED' * self.missed}"


def size(count: int, asked: int) -> Iterator[Figure]:
    """Measure a store of `count` memories."""
    store = Store(count)
    print(f"{count:,} memories of {statistics.mean(map(len, store.texts)):,.0f} bytes on the average")
    print(f"pack made from nothing in {store.pack():.1f} s")
    yield Figure("pack, MB", store.pack_bytes() / 1e6, 45)
    store.search("anything at all")
    changed = store.search(store.change_one())
    yield Figure(
        "a changed memory is the first of the next search", len(changed) and ADDED in changed[0].excerpt, 1, True
    )
    print(f"pack made again after one change in {store.pack():.2f} s")
    store.begin_anew()
    began = time.process_time()
    store.search("anything at all")
    took = time.process_time() - began
    print(f"first search of a process: {took:.2f} s; calls: {dict(store.counts.calls)}")
    times, found, excerpts = [], 0, list[bool]()
    for question, path in store.questions(asked):
        began = time.process_time()
        hits = store.search(question)
        times.append((time.process_time() - began) * 1000)
        found += path in [hit.memory.path for hit in hits]
        excerpts += [whole_words(store.texts[int(hit.memory.path[7:-3])], hit.excerpt) for hit in hits]
    times.sort()
    print(f"{asked} searches; the memory asked about is among ten in {found / asked:.3f}")
    yield Figure("search p50, ms of a processor", times[len(times) // 2], 12)
    yield Figure("search p95, ms of a processor", times[len(times) * 95 // 100], 25)
    yield Figure("excerpts that begin and end with a word, share", sum(excerpts) / len(excerpts), 1, True)


def whole_words(text: str, excerpt: str) -> bool:
    """Tell whether an excerpt of a text begins and ends where words do; one of a text that was changed does."""
    return excerpt not in text or f" {excerpt} " in f" {text} "


def quality() -> Iterator[Figure]:
    """Measure what is found, where there are questions that people wrote."""
    found = search_quality.report(QUESTIONS)
    known = (QUESTIONS / "questions.jsonl").is_file()
    for engine, recall, rank in (("Memolith", 0.025, 0.045), ("with model", 0.035, 0.055)):
        for name, place, target in (("R@5", 0, recall), ("MRR", 2, rank)):
            more = found[engine][place] - found["plain BM25"][place] if known else None
            yield Figure(f"{name} over BM25, {engine}", more, target, True)


def recalled() -> Iterator[Figure]:
    """Measure the planted questions of the graph, and those of recall."""
    planted, team = planted_questions.planted_store(), recall_shares.team_store()
    yield Figure(
        "two links away: a context has the answer, share", planted_questions.context_share(planted), 0.95, True
    )
    yield Figure("two links away: a search has the answer, share", planted_questions.search_share(planted), 0.6)
    related, empty = (
        (share(team, 0) + share(team, 1)) / 2 for share in (recall_shares.found_share, recall_shares.empty_share)
    )
    yield Figure("recall of 100 related questions, share among five", related, 0.85, True)
    yield Figure("recall of 100 unrelated questions, share empty", empty, 0.9, True)


def served(count: int) -> Iterator[Figure]:
    """Measure `memolith serve` with four clients at once."""
    from scripts.bench import search_clients  # its texts are made here

    rate = search_clients.four_at_once(count)
    yield Figure("four clients of memolith serve, searches a second", rate.a_second, 100, True)
    print(f"one search over HTTP: {rate.processor_ms:.1f} ms of a processor, with which a second holds", end=" ")
    print(f"{1000 / rate.processor_ms:.0f} in one thread; the load was {os.getloadavg()[0]:.1f} of {os.cpu_count()}")


def main(count: int = 10_000, asked: int = 200) -> int:
    """Print the figures; return 1 where one is missed."""
    missed = 0
    for figure in itertools.chain(recalled(), size(count, asked), served(count), quality()):
        print(figure, flush=True)
        missed += figure.missed
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
