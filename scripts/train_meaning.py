"""Learn what an order means: writes `functions/memolith/adapters/encoders/meaning.npz`.

    python -m scripts.train_meaning            # leave each author and a share of the documents out in turn, and report
    python -m scripts.train_meaning --write    # train on all of them, keep the weights

A network of one hidden layer over the encoder's numbers for each passage (`memolith.scanner.passages`). An attack is as
strong as its strongest passage, so after a first round only that one counts; of a harmless text every passage does.
Three networks from three beginnings are averaged into one. Deterministic. The held-out halves and `intents_check.txt`
are never read here. Needs the extra `model`; encoding takes some minutes, which `--cache` saves the next time.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from memolith.adapters.encoders.meaning import KINDS, WEIGHTS, Numbers, margin
from memolith.adapters.encoders.use import UseEncoder
from memolith.scanner.budget import Budget
from memolith.scanner.case_folding import CaseFolder, read_confusables
from memolith.scanner.meaning import Plausible
from memolith.scanner.signs import Signs, read_tables
from scripts import scanner_corpus as corpus
from scripts import train_signs

OWN = ("development", "intents", "intents_six", "signs", "orders")
BAR = 1.8
"""Chosen by the report: what it says of notes, documents and texts about attacks at this bar is within the budgets."""

HIDDEN, BEGINNINGS, ROUNDS, BATCH, RATE, DECAY = 64, 3, (5, 3, 3), 128, 0.003, 3e-4
OF_HARMLESS, OF_DOCUMENTS = 2.0, 1.0
"""What a passage of an author's harmless text counts, and one of a document, beside one of an attack."""

MOST_OF_A_DOCUMENT = 96
MESSAGES_LEFT_OUT = 8
"""Of the short messages, one in so many is learned from."""


@dataclass
class Lesson:
    """One text to learn from: where it comes from, what kind it is, and its passages."""

    origin: str
    kind: int
    named: str
    passages: list[str] = field(default_factory=list)
    weight: float = 1.0


def lessons(corpora: Path, look: Plausible) -> Iterator[Lesson]:
    """Yield every text that there is to learn from."""
    for name in (*OWN, *corpus.AUTHORS):
        for text in corpus.read(name):
            kind = KINDS.index(text.kind) if text.kind in KINDS else 0
            origin = name if name in corpus.AUTHORS else "own"
            weight = OF_HARMLESS if text.harmless else 1.0
            yield Lesson(origin, kind, text.kind, worth_reading(look, text.text), weight)
    messages = 0
    for found in train_signs.texts(corpora):
        if found.origin in (*train_signs.OWN, *corpus.AUTHORS, "rules"):
            continue
        messages += found.origin == "messages"
        if found.origin == "messages" and messages % MESSAGES_LEFT_OUT:
            continue
        read = worth_reading(look, found.text)[:MOST_OF_A_DOCUMENT]
        yield Lesson(found.origin, int(found.attack), found.kind, read, OF_DOCUMENTS)


def worth_reading(look: Plausible, text: str) -> list[str]:
    """Return the passages of a text that a scan would read."""
    return [passage.said for passage in look.passages(text, Budget(60.0))]


class Network:
    """The network while it is learned."""

    def __init__(self, beginning: int) -> None:
        """Begin with small random weights."""
        chooser = np.random.default_rng(beginning)
        self.chooser = chooser
        self.weights: dict[str, Numbers] = {
            "hidden": chooser.standard_normal((512, HIDDEN)).astype(np.float32),
            "shift": np.zeros(HIDDEN, np.float32),
            "out": (chooser.standard_normal((HIDDEN, len(KINDS))) * 0.3 / np.sqrt(HIDDEN)).astype(np.float32),
            "least": np.array([2] + [-1] * (len(KINDS) - 1), np.float32),
        }
        self._mean = {name: np.zeros_like(one) for name, one in self.weights.items()}
        self._spread = {name: np.zeros_like(one) for name, one in self.weights.items()}
        self._steps = 0

    def scores(self, vectors: Numbers) -> Numbers:
        """Return a score for each kind."""
        of = self.weights
        scores: Numbers = np.tanh(vectors @ of["hidden"] + of["shift"]) @ of["out"] + of["least"]
        return scores

    def learn(self, vectors: Numbers, kinds: np.ndarray, counts: Numbers) -> None:
        """Take one step along the slope of a batch."""
        of = self.weights
        active = np.tanh(vectors @ of["hidden"] + of["shift"])
        scores = active @ of["out"] + of["least"]
        wrong = np.exp(scores - scores.max(axis=1, keepdims=True))
        wrong /= wrong.sum(axis=1, keepdims=True)
        wrong[np.arange(len(kinds)), kinds] -= 1
        wrong = (wrong * (counts / len(kinds))[:, None]).astype(np.float32)
        inner = (wrong @ of["out"].T) * (1 - active * active)
        slopes = {
            "hidden": vectors.T @ inner + DECAY * 0.1 * of["hidden"],
            "shift": inner.sum(axis=0),
            "out": active.T @ wrong + DECAY * of["out"],
            "least": wrong.sum(axis=0),
        }
        self._steps += 1
        for name, slope in slopes.items():
            self._mean[name] = 0.9 * self._mean[name] + 0.1 * slope
            self._spread[name] = 0.999 * self._spread[name] + 0.001 * slope * slope
            step = self._mean[name] / (1 - 0.9**self._steps)
            of[name] -= RATE * step / (np.sqrt(self._spread[name] / (1 - 0.999**self._steps)) + 1e-8)


@dataclass
class Passages:
    """Every passage of the texts as numbers."""

    texts: list[Lesson]
    vectors: Numbers
    owner: np.ndarray

    def fit(self, chosen: np.ndarray) -> list[Network]:
        """Learn from the passages of some of the texts."""
        rows = np.nonzero(chosen[self.owner])[0]
        vectors, owner = self.vectors[rows], self.owner[rows]
        kinds = np.array([self.texts[number].kind for number in owner])
        counts = np.array([self.texts[number].weight for number in owner], np.float32)
        return [self._one(Network(beginning), vectors, kinds, owner, counts) for beginning in range(BEGINNINGS)]

    @staticmethod
    def _one(net: Network, vectors: Numbers, kinds: np.ndarray, owner: np.ndarray, counts: Numbers) -> Network:
        for done, times in enumerate(ROUNDS):
            used = np.ones(len(kinds), bool)
            if done:
                score, best = margin(net.scores(vectors)), dict[int, int]()
                for row in map(int, np.nonzero(kinds)[0]):
                    if owner[row] not in best or score[row] > score[best[owner[row]]]:
                        best[owner[row]] = row
                used = kinds == 0
                used[list(best.values())] = True
            for _ in range(times):
                order = net.chooser.permutation(np.nonzero(used)[0])
                for start in range(0, len(order), BATCH):
                    batch = order[start : start + BATCH]
                    net.learn(vectors[batch], kinds[batch], counts[batch])
        return net

    def strongest(self, nets: Sequence[Network]) -> Numbers:
        """Return the score of each text's strongest passage."""
        kept = together(nets)
        scores = np.tanh(self.vectors @ (kept["hidden"] * kept["scale"]) + kept["shift"]) @ kept["out"] + kept["least"]
        best = np.full(len(self.texts), -99.0, np.float32)
        np.maximum.at(best, self.owner, margin(scores))
        return best


def together(nets: Sequence[Network]) -> dict[str, np.ndarray]:
    """Return several networks as one whose scores are their mean, its hidden layer in eight bits."""
    hidden = np.concatenate([net.weights["hidden"] for net in nets], axis=1)
    scale = (np.abs(hidden).max(axis=0) / 127).astype(np.float32)
    return {
        "hidden": np.round(hidden / scale).astype(np.int8),
        "scale": scale,
        "shift": np.concatenate([net.weights["shift"] for net in nets]),
        "out": (np.concatenate([net.weights["out"] for net in nets]) / len(nets)).astype(np.float32),
        "least": np.mean([net.weights["least"] for net in nets], axis=0).astype(np.float32),
        "bar": np.array(BAR, np.float32),
    }


def encoded(texts: Sequence[Lesson], cache: Path | None) -> Passages:
    """Encode every passage once."""
    said = list(dict.fromkeys(passage for text in texts for passage in text.passages))
    print(f"{len(said)} passages of {len(texts)} texts")
    known: dict[str, Numbers] = {}
    if cache is not None and cache.exists():
        with np.load(cache, allow_pickle=False) as kept:
            known = dict(zip(kept["said"].tolist(), kept["vectors"], strict=True))
    missing = sorted((passage for passage in said if passage not in known), key=len)
    encoder = UseEncoder()
    for start in range(0, len(missing), 256):
        some = missing[start : start + 256]
        known.update(zip(some, encoder.vectors(some).astype(np.float16), strict=True))
    if cache is not None and missing:
        np.savez(cache, said=np.array(list(known)), vectors=np.stack(list(known.values())))
    owner = np.array([number for number, text in enumerate(texts) for _ in text.passages])
    vectors = np.stack([known[passage] for text in texts for passage in text.passages]).astype(np.float32)
    return Passages(list(texts), vectors, owner)


def turn_of(text: Lesson, leave: Callable[[str], str | None]) -> str:
    """Return in whose turn a text is left out: its author's, or one by its hash for the documents."""
    author = leave(text.origin)
    digest = hashlib.sha256("\n".join(text.passages).encode()).digest()
    return author or corpus.AUTHORS[digest[0] % len(corpus.AUTHORS)]


def report(table: Passages) -> None:
    """Print what is rejected of texts whose author was left out, at some bars."""
    turns = [
        turn_of(text, lambda origin: origin if origin in (*corpus.AUTHORS, "own") else None) for text in table.texts
    ]
    turn, score = np.array(turns), np.full(len(turns), -99.0)
    for author in corpus.AUTHORS:
        left = turn == author
        score[left] = table.strongest(table.fit(~left))[left]
    named = np.array([text.named for text in table.texts])
    origin = np.array([text.origin for text in table.texts])
    attack = np.array([text.kind > 0 for text in table.texts])
    by_author = np.isin(origin, corpus.AUTHORS)
    for bar in (1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3.0):
        groups = {f"attacks of {author}": attack & (origin == author) for author in corpus.AUTHORS}
        groups |= {kind: by_author & (named == kind) for kind in (*KINDS[1:], "note", "about")}
        groups |= {
            name: (origin == name) & ~attack for name in dict.fromkeys(origin) if name not in {*corpus.AUTHORS, "own"}
        }
        shares = [f"{name} {np.mean(score[group] >= bar):.3f} of {group.sum()}" for name, group in groups.items()]
        print(f"bar {bar}: {', '.join(shares)}")


def main(arguments: list[str]) -> int:
    """Train, and report or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=Path("../shared/corpora"))
    parser.add_argument("--cache", type=Path, default=None, help="an .npz file that keeps what was encoded")
    parser.add_argument("--write", action="store_true", help="keep the weights")
    options = parser.parse_args(arguments)
    look = Plausible(Signs(read_tables()), CaseFolder(read_confusables()))
    table = encoded(list(lessons(options.corpora, look)), options.cache)
    if options.write:
        kept = together(table.fit(np.ones(len(table.texts), bool)))
        np.savez_compressed(WEIGHTS, **kept)  # type: ignore[arg-type]  # no array has the name of its option
        print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes")
    else:
        report(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
