"""Whether search finds: questions with known answers, beside plain BM25 in the same run.

Two sets of questions. One is made up here, of facts in work logs; it says that nothing is broken. The other is read
from a folder that is not part of this repository, where it is there: conversations of people, with questions that
people wrote (`memories.jsonl`, `questions.jsonl`).

Three figures each: R@5 and R@10, the share of a question's evidence among the first five and ten; and MRR, the mean of
one divided by the place of the first evidence, up to the fiftieth place.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from memolith.adapters.encoders import encoder_of
from memolith.adapters.memory import ManualClock
from memolith.adapters.sqlite import SqlitePacks
from tests.support.cloud import Cloud

REGION = "us-east-1"
SEED = 11
SHOWN = 50
Search = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Questions:
    """Texts with the time at which each was written, and questions, each with the numbers of the texts that answer."""

    name: str
    texts: tuple[tuple[datetime, str, str], ...]
    asked: tuple[tuple[str, frozenset[int]], ...]


# ---- the two sets ----------------------------------------------------------------------------------------------------


def from_folder(folder: Path) -> Questions | None:
    """Read a set of conversations; None where there is none."""
    if not (folder / "memories.jsonl").is_file():
        return None
    memories = _rows(folder / "memories.jsonl")
    numbers = {one["id"]: number for number, one in enumerate(memories)}
    texts = tuple(
        (
            datetime.strptime(one["date"].replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC),
            f"/conversations/{one['conversation']}/{one['session']}.md",
            one["text"],
        )
        for one in memories
    )
    questions = _rows(folder / "questions.jsonl")
    asked = ((one["question"], frozenset(numbers[id] for id in one["evidence"])) for one in questions)
    return Questions(folder.name, texts, tuple(asked))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


PEOPLE = ("Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas")
PROJECTS = ("Heron", "Lantern", "Quarry", "Saffron", "Tundra", "Willow", "Cobalt", "Juniper")
THINGS = (
    "the billing service", "the search index", "the mobile app", "the onboarding flow", "the data warehouse",
    "the payment gateway", "the staging cluster", "the audit log", "the recommendation model", "the public website",
)  # fmt: skip
FACTS = (
    ("{who} moved {thing} of {project} to {place}.", "Where did {who} move {thing}?"),
    ("{who} found that {thing} fails when {cause}.", "Why does {thing} fail according to {who}?"),
    ("{who} agreed to review {thing} before {when}.", "Until when will {who} be reviewing {thing}?"),
    ("{who} prefers {taste} for lunch on release days.", "What does {who} like to eat on the day of a release?"),
    ("{who} is learning {skill} in the evenings.", "Which skill is {who} studying after work?"),
    ("{who} asked for {wish} in {thing}.", "What did {who} ask for in {thing}?"),
    ("{who} will be away {when}, travelling to {place}.", "When does {who} travel to {place}?"),
)
SLOTS = {
    "place": (
        "Lisbon", "Oslo", "Osaka", "Toronto", "the Frankfurt region", "the Dublin office", "Nairobi", "Montevideo",
    ),
    "cause": (
        "two requests arrive at once", "the disk is full", "a token has expired", "a name contains an apostrophe",
        "the clock jumps back", "a page is empty", "the cache was cleared", "the queue is paused",
    ),
    "when": ("Easter", "the end of the quarter", "the spring audit", "next Tuesday", "the board meeting", "midsummer"),
    "taste": ("ramen", "lentil soup", "falafel", "pierogi", "sushi", "empanadas", "dosas", "focaccia"),
    "skill": (
        "pottery", "welding", "Portuguese", "the cello", "chess endgames", "watercolor painting", "bread baking",
    ),
    "wish": (
        "dark mode", "bulk export", "a second approver", "offline use", "shorter reports", "audit trails", "shortcuts",
    ),
}  # fmt: skip
SMALL_TALK = (
    "We went through the list and nothing else came up.", "Everyone agreed that the week had been long.",
    "The meeting started late because the room was taken.", "There was a question about lunch, as there always is.",
    "Somebody said that things take time, and people nodded.", "We will look at the rest when there is more to say.",
    "The numbers look much like last time.", "Thanks to all who helped to get this done.",
)  # fmt: skip


def made_up(days: int = 300, facts_a_day: int = 4) -> Questions:
    """Make logs of two people a day, and questions about every fourth fact, half of them with its month.

    Whoever asks without a month means every log that has such a fact; with one, those of that month.
    """
    chance = random.Random(SEED)  # noqa: S311 - made-up texts, the same each time
    began = datetime(2025, 1, 6, 9, tzinfo=UTC)
    texts: list[tuple[datetime, str, str]] = []
    having: dict[str, set[int]] = {}
    for number in range(days):
        at = began + timedelta(days=2 * number)
        project, pair = chance.choice(PROJECTS), chance.sample(PEOPLE, 2)
        lines = [f"Log of {project}: {pair[0]} and {pair[1]} met."]
        for _ in range(facts_a_day):
            statement, question = chance.choice(FACTS)
            filled = {slot: chance.choice(values) for slot, values in SLOTS.items()}
            filled |= {"who": chance.choice(pair), "thing": chance.choice(THINGS), "project": project}
            lines += [statement.format(**filled), *chance.sample(SMALL_TALK, 2)]
            asked = question.format(**filled)
            having.setdefault(asked, set()).add(number)
            having.setdefault(f"{asked[:-1]} in {at:%B %Y}?", set()).add(number)
        texts.append((at, f"/logs/{project.lower()}/{number}.md", " ".join(lines)))
    asked_of = chance.sample(sorted(having), len(having) // 4)
    return Questions("made up", tuple(texts), tuple((question, frozenset(having[question])) for question in asked_of))


# ---- the two engines -------------------------------------------------------------------------------------------------


def memolith(questions: Questions, model: str = "none") -> Search:
    """Write the texts at their times into a store, and search it a day after the last, with a search model or none."""
    first = min(at for at, _, _ in questions.texts)
    clock = ManualClock(int(first.timestamp() * 1_000_000))
    cloud = Cloud((REGION,), clock=clock, memories_per_store=len(questions.texts), encoder=encoder_of(model))
    call, site = cloud.call(cloud.key()), cloud.sites[REGION].memolith
    store = site.stores.create(call, name="quality", description="", metadata={}).id
    numbers: dict[str, int] = {}
    for number, (at, path, text) in sorted(enumerate(questions.texts), key=lambda one: one[1][0]):
        clock.advance(max(at.timestamp() - clock.now_us() / 1_000_000, 0))
        site.memories.create(call, store, path=path, content=text, full=False)
        numbers[path] = number
    cloud.pending.clear()
    cloud.peers.call(REGION, "packer", {"call": "pack", "store_id": store})
    clock.advance(86_400)

    def search(query: str) -> list[int]:
        return [numbers[hit.memory.path] for hit in site.search.search(call, store, query=query, limit=SHOWN).items]

    return search


def plain_bm25(questions: Questions, saturation: float = 1.2, length_weight: float = 0.75) -> Search:
    """Make BM25 over stems of all words, and nothing else."""
    stem = SqlitePacks().stem

    def stems(text: str) -> list[str]:
        return [stem(word) for word in re.findall(r"\w+", text.lower())]

    texts = [Counter(stems(text)) for _, _, text in questions.texts]
    lengths = [sum(text.values()) for text in texts]
    usual = sum(lengths) / len(lengths)
    frequencies = Counter(word for text in texts for word in text)

    def score(words: list[str], number: int) -> float:
        norm = saturation * (1 - length_weight + length_weight * lengths[number] / usual)
        worth = 0.0
        for word in words:
            count, having = texts[number][word], frequencies[word]
            if count:
                rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
                worth += rarity * count * (saturation + 1) / (count + norm)
        return worth

    def search(query: str) -> list[int]:
        words = stems(query)
        return sorted(range(len(texts)), key=lambda number: (-score(words, number), number))[:SHOWN]

    return search


def measured(search: Search, questions: Questions) -> tuple[float, float, float]:
    """Return R@5, R@10 and MRR."""
    sums = [0.0, 0.0, 0.0]
    for query, evidence in questions.asked:
        found = list(search(query))
        sums[0] += len(evidence & set(found[:5])) / len(evidence)
        sums[1] += len(evidence & set(found[:10])) / len(evidence)
        sums[2] += next((1 / place for place, number in enumerate(found, 1) if number in evidence), 0.0)
    return (sums[0] / len(questions.asked), sums[1] / len(questions.asked), sums[2] / len(questions.asked))


ENGINES = (("plain BM25", plain_bm25), ("Memolith", memolith), ("with model", partial(memolith, model="use")))


def report(folder: Path) -> dict[str, tuple[float, float, float]]:
    """Print the figures of both sets, or say that one is not there; return those of the last by engine."""
    figures: dict[str, tuple[float, float, float]] = {}
    for questions in (made_up(), from_folder(folder)):
        if questions is None:
            print(f"no questions in {folder}: only the made-up set was measured")
            continue
        print(f"{questions.name}: {len(questions.texts)} texts, {len(questions.asked)} questions; R@5, R@10, MRR")
        for name, engine in ENGINES:
            figures[name] = measured(engine(questions), questions)
            print(f"  {name:12} {' '.join(f'{figure:.3f}' for figure in figures[name])}", flush=True)
    return figures
