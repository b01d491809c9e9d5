"""What a sentence is an order to, by the numbers that the Universal Sentence Encoder makes of it.

A network of one hidden layer (`meaning.npz`, 100 KB, learned by `scripts/train_meaning.py`): for each kind of order
and for harmless sentences a score. The weights of the hidden layer are kept in eight bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.encoders.use import UseEncoder
from memolith.scanner.meaning import Meant

WEIGHTS = Path(__file__).with_name("meaning.npz")

KINDS = ("harmless", "override", "role", "hijack", "persistence", "exfiltration")
"""What the network tells apart, in the order of its scores."""

SAID = {
    "override": "sets aside what the reader was told",
    "role": "gives the reader or the writer another role",
    "hijack": "another task than the reader's own",
    "persistence": "a standing order or permission",
    "exfiltration": "hands out what is not to leave",
}
"""What a finding says of a kind."""

Numbers = NDArray[np.float32]


class UseMeaning:
    """`scanner.meaning.MeaningModel`. Its second and its 150 MB are those of the encoder, shared with searches."""

    def __init__(self, encoder: UseEncoder, weights: Path = WEIGHTS) -> None:
        """Read the network, not the encoder."""
        self._encoder = encoder
        with np.load(weights, allow_pickle=False) as kept:
            self._hidden = kept["hidden"].astype(np.float32) * kept["scale"]
            self._shift, self._out, self._least = kept["shift"], kept["out"], kept["least"]
            self._bar = float(kept["bar"])

    def load(self) -> None:
        """Read the encoder, if that was not done yet."""
        self._encoder.load()

    def weigh(self, sentences: Sequence[str]) -> list[Meant]:
        """Judge each sentence by itself; two to four milliseconds for each."""
        if not sentences:
            return []
        scores = self.scores(self._encoder.vectors(sentences))
        kinds = scores[:, 1:].argmax(axis=1) + 1
        orders = margin(scores) >= self._bar
        return [Meant(bool(order), SAID[KINDS[kind]]) for order, kind in zip(orders, kinds, strict=True)]

    def scores(self, vectors: Numbers) -> Numbers:
        """Return a score for each of `KINDS`."""
        scores: Numbers = np.tanh(vectors @ self._hidden + self._shift) @ self._out + self._least
        return scores


def margin(scores: Numbers) -> Numbers:
    """Return by how much the kinds of orders together outweigh what is harmless: a logarithm of odds."""
    orders = scores[:, 1:]
    most = orders.max(axis=1)
    found: Numbers = most + np.log(np.exp(orders - most[:, None]).sum(axis=1)) - scores[:, 0]
    return found
