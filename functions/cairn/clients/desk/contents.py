"""Texts by their hash, on disk. Several mounts share one folder; a text is there whole, and is what its name says.

It is a cache of what the store has and no more: what the store does not have any more is forgotten.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Set
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from cairn.adapters.local.files import PRIVATE_FILE, PRIVATE_FOLDER


class Contents:
    """Texts in a folder, which is made. May be shared between threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)

    def get(self, content_sha256: str) -> bytes | None:
        """A text, or None. A file that is not what its name says (a disk that lost its end) is none."""
        try:
            text = self._place(content_sha256).read_bytes()
        except OSError:
            return None
        return text if sha256(text).hexdigest() == content_sha256 else None

    def has(self, content_sha256: str) -> bool:
        """Whether there is a file for it."""
        return self._place(content_sha256).exists()

    def put(self, text: bytes) -> str:
        """Keeps a text; its hash. Repeatable. A disk that is full keeps nothing, and that is no error of the caller."""
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

    def forget(self, hashes: Iterable[str]) -> None:
        """Takes texts off the disk. Repeatable."""
        for content_sha256 in hashes:
            with contextlib.suppress(OSError):
                self._place(content_sha256).unlink(missing_ok=True)

    def keep_only(self, hashes: Set[str]) -> None:
        """Takes every other text off the disk, and what a crash left half written."""
        for place in self._folder.glob("??/*"):
            if place.name not in hashes:
                with contextlib.suppress(OSError):
                    place.unlink()

    def _place(self, content_sha256: str) -> Path:
        return self._folder / content_sha256[:2] / content_sha256
