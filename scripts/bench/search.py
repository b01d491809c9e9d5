"""How well search finds and how it does at size: ``python -m scripts.bench.search [memories] [queries]``
(``make bench-search``). What it finds is in `search_quality`; a folder of questions of one's own is named by
``RECALL=folder make bench-search``.

A store of made-up memories in one process, over adapters in memory: what is measured is packing, ranking and SQLite,
not the network; and times are a processor's, so that what else the machine does leaves them alone. The words are drawn
as words of a language are, a few of them very often and most of them seldom.
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import ManualClock
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Memory
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.objects.search_pack import PackKey
from scripts.bench import search_quality
from tests.support.cloud import Cloud

QUESTIONS = Path(os.environ.get("RECALL", "../shared/corpora/recall-dev"))
SEED = 7
VOCABULARY = 30_000
WORDS_PER_MEMORY = (40, 400)
NAMES = ("Caroline", "Melanie", "Joanna", "Nate", "Tim", "John", "Maria", "James", "Evan", "Sam", "Calvin", "Dave")
REGION = "us-east-1"


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

    def change_one(self) -> None:
        """Another text for one memory."""
        [first] = self.memolith.memories.page(
            self.call, self.id, path_prefix=None, depth=0, limit=1, after=None, full=False
        ).items
        if isinstance(first, Memory):
            self.memolith.memories.update(
                self.call, self.id, first.id, content=self.text(), path=None, expected_content_sha256=None, full=False
            )

    def begin_anew(self) -> None:
        """Start a new reader, a while after the last change, and count calls from here."""
        self.clock.advance(3_600)
        self.memolith = Memolith(self.cloud.sites[REGION].region, LettingAllThrough(), packs=SqlitePacks())
        self.counts.calls.clear()

    def search(self, query: str) -> list[str]:
        """Return the paths of the ten that answer best."""
        found = self.memolith.search.search(self.call, self.id, query=query, limit=10)
        return [hit.memory.path for hit in found.items]

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


def main(count: int = 10_000, asked: int = 200) -> None:
    """Print the figures."""
    search_quality.report(QUESTIONS)
    store = Store(count)
    print(f"{count:,} memories of {statistics.mean(map(len, store.texts)):,.0f} bytes on the average")
    print(f"pack made from nothing in {store.pack():.1f} s, {store.pack_bytes() / 1e6:.1f} MB")
    store.change_one()
    print(f"pack made again after one change in {store.pack():.2f} s")
    store.begin_anew()
    began = time.process_time()
    store.search("anything at all")
    took = time.process_time() - began
    print(f"first search of a process: {took:.2f} s; calls: {dict(store.counts.calls)}")
    times, found = [], 0
    for question, path in store.questions(asked):
        began = time.process_time()
        found += path in store.search(question)
        times.append((time.process_time() - began) * 1000)
    times.sort()
    p50, p95 = times[len(times) // 2], times[len(times) * 95 // 100]
    print(
        f"{asked} searches: p50 {p50:.1f} ms, p95 {p95:.1f} ms; the memory asked about among ten: {found / asked:.3f}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
