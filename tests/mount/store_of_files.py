"""A store for mounts of which only the speed, or the number of requests, is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from memolith.clients.working_copy.store_client import Changes, Gone, Head, Heads, Version


class StoreOfFiles:
    """A store that has what is in a folder, and that nobody writes to: a `StoreClient`.

    Attributes:
        asked: how often it was asked for what.
    """

    def __init__(self, folder: Path) -> None:
        self.asked: Counter[str] = Counter()
        self._texts = {"/" + str(place.relative_to(folder)): place.read_bytes() for place in folder.rglob("*.md")}

    def heads(self) -> Heads:
        self.asked["heads"] += 1
        return Heads([self._head(path) for path in self._texts], None)

    def changes(self, since_us: int) -> Changes:
        self.asked["changes"] += 1
        return Changes([], None)

    def everything(self) -> Iterator[tuple[Head, bytes]]:
        self.asked["everything"] += 1
        return ((self._head(path), text) for path, text in self._texts.items())

    def texts(self, folder: str, *, deep: bool) -> Iterator[tuple[Head, bytes]]:
        return self.everything()

    def text(self, memory_id: str) -> tuple[Head, bytes]:
        self.asked["text"] += 1
        return self._head(memory_id), self._texts[memory_id]

    def head(self, memory_id: str) -> Head:
        return self._head(memory_id)

    def at(self, path: str) -> Head | None:
        return self._head(path) if path in self._texts else None

    def versions(self, memory_id: str, *, at_home: bool = False) -> Sequence[Version]:
        return []

    def version_text(self, version_id: str) -> bytes:
        self._refuse()

    def create(self, path: str, text: str) -> Head:
        self._refuse()

    def update(self, memory_id: str, *, expected_sha256: str, text: str | None = None, path: str | None = None) -> Head:
        self._refuse()

    def delete(self, memory_id: str, *, expected_sha256: str) -> None:
        self._refuse()

    def _head(self, path: str) -> Head:
        text = self._texts[path]
        return Head(path, path, sha256(text).hexdigest(), len(text), path, 1)

    def _refuse(self) -> NoReturn:
        raise Gone("nobody writes here")
