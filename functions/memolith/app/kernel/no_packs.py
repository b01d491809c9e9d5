"""Where there are no packs: in a function that only writes, and in a simulation that does not search."""

from __future__ import annotations

from contextlib import AbstractContextManager

from memolith.core.errors import Unavailable
from memolith.ports.packs import IncomingPack, Pack, Packs


class NoPacks:
    """`ports.packs.Packs` where there are none: a function that only writes."""

    encoder = None

    def new(self) -> Pack:
        """Raise Unavailable."""
        raise Unavailable("this function does not search; ask a reader")

    def open(self, body: bytes) -> Pack:
        """Raise Unavailable, as `new` does."""
        return self.new()

    def incoming(self) -> AbstractContextManager[IncomingPack]:
        """Raise Unavailable, as `new` does."""
        raise Unavailable("this function does not search; ask a reader")

    def stem(self, word: str) -> str:
        """Return the word itself."""
        return word


NO_PACKS: Packs = NoPacks()
