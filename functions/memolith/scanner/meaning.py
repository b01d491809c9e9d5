"""What a passage means, weighed: orders to the reader in words that no rule and no sign holds. Deeper look only.

A model of meanings turns a passage into numbers, and a small network that was learned from attacks and harmless texts
(`scripts/train_meaning.py`) says how much these are an order. The model is handed in, as it is large and optional:
without one this layer is skipped, and nothing else changes.

Every passage is weighed by itself (`memolith.scanner.passages`), so that no other one excuses it. A model takes
milliseconds for each, so only passages are read that have two signs of an order at least (`memolith.scanner.signs`),
and of many only those with the most. Each part of a text has its own share, so that none can take another's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from memolith.scanner.budget import Budget
from memolith.scanner.case_folding import CaseFolder, distinct
from memolith.scanner.findings import Family
from memolith.scanner.passages import passages
from memolith.scanner.rules import Rule
from memolith.scanner.scoring import Hit
from memolith.scanner.signs import Signs

MEANING = Rule(
    "meaning",
    Family.INJECTION,
    "means an order to the reader",
    "Write it as a fact about the work instead of an order to the reader.",
    7.0,
    (),
    general=True,
)
"""A passage that rejects by what it means."""

MOST = 128
"""Passages of a text that are read, a third of a second; of a long text at least `LEAST_OF_A_PART` in each part."""

PART, LEAST_OF_A_PART = 12_000, 16

LEAST_SIGNS = 2
"""Of an order, in a passage that is worth reading."""

AT_ONCE = 8
"""Passages that are read between two looks at the budget."""

_COUNTED_A_LOOK = 256
"""Passages whose signs are counted between two looks at the budget."""

_GAPS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Meant:
    """What a model says of a passage: whether it is over the model's bar, and for which kind of order it takes it."""

    order: bool
    kind: str


class MeaningModel(Protocol):
    """Tells orders to a reader from other sentences by what they mean. On this machine; safe for threads."""

    def load(self) -> None:
        """Read the model, if that was not done yet: about a second, once a process."""

    def weigh(self, sentences: Sequence[str]) -> Sequence[Meant]:
        """Judge each sentence by itself. Some milliseconds for each."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What is read together, with its white space as blanks, and where it stands in the text."""

    said: str
    start: int
    end: int


class Plausible:
    """Chooses the passages of a text that are worth reading. Composed once a process."""

    def __init__(self, signs: Signs, folder: CaseFolder) -> None:
        """Take what says how many signs a passage has."""
        self._signs = signs
        self._folder = folder

    def passages(self, text: str, budget: Budget) -> list[Passage]:
        """Return passages to read, in the order of a text's parts, each part's by how many signs they have.

        Args:
            text: as written, without surrogates.
            budget: what it may cost; the rest of the text is left out when it is spent.
        """
        parts: dict[int, list[tuple[int, Passage]]] = {}
        said: set[str] = set()
        for start, end in passages(text):
            passage = Passage(_GAPS.sub(" ", text[start:end]), start, end)
            if passage.said in said:
                continue
            said.add(passage.said)
            count = self._signs_in(passage.said)
            if count >= LEAST_SIGNS:
                parts.setdefault(start // PART, []).append((count, passage))
            if len(said) % _COUNTED_A_LOOK == 0 and budget.spent():
                break
        share = max(LEAST_OF_A_PART, MOST // max(1, len(parts)))
        ranked = (sorted(part, key=lambda one: -one[0])[:share] for part in parts.values())
        return [passage for part in ranked for _, passage in part]

    def _signs_in(self, passage: str) -> int:
        encoded = passage.encode("utf-8", "replace")
        return self._signs.count(self._folder.fold(encoded.decode(), encoded, distinct(encoded)).text)


class MeaningLook:
    """Finds the passages of a text that mean an order. Composed once a process."""

    def __init__(self, model: MeaningModel, plausible: Plausible) -> None:
        """Take the model, and what chooses its passages."""
        self._model = model
        self._plausible = plausible

    def hits(self, text: str, budget: Budget) -> Iterator[Hit]:
        """Yield the passages that mean an order; of what stands several times the first.

        Args:
            text: as written, without surrogates.
            budget: what it may cost; the rest is left out when it is spent.
        """
        chosen = iter(self._plausible.passages(text, budget))
        while (batch := list(islice(chosen, AT_ONCE))) and not budget.spent():
            since = budget.meter()
            self._model.load()
            budget.forgive(since)
            meant = self._model.weigh([passage.said for passage in batch])
            for passage, one in zip(batch, meant, strict=True):
                if one.order:
                    yield Hit(MEANING, passage.start, passage.end, one.kind)
