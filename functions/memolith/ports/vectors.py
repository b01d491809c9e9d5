"""A model of meanings, and what a pack keeps of it: a vector for each passage of a text.

The model is optional. It changes the order of what words have found, and finds what no word leads to; it never decides
what may be shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near the nearest passage of a text is to a query (a cosine), and which passage that is, from 0."""

    cosine: float
    passage: int


class Encoder(Protocol):
    """Turns texts into vectors, on this machine: no text leaves it. Loaded on first use. Safe for threads."""

    @property
    def name(self) -> str:
        """Which model and which form of its vectors: those of another cannot be compared."""

    def encode(self, texts: Sequence[str]) -> bytes:
        """Return the vectors of texts, one behind the other, all of one length. Some milliseconds for each."""

    def likeness(self, query: str, encoded: Mapping[str, bytes]) -> Mapping[str, Likeness]:
        """Compare a query with texts, each with the vectors of its passages; a text that has none is left out."""


class VectorPack(Protocol):
    """The vectors in an open pack, each memory's at the version that the pack has. Every method raises DamagedPack."""

    def without_vectors(self, model: str, limit: int) -> list[str]:
        """Return memories that have no vectors of this model yet, those that changed last first."""

    def put_vectors(self, model: str, encoded: Mapping[str, bytes]) -> None:
        """Keep the vectors of these memories, in place of any others; a memory that it does not have is left out."""

    def vectors(self, model: str, memory_ids: Sequence[str]) -> Mapping[str, bytes]:
        """Return the vectors that it has of these memories."""
