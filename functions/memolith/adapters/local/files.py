"""Files that are there whole or not at all, also after the machine stopped in between."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def sync(descriptor: int) -> None:
    """Return once the disk has it. On macOS fsync alone stops at the disk's cache.

    Source:
    https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/fsync.2.html
    """
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


def sync_folder(folder: Path) -> None:
    """Return once the disk has the names in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder and what is missing above it, on disk when this returns. Repeatable, also at the same time."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for made in reversed(missing):
        made.mkdir(PRIVATE_FOLDER, exist_ok=True)
        sync_folder(made.parent)


def write_new(folder: Path, content: bytes) -> Path:
    """Write a file of a new name in `folder` with this content, on disk when this returns; nothing on an error."""
    path = folder / secrets.token_hex(16)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            sync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Hold a lock that any number of threads and processes hold at once, for this block; see `is_shared`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_shared(path: Path) -> bool:
    """Tell whether anybody holds the lock of `shared` or `locked` on this file now. It is never waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock out all threads and processes that name the same file, for this block; a dead one's lock is free."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
