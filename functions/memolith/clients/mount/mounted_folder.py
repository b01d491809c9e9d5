"""What the kernel asks of a mount, shared out: ignored files are this machine's, everything else is the store's."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import Any

from memolith.clients.mount.filesystem import ATTRIBUTES, Filesystem, Invalidating, named
from memolith.clients.mount.ignored_files import NUMBERS_FROM, IgnoredFiles
from memolith.clients.transfer.ignoring import IGNORED
from memolith.clients.working_copy.history_view import HistoryView
from memolith.clients.working_copy.working_copy import WorkingCopy

TOLD = {"state": "ignored", "reason": IGNORED}


class MountedFolder(Filesystem):
    """A `Filesystem` with ignored files in it. A rename from or to one is EXDEV: `mv` copies then, and deletes."""

    def __init__(
        self,
        copy: WorkingCopy,
        history: HistoryView,
        ignored: IgnoredFiles,
        invalidating: Invalidating,
        mounted: Callable[[], None],
    ) -> None:
        super().__init__(copy, history, invalidating, mounted)
        self._ignored = ignored

    # ---- reading ------------------------------------------------------------------------------------------------

    def getattr(self, path: str | None, fh: Any = None) -> dict[str, int]:
        if path is None and _is_ignored(fh):
            return _attributes(os.fstat(fh.fh - NUMBERS_FROM))
        path = named(path)
        if not self._ignored.covers(path):
            told = super().getattr(path, fh)
            if stat.S_ISDIR(told["st_mode"]):
                told["st_nlink"] += sum(folder for _, folder in self._ignored.roots_in(path))
            return told
        return _attributes(self._ignored.stat(path))

    def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, int], int]]:
        if self._ignored.covers(path):
            names = [(".", True), ("..", True), *self._ignored.names(path)]
        else:
            listed = super().readdir(path, fh)
            names = [] if HistoryView.covers(path) else self._ignored.roots_in(path)
            known = {name for name, _, _ in listed}
            return listed + _rows([one for one in names if one[0] not in known])
        return _rows(names)

    def open(self, path: str, fi: Any) -> int:
        if not self._ignored.covers(path):
            return super().open(path, fi)
        fi.fh = self._ignored.open(path, fi.flags)
        return 0

    def read(self, path: str | None, size: int, offset: int, fi: Any) -> bytes:
        if fi.fh < NUMBERS_FROM:
            return super().read(path, size, offset, fi)
        return os.pread(fi.fh - NUMBERS_FROM, size, offset)

    def getxattr(self, path: str, name: str, position: int = 0) -> bytes:
        if not self._ignored.covers(path):
            return super().getxattr(path, name, position)
        told = TOLD.get(name.removeprefix(ATTRIBUTES)) if name.startswith(ATTRIBUTES) else None
        if told is None:
            raise OSError(errno.ENODATA, "there is no such attribute")
        return told.encode()

    def listxattr(self, path: str) -> list[str]:
        if not self._ignored.covers(path):
            return super().listxattr(path)
        return [ATTRIBUTES + name for name in TOLD]

    # ---- writing ------------------------------------------------------------------------------------------------

    def create(self, path: str, mode: int, fi: Any) -> int:
        if not self._takes(path, folder=False):
            return super().create(path, mode, fi)
        fi.fh = self._ignored.open(path, fi.flags | os.O_CREAT, stat.S_IMODE(mode))
        return 0

    def write(self, path: str | None, content: bytes, offset: int, fi: Any) -> int:
        if fi.fh < NUMBERS_FROM:
            return super().write(path, content, offset, fi)
        return os.pwrite(fi.fh - NUMBERS_FROM, content, offset)

    def truncate(self, path: str | None, length: int, fi: Any = None) -> int:
        if _is_ignored(fi):
            os.ftruncate(fi.fh - NUMBERS_FROM, length)
        elif self._ignored.covers(named(path)):
            self._ignored.truncate(named(path), length)
        else:
            return super().truncate(path, length, fi)
        return 0

    def flush(self, path: str | None, fi: Any) -> int:
        if fi.fh < NUMBERS_FROM:
            return super().flush(path, fi)
        self._ignored.closes(path)
        return 0

    def fsync(self, path: str | None, datasync: int, fi: Any) -> int:
        if fi.fh < NUMBERS_FROM:
            return super().fsync(path, datasync, fi)
        os.fsync(fi.fh - NUMBERS_FROM)
        return 0

    def release(self, path: str | None, fi: Any) -> int:
        if fi.fh < NUMBERS_FROM:
            return super().release(path, fi)
        self._ignored.close(fi.fh)
        return 0

    def unlink(self, path: str) -> int:
        if not self._ignored.covers(path):
            return super().unlink(path)
        self._ignored.unlink(path)
        return 0

    def rename(self, old: str, new: str, flags: int = 0) -> int:
        if not self._ignored.covers(old):
            folder = self._copy.state.is_folder(old)
            if self._takes(new, folder=folder):
                raise OSError(errno.EXDEV, "one of them is ignored, and stays on this machine")
            if folder and self._ignored.roots_in(new):
                raise OSError(errno.ENOTEMPTY, "there is something in it")
            super().rename(old, new, flags)
            self._ignored.folder_moved(old, new)
            return 0
        if not self._takes(new, folder=stat.S_ISDIR(self._ignored.stat(old).st_mode)):
            raise OSError(errno.EXDEV, "one of them is ignored, and stays on this machine")
        self._ignored.rename(old, new, replace=not flags)
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        if not self._takes(path, folder=True):
            return super().mkdir(path, mode)
        self._ignored.mkdir(path, stat.S_IMODE(mode))
        return 0

    def rmdir(self, path: str) -> int:
        if self._ignored.covers(path):
            self._ignored.rmdir(path)
            return 0
        if self._ignored.roots_in(path):
            raise OSError(errno.ENOTEMPTY, "there is something in it")
        return super().rmdir(path)

    def chmod(self, path: str, mode: int) -> int:
        if not self._ignored.covers(path):
            return super().chmod(path, mode)
        self._ignored.chmod(path, stat.S_IMODE(mode))
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        if not self._ignored.covers(path):
            return super().utimens(path, times)
        self._ignored.set_times(path, times)
        return 0

    def _takes(self, path: str, *, folder: bool) -> bool:
        """Tell whether what is to be made at a path is ignored; nothing is in a read-only mount, or in history."""
        if HistoryView.covers(path) or self._copy.read_only:
            return False
        return self._ignored.takes(path, folder=folder)


def _is_ignored(fi: Any) -> bool:
    """Tell whether an open file is an ignored one's."""
    return fi is not None and fi.fh >= NUMBERS_FROM


def _attributes(found: os.stat_result) -> dict[str, int]:
    times = {"st_mtime": found.st_mtime_ns, "st_ctime": found.st_ctime_ns, "st_atime": found.st_atime_ns}
    names = ("st_mode", "st_nlink", "st_size", "st_blocks", "st_uid", "st_gid")
    return {**times, **{name: int(getattr(found, name)) for name in names}}


def _rows(names: list[tuple[str, bool]]) -> list[tuple[str, dict[str, int], int]]:
    return [(name, {"st_mode": stat.S_IFDIR if folder else stat.S_IFREG}, 0) for name, folder in names]
