"""Texts by their hash, on disk. Several mounts share one folder; a text is there whole, and is what its name says.

It is a cache of what the store has and no more: what the store does not have any more is forgotten.

Where many texts come at once, no reader waits for the disk: a file for each can take longer than the
network. They can be read as soon as they are here, and the disk gets them after that.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Set
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from memolith.adapters.local.files import PRIVATE_FILE, PRIVATE_FOLDER

AHEAD_MAX_BYTES = 64 * 1024 * 1024
"""Of texts that are in memory alone; a thread that adds more waits for the disk."""


class ContentCache:
    """Texts in a folder, which is made. May be shared between threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ahead: dict[str, bytes] = {}
        self._ahead_bytes, self._catching_up = 0, False
        self._changed = threading.Condition()
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)

    def get(self, content_sha256: str) -> bytes | None:
        """Return a text, or None. A file that does not match its name (a disk that lost its end) counts as none."""
        ahead = self._ahead.get(content_sha256)
        if ahead is not None:
            return ahead
        try:
            text = self._place(content_sha256).read_bytes()
        except OSError:
            return None
        return text if sha256(text).hexdigest() == content_sha256 else None

    def has(self, content_sha256: str) -> bool:
        """Tell whether it is here."""
        return content_sha256 in self._ahead or self._place(content_sha256).exists()

    def put(self, text: bytes) -> str:
        """Keep a text and return its hash. Repeatable. A full disk keeps nothing, which is no error of the caller."""
        content_sha256 = sha256(text).hexdigest()
        place = self._place(content_sha256)
        if place.exists():
            return content_sha256
        whole = place.with_name(f"{content_sha256}.{token_hex(4)}")
        with contextlib.suppress(OSError):
            place.parent.mkdir(PRIVATE_FOLDER, exist_ok=True)
            descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(text)
                whole.replace(place)
            finally:
                whole.unlink(missing_ok=True)
        return content_sha256

    def put_soon(self, text: bytes) -> str:
        """Keep a text as `put` does, but write it later: readable when this returns, lost if the process ends."""
        content_sha256 = sha256(text).hexdigest()
        with self._changed:
            self._changed.wait_for(lambda: self._ahead_bytes < AHEAD_MAX_BYTES)
            if content_sha256 not in self._ahead:
                self._ahead[content_sha256] = text
                self._ahead_bytes += len(text)
            if not self._catching_up:
                self._catching_up = True
                threading.Thread(target=self._catch_up, name="memolith-contents", daemon=True).start()
        return content_sha256

    def settle(self) -> None:
        """Return once the disk has what it can have of all that was put."""
        with self._changed:
            self._changed.wait_for(lambda: not self._ahead)

    def _catch_up(self) -> None:
        """Write what is only in memory, the oldest first, until nothing is; skip what is removed meanwhile."""
        while True:
            with self._changed:
                if not self._ahead:
                    self._catching_up = False
                    return
                content_sha256, text = next(iter(self._ahead.items()))
            self.put(text)
            with self._changed:
                forgotten = not self._let_go(content_sha256)
            if forgotten:
                self.forget([content_sha256])

    def _let_go(self, content_sha256: str) -> bool:
        """Release a text from memory; return whether it was there."""
        text = self._ahead.pop(content_sha256, None)
        self._ahead_bytes -= len(text or b"")
        self._changed.notify_all()
        return text is not None

    def forget(self, hashes: Iterable[str]) -> None:
        """Remove texts from the disk. Repeatable."""
        for content_sha256 in hashes:
            with self._changed:
                self._let_go(content_sha256)
            with contextlib.suppress(OSError):
                self._place(content_sha256).unlink(missing_ok=True)

    def keep_only(self, hashes: Set[str]) -> None:
        """Remove every other text from the disk, and what a crash left half written."""
        for place in self._folder.glob("??/*"):
            if place.name not in hashes:
                with contextlib.suppress(OSError):
                    place.unlink()

    def _place(self, content_sha256: str) -> Path:
        return self._folder / content_sha256[:2] / content_sha256
