"""FUSE's operations, as `mfusepy` calls them, on a working copy.

The kernel keeps what it was shown until it is told otherwise (`Invalidating`), or for `TIMEOUT_S` where libfuse cannot
tell it; so most of what programs read again never comes here. What does is one call for each file that is opened.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import queue
import stat
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import mfusepy

from memolith.clients.working_copy.history_view import LOCAL, HistoryView
from memolith.clients.working_copy.open_files import Writing
from memolith.clients.working_copy.tree import split
from memolith.clients.working_copy.working_copy import Shown, WorkingCopy

TOLD = mfusepy.fuse_version_major >= 3
"""Whether libfuse can tell the kernel that something has changed."""

BOUNDED = (mfusepy.fuse_version_major, mfusepy.fuse_version_minor) >= (3, 12)
"""Whether libfuse's loop can be told how many threads it may have. Source: libfuse ChangeLog.rst, 3.12.0."""

TIMEOUT_S = 60.0 if TOLD else 1.0
"""How long the kernel may answer by itself what is where."""

BLOCK_BYTES = 4096
RENAME_NOREPLACE = 1
ATTRIBUTES = "user.memolith."


class Invalidating:
    """Tells the kernel which paths show something else now. In a thread of its own.

    A thread that learns of a change may just be answering the kernel, which would wait for that answer first.
    """

    def __init__(self) -> None:
        self._paths: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._fuse: ctypes.c_void_p | None = None
        self._thread = threading.Thread(target=self._tell, name="memolith-invalidating", daemon=True)

    def start(self) -> None:
        """Start to notify; called by an operation of the mount that is to be notified."""
        if TOLD:
            self._fuse = ctypes.c_void_p(mfusepy._libfuse.fuse_get_context().contents.fuse)
            self._thread.start()

    def stop(self) -> None:
        """Return when all notifications are sent. Repeatable."""
        if self._thread.is_alive():
            self._paths.put(None)
            self._thread.join()

    def add(self, paths: Iterable[str]) -> None:
        """Queue paths and the folders that they are in, which show another time; return at once."""
        listed = list(paths)
        for path in {*listed, *(split(path)[0] for path in listed)}:
            self._paths.put(path)

    def _tell(self) -> None:
        while (path := self._paths.get()) is not None:
            mfusepy._libfuse.fuse_invalidate_path(self._fuse, path.encode())


UTIME_NOW, UTIME_OMIT = (0x3FFFFFFF, 0x3FFFFFFE) if sys.platform == "linux" else (-1, -2)
"""In the place of nanoseconds: the time of the call, and no change. Source: sys/stat.h of Linux and macOS."""


def named(path: str | None) -> str:
    """Return a path. Raises OSError for None, which libfuse says of a file that was deleted while it is open."""
    if path is None:
        raise OSError(errno.ESTALE, "the file was deleted")
    return path


class Filesystem(mfusepy.Operations):  # type: ignore[misc]  # mfusepy has no types
    """What the kernel asks of a mount.

    Args:
        mounted: called once the folder shows the store.

    Attributes:
        shown: the folder shows, or showed, the store.
    """

    use_ns = True

    def __init__(
        self, copy: WorkingCopy, history: HistoryView, invalidating: Invalidating, mounted: Callable[[], None]
    ) -> None:
        self._copy, self._history, self._invalidating, self._mounted = copy, history, invalidating, mounted
        self._owner = {"st_uid": os.getuid(), "st_gid": os.getgid()}
        self._writings: dict[int, Writing] = {}
        self._numbers = itertools.count(1)
        self._in_kernel: dict[str, str] = {}
        self.shown = False

    def init(self, path: str) -> None:
        self._invalidating.start()
        self.shown = True
        self._mounted()

    # ---- reading ------------------------------------------------------------------------------------------------

    def getattr(self, path: str | None, fh: Any = None) -> dict[str, int]:
        path = named(path)
        old = HistoryView.covers(path)
        shown = self._history.stat(path) if old else self._copy.stat(path)
        return self._attributes(shown, writable=not (old or self._copy.read_only))

    def _attributes(self, shown: Shown, *, writable: bool) -> dict[str, int]:
        kind, mode = (stat.S_IFDIR, 0o755) if shown.folder else (stat.S_IFREG, 0o644)
        return {
            "st_mode": kind | (mode if writable else mode & 0o555),
            "st_nlink": 2 + shown.subfolders if shown.folder else 1,
            "st_size": shown.size_bytes,
            "st_blocks": -(-shown.size_bytes // 512),
            "st_mtime": shown.changed_at_ns,
            "st_ctime": shown.changed_at_ns,
            "st_atime": shown.changed_at_ns,
            **self._owner,
        }

    def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, int], int]]:
        names = self._history.names(path) if HistoryView.covers(path) else self._copy.names(path)
        listed = [(".", True), ("..", True), *names]
        return [(name, {"st_mode": stat.S_IFDIR if folder else stat.S_IFREG}, 0) for name, folder in listed]

    def open(self, path: str, fi: Any) -> int:
        reads = fi.flags & os.O_ACCMODE == os.O_RDONLY
        if HistoryView.covers(path):
            fi.direct_io = int(path == LOCAL)  # it changes, and the kernel is not notified
            fi.keep_cache = int(path != LOCAL)
            return 0 if reads else -errno.EROFS
        if self._copy.read_only and TOLD:
            return -errno.ENOSYS  # the kernel opens by itself from now on
        try:
            if reads:
                fi.noflush = 1
            else:
                append, emptied = bool(fi.flags & os.O_APPEND), bool(fi.flags & os.O_TRUNC)
                fi.fh = self._add(self._copy.files.open_to_write(path, append=append, emptied=emptied))
            if not fi.flags & os.O_TRUNC and fi.flags & os.O_ACCMODE != os.O_WRONLY:
                tag = self._copy.open_to_read(path)
            else:
                tag = self._copy.stat(path).tag
        except FileNotFoundError:
            return -errno.ESTALE  # the kernel looks again whether it is there, and makes it if that is wanted
        fi.keep_cache = int(self._in_kernel.get(path) == tag)
        self._in_kernel[path] = tag
        return 0

    def read(self, path: str | None, size: int, offset: int, fi: Any) -> bytes:
        path = named(path)
        if HistoryView.covers(path):
            return self._history.read(path, offset, size)
        return self._copy.read(path, offset, size)

    def getxattr(self, path: str, name: str, position: int = 0) -> bytes:
        if name.startswith(ATTRIBUTES) and not HistoryView.covers(path):
            told = self._copy.attributes(path).get(name.removeprefix(ATTRIBUTES))
            if told is not None:
                return told.encode()
        raise OSError(errno.ENODATA, "there is no such attribute")

    def listxattr(self, path: str) -> list[str]:
        return [] if HistoryView.covers(path) else [ATTRIBUTES + name for name in self._copy.attributes(path)]

    def statfs(self, path: str) -> dict[str, int]:
        free = 2**30 // BLOCK_BYTES
        return {
            "f_bsize": BLOCK_BYTES,
            "f_frsize": BLOCK_BYTES,
            "f_blocks": free,
            "f_bfree": free,
            "f_bavail": free,
            "f_namemax": 255,
        }

    # ---- writing ------------------------------------------------------------------------------------------------

    def create(self, path: str, mode: int, fi: Any) -> int:
        self._check(path)
        append, exclusive, emptied = (bool(fi.flags & flag) for flag in (os.O_APPEND, os.O_EXCL, os.O_TRUNC))
        fi.fh = self._add(self._copy.files.create(path, append=append, exclusive=exclusive, emptied=emptied))
        self._in_kernel[path] = self._copy.stat(path).tag
        return 0

    def write(self, path: str | None, content: bytes, offset: int, fi: Any) -> int:
        return self._copy.files.write(named(path), self._writings[fi.fh], offset, content)

    def truncate(self, path: str | None, length: int, fi: Any = None) -> int:
        path = named(path)
        self._check(path)
        self._copy.files.truncate(path, length, None if fi is None else self._writings.get(fi.fh))
        return 0

    def flush(self, path: str | None, fi: Any) -> int:
        if self._copy.read_only:
            return -errno.ENOSYS  # the kernel asks no more
        writing = self._writings.get(fi.fh)
        if writing is not None and path is not None:
            self._copy.files.flush(path, writing)
        return 0

    def fsync(self, path: str | None, datasync: int, fi: Any) -> int:
        return self.flush(path, fi)

    def release(self, path: str | None, fi: Any) -> int:
        if fi.fh:
            writing = self._writings.pop(fi.fh)
            self._copy.files.release(writing.path, writing)
        return 0

    def unlink(self, path: str) -> int:
        self._check(path)
        self._copy.unlink(path)
        return 0

    def rename(self, old: str, new: str, flags: int = 0) -> int:
        self._check(old)
        self._check(new)
        self._copy.rename(old, new, replace=not flags)
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        self._check(path)
        self._copy.mkdir(path)
        return 0

    def rmdir(self, path: str) -> int:
        self._check(path)
        self._copy.rmdir(path)
        return 0

    def chmod(self, path: str, mode: int) -> int:
        """Do nothing: a memory has no mode. Not refused, so that `rsync -a` and `cp -p` go on."""
        self._check(path)
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        """Do nothing, as `chmod`."""
        self._check(path)
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        self._check(path)
        self._copy.set_time(path, times[1] if times else self._copy.state.now_ns())
        return 0

    def _check(self, path: str) -> None:
        if HistoryView.covers(path) or self._copy.read_only:
            raise OSError(errno.EROFS, "nobody writes here")

    def _add(self, writing: Writing) -> int:
        number = next(self._numbers)
        self._writings[number] = writing
        return number


class Fuse(mfusepy.FUSE):  # type: ignore[misc]  # mfusepy has no types
    """`mfusepy`'s loop, which leaves out what libfuse 3 tells of a rename and of a truncate.

    Python gives a foreign thread that calls it a state, and takes it away when the call is over; that takes longer than
    most of the calls do. Here each thread keeps its first one, where the loop has a bounded number of threads and none
    of them ends before it.
    """

    _threads = threading.local()

    def _wrapper(self, func: Callable[..., Any], *args: Any) -> int:
        if BOUNDED and not hasattr(self._threads, "known"):
            self._threads.known = True
            ctypes.pythonapi.PyGILState_Ensure()
        return int(super()._wrapper(func, *args))

    def utimens_fuse_2(self, path: bytes, times: Any) -> int:
        """Call the operation with the two marks that stand for no time, which the parent takes for nanoseconds.

        `touch` sends "now", and a program that sets one of the two times "as it is" for the other.
        Source: utimensat(2).
        """
        wanted = None
        if times:
            modified = times.contents.modtime
            if modified.tv_nsec == UTIME_OMIT:
                return 0  # only the modification time is shown
            if modified.tv_nsec != UTIME_NOW:
                at_ns = modified.tv_sec * 10**9 + modified.tv_nsec
                wanted = (at_ns, at_ns)
        return int(self.operations.utimens(path.decode(self.encoding, self.errors), wanted))

    def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
        """Call the operation with the flags, which the parent drops: `mv -n` must not replace.

        An exchange of two names is refused, so that programs save in another way: here it would be several writes.
        """
        if flags & ~RENAME_NOREPLACE:
            return -errno.EINVAL
        words = (self.encoding, self.errors)
        return int(self.operations.rename(old.decode(*words), new.decode(*words), flags))

    def truncate_fuse_3(self, path: bytes | None, length: int, fip: Any) -> int:
        """Call the operation with the open file, which the parent drops, so that its close commits."""
        name = None if path is None else path.decode(self.encoding, self.errors)
        return int(self.operations.truncate(name, length, fip.contents if fip else None))
