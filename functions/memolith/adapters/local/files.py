"""Files that are there whole or not at all, also after the machine stopped in between."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700

NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What a file system without hard links answers; ENOSYS is libfuse's."""

_IS_MACOS = sys.platform == "darwin"
_FLOCK = struct.Struct("qqihh" if _IS_MACOS else "hhqqi4x")
"""`struct flock`, on macOS: start, length, process, type, whence; on Linux: type, whence, start, length, process.

Source: fcntl(2) of both.
"""


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


def name_new(draft: Path, path: Path) -> None:
    """Give a finished file a name that is free; where the disk has no links, the draft's own is gone then.

    At one stroke, so that a kill leaves all of the file at the name, or nothing. Only on a disk that has neither links
    nor a rename that replaces nothing, an empty file holds the name meanwhile.

    Raises:
        FileExistsError: something is there. OSError.
    """
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if not _renamed_new(draft, path):
            path.touch(PRIVATE_FILE, exist_ok=False)
            try:
                draft.replace(path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise


def _renamed_new(draft: Path, path: Path) -> bool:
    """Rename to a free name; False where the system or the disk has no such call. Raises as `name_new`.

    Source: renameat2(2) of Linux, renamex_np(2) of macOS.
    """
    import ctypes

    old, new = os.fsencode(draft), os.fsencode(path)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        failed = (
            system.renamex_np(old, new, 4)  # RENAME_EXCL
            if _IS_MACOS
            else system.renameat2(-100, old, -100, new, 1)  # AT_FDCWD, RENAME_NOREPLACE
        )
    except AttributeError:
        return False
    refusal = ctypes.get_errno() if failed else 0
    if failed and refusal not in NO_LINKS | {errno.EINVAL}:
        raise OSError(refusal, os.strerror(refusal), str(path))
    return not failed


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


def lock_if_free(path: Path) -> int | None:
    """Take the lock of `locked` until the returned descriptor is closed; None where somebody holds it. Never waits."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return descriptor


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Take the lock of `locked` for this block unless somebody holds it; yield whether it is taken. Never waits."""
    descriptor = lock_if_free(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock whose holders `holder` names, for this block. Any number of processes hold it at once.

    It belongs to the process, and is gone as soon as the process closes the file anywhere: nothing else opens it there.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def holder(path: Path) -> int | None:
    """Return a process that holds the lock of `held` on this file, as the kernel knows it; None where none does.

    A number below 1 is a process that has none here, as that of another container. Raises OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    whole = (0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET) if _IS_MACOS else (fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        found = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, _FLOCK.pack(*whole)))
    finally:
        os.close(descriptor)
    kind, process = (found[3], found[2]) if _IS_MACOS else (found[0], found[4])
    return None if kind == fcntl.F_UNLCK else int(process)
