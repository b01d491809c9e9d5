"""`ports.packs` on SQLite, which comes with Python, and its full-text index FTS5.

Importing this imports neither SQLite nor the stemmer: a function that never searches starts without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from memolith.ports.packs import IncomingPack, Pack
from memolith.ports.vectors import Encoder

STEMS_KEPT = 100_000


class SqlitePacks:
    """Packs in this process's memory; a pack that is kept is a SQLite database, byte for byte. Safe for threads."""

    def __init__(self, encoder: Encoder | None = None, folder: Path | None = None) -> None:
        """Make it. In `folder`, if there is one, are large packs that arrive piece by piece: nameless files, which are
        gone with the process.
        """
        self.encoder = encoder
        self._folder = folder

    def new(self) -> Pack:
        """Make an empty segment; a few milliseconds."""
        from memolith.adapters.sqlite.pack import SqlitePack

        return SqlitePack.new()

    def open(self, body: bytes) -> Pack:
        """Open a stored segment; as long as copying it takes."""
        from memolith.adapters.sqlite.incoming import open_body

        return open_body(body)

    @contextmanager
    def incoming(self) -> Iterator[IncomingPack]:
        """Yield what takes a stored segment; a large one is written to a file, where there is a folder for it."""
        from memolith.adapters.sqlite.incoming import SqliteIncoming

        incoming = SqliteIncoming(self._folder)
        try:
            yield incoming
        finally:
            incoming.close()

    def stem(self, word: str) -> str:
        """Stem with Porter's second stemmer for English, which cuts a word of another language little, always alike.

        Tens of microseconds for a word that is new, and next to nothing for one of the last hundred thousand.
        """
        return _stem(word)


@lru_cache(maxsize=STEMS_KEPT)
def _stem(word: str) -> str:
    from memolith.adapters.sqlite.stemming import english

    return english(word)


__all__ = ["SqlitePacks"]
