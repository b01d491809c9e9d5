"""The deeper look: rules and readings that are too slow, or too eager, for the write path.

It runs after a write was committed, so it may take fifty times as long, and what it finds withholds a text that is
already there. It adds to what `Scanner.scan` finds:

- rules of their own (``rules/deep``): orders that carry no override phrase, and that only a text which is read by
  agents, and by nobody else, has no reason to hold;
- every reading of a text that somebody could ask a model to make: several layers of encoding, ciphers, words put
  together from list items, string literals or initial letters (`memolith.scanner.layers`,
  `memolith.scanner.deobfuscation`);
- what people do not see (`memolith.scanner.hidden`), where an order weighs more.
"""

from __future__ import annotations

from collections.abc import Iterator

from memolith.scanner.budget import Budget
from memolith.scanner.case_folding import CaseFolder, distinct
from memolith.scanner.deobfuscation import rejoined
from memolith.scanner.disguises import Reading, reading_of, straight
from memolith.scanner.engine import Engine
from memolith.scanner.hidden import Ranges, hidden_ranges
from memolith.scanner.language import hits_in
from memolith.scanner.layers import Encodings, Inflating, Layer, layers_below
from memolith.scanner.offsets import composed
from memolith.scanner.scoring import Emphasis, Hit

HIDDEN_WEIGHT = 1.75
"""What an order weighs that stands where people do not look."""


LAYER_SHARE = 0.25
"""Of what is left of the budget, the most that one database may take for one reading."""

LEAST_WEIGHT = 6.0
"""Rules of fewer points are not looked for in other readings, where words come about by accident."""


def hidden_emphasis(text: str) -> Emphasis:
    """Raise the weight of what people do not see, and of nothing else."""
    hidden = Ranges(hidden_ranges(text))
    return lambda start, end, how: HIDDEN_WEIGHT if hidden.enclose(start, end) else 1.0


class DeepLook:
    """Finds what the write path's rules do not look for. Composed once a process, on the first deep scan."""

    def __init__(self, folder: CaseFolder, usual: Engine, deep: Engine, encodings: Encodings) -> None:
        """Compose it.

        Args:
            folder: makes folded copies.
            usual: the write path's rules about language.
            deep: the deeper rules.
            encodings: where a text may be encoded.
        """
        self._folder = folder
        self._engines = (usual, deep)
        self._deep = deep
        self._encodings = encodings

    def hits(self, text: str, encoded: bytes, budget: Budget) -> Iterator[Hit]:
        """Every match of the deeper rules in the text, and of all rules in its other readings.

        Args:
            text: without surrogates.
            encoded: the same in UTF-8.
            budget: what it may cost; readings are left out when it is spent.
        """
        folded = self._folder.fold(text, encoded, distinct(encoded))
        yield from hits_in(reading_of(folded), self._deep, budget)
        unmasked = self._folder.unmask(folded)
        if unmasked is not None:
            yield from hits_in(reading_of(unmasked, "look-alike letters"), self._deep, budget)
        for layer in self._layers(text, budget):
            if budget.spent():
                return
            reading = self._read(layer)
            for engine in self._engines:
                yield from hits_in(reading, engine, budget.part(LAYER_SHARE), LEAST_WEIGHT)

    def _layers(self, text: str, budget: Budget) -> Iterator[Layer]:
        written = Layer("", text, lambda start, end: (start, end))
        inflating = Inflating()
        yield from layers_below(written, self._encodings, inflating)
        for layer in rejoined(text):
            yield layer
            if budget.spent():
                return
            yield from layers_below(layer, self._encodings, inflating, depth=1)

    def _read(self, layer: Layer) -> Reading:
        encoded = layer.text.encode("utf-8", "replace")
        folded = self._folder.fold(encoded.decode(), encoded, distinct(encoded))
        return Reading(layer.how, folded.text, folded.text.encode(), composed(straight(folded), layer.origin))
