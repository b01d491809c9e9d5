"""Folders for tests that sync often: in memory where the machine has such a place, since no test cuts the power."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it


@contextmanager
def quick_folder() -> Iterator[Path]:
    """An empty folder, gone when the block ends."""
    with TemporaryDirectory(prefix="memolith-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
        yield Path(name)
