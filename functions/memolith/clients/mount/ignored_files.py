"""Files of a mount that stay on this machine: version control's folders, and what `memolith import` ignores as well.

A name is looked at when something of it is made: folders of version control, the defaults of `transfer.ignoring`, and
the patterns of a ``.memolithignore`` at the mount's root, which stays here itself. A name that the store has something
at, or under, is never ignored. What was made so is a real file or folder beside the mount's local texts, and is there
again after the next start; the store hears nothing of it.

Of several mounts at once, one has them (`owning`): each kernel keeps what it was shown, and git in one of them would
compare its index with files that the other has not heard of yet.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from memolith.adapters.local.files import PRIVATE_FOLDER, locked_if_free, write_new
from memolith.clients.transfer.discovery import VERSION_CONTROL
from memolith.clients.transfer.ignoring import DRAFTS, FILE, IGNORED, Ignore
from memolith.clients.working_copy.state import State
from memolith.clients.working_copy.tree import split, within
from memolith.core.errors import InvalidRequest

PATH, CONTENT = "path", "content"
NUMBERS_FROM = 1 << 32
"""The number of an open file here is its descriptor and this, so that no other open file of the mount has it."""

log = logging.getLogger("memolith.mount")


@contextmanager
def owning(folder: Path) -> Iterator[bool]:
    """Yield whether this mount has the ignored files of its store, for this block; a mount that is dead has none."""
    with locked_if_free(folder.with_name(f"{folder.name}.lock")) as owned:
        if not owned:
            log.warning(
                "another mount of this store has its ignored files (.git, and what .memolithignore names); this one "
                "shows none and makes none. Give it a --desk of its own, or mount it again once the other has ended"
            )
        yield owned


class IgnoredFiles:
    """The ignored files of one store's mounts on this machine. May be shared between threads.

    A tree of files for each ignored name (its root), under ``<hash of the path>/content``. The calls of files and
    folders raise OSError as the machine's own file system does.

    Args:
        folder: where they are kept; made when it is needed. A read-only mount shows none of them.
        owned: whether this mount has them (`owning`). One that has not shows none, and makes none.
    """

    def __init__(self, folder: Path, state: State, *, owned: bool = True) -> None:
        self._folder, self._state, self._owned = folder, state, owned
        self._roots: dict[str, Path] = {}
        self._ignore: Ignore | None = None
        if owned and folder.is_dir() and not state.read_only:
            for place in sorted(folder.iterdir()):
                self._load(place)

    # ---- names --------------------------------------------------------------------------------------------------

    def covers(self, path: str) -> bool:
        """Tell whether a path is one of an ignored file or folder, or would be in an ignored folder."""
        return bool(self._roots) and self._root(path) is not None

    def takes(self, path: str, *, folder: bool) -> bool:
        """Tell whether what is to be made at a path belongs here. Changes nothing.

        Raises:
            OSError: EBUSY: it does, and another mount has the ignored files.
        """
        if self.covers(path):
            return True
        if not self._is_ignored(path, folder=folder) or self._state.find(path) or self._state.is_folder(path):
            return False
        if not self._owned:
            raise OSError(errno.EBUSY, "another mount of this store has its ignored files")
        return True

    def roots_in(self, folder: str) -> list[tuple[str, bool]]:
        """List the names of ignored files and folders in a folder that is none itself."""
        named = [(split(path)[1], place) for path, place in list(self._roots.items()) if split(path)[0] == folder]
        return [(name, (place / CONTENT).is_dir()) for name, place in named if os.path.lexists(place / CONTENT)]

    def folder_moved(self, old: str, new: str) -> None:
        """Take along what is ignored in a folder that was renamed to a path that has nothing ignored in it.

        A place's path goes first: a start that finds it alone gives the place the name that belongs to it.
        """
        for path, place in list(self._roots.items()):
            if within(path, old):
                moved = new + path[len(old) :]
                _write_path(place, moved)
                target = self._settled(place, moved)
                self._hide(path)
                self._show(moved, target)

    # ---- files and folders --------------------------------------------------------------------------------------

    def stat(self, path: str) -> os.stat_result:
        return self._place(path).lstat()

    def names(self, folder: str) -> list[tuple[str, bool]]:
        with os.scandir(self._place(folder)) as found:
            return sorted((one.name, one.is_dir(follow_symlinks=False)) for one in found)

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        """Open or create a file; return its number."""
        flags = flags & ~os.O_APPEND | os.O_NOFOLLOW
        if not flags & os.O_CREAT:
            return NUMBERS_FROM + os.open(self._place(path), flags)
        with self._making(path):
            return NUMBERS_FROM + os.open(self._place(path), flags, mode)

    def closes(self, path: str | None) -> None:
        """Note that a program closes a file. New patterns count from then on."""
        self._changed(path)

    def close(self, number: int) -> None:
        """Close a file for good, when its last program has."""
        os.close(number - NUMBERS_FROM)

    def truncate(self, path: str, size: int) -> None:
        os.truncate(self._place(path), size)
        self._changed(path)

    def unlink(self, path: str) -> None:
        self._place(path).unlink()
        self._drop_if_root(path)

    def mkdir(self, path: str, mode: int) -> None:
        with self._making(path):
            self._place(path).mkdir(mode)

    def rmdir(self, path: str) -> None:
        self._place(path).rmdir()
        self._drop_if_root(path)

    def rename(self, old: str, new: str, *, replace: bool) -> None:
        with self._making(new):
            if not replace and os.path.lexists(self._place(new)):
                raise OSError(errno.EEXIST, "there is something already")
            self._place(old).rename(self._place(new))
        self._drop_if_root(old)
        self._changed(new)

    def chmod(self, path: str, mode: int) -> None:
        self._place(path).chmod(mode)

    def set_times(self, path: str, times: tuple[int, int] | None) -> None:
        if times is None:
            os.utime(self._place(path))
        else:
            os.utime(self._place(path), ns=times)

    # ---- roots --------------------------------------------------------------------------------------------------

    def _place(self, path: str) -> Path:
        root = self._root(path)
        if root is None:
            raise OSError(errno.ENOENT, "there is no such file")
        return self._roots[root] / CONTENT / path[len(root) + 1 :]

    def _root(self, path: str) -> str | None:
        while path not in self._roots:
            if path == "/":
                return None
            path = split(path)[0]
        return path

    def _load(self, place: Path) -> None:
        if not os.path.lexists(place / CONTENT):
            shutil.rmtree(place, ignore_errors=True)
            return
        try:
            path = (place / PATH).read_text()
            if not path:
                raise OSError(errno.EIO, "its path is empty, as after a loss of power")
            self._show(path, self._settled(place, path))
        except OSError as error:
            log.warning("%s cannot be shown (%s); what is in it is left there", place, error.strerror)

    def _named(self, path: str) -> Path:
        return self._folder / sha256(path.encode()).hexdigest()

    def _settled(self, place: Path, path: str) -> Path:
        """Give a place the name that belongs to its path, and return it. Raises OSError: another place has the path."""
        named = self._named(path)
        if named != place:
            if os.path.lexists(named / CONTENT):
                raise OSError(errno.ENOTEMPTY, f"another place has its path, {path}")
            shutil.rmtree(named, ignore_errors=True)
            place.rename(named)
        return named

    def _show(self, path: str, place: Path) -> None:
        with self._state.lock:
            self._state.add_folder(split(path)[0])
            self._roots = {**self._roots, path: place}
            self._state.ignored = dict.fromkeys(self._roots, IGNORED)

    def _hide(self, path: str) -> None:
        with self._state.lock:
            self._roots = {root: place for root, place in self._roots.items() if root != path}
            self._state.ignored = dict.fromkeys(self._roots, IGNORED)

    @contextmanager
    def _making(self, path: str) -> Iterator[None]:
        """Make a root for what this block makes at a path; a root with nothing at it would hide what the store gets."""
        if self.covers(path):
            yield
            return
        place = self._named(path)
        place.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        _write_path(place, path)
        self._show(path, place)
        self._state.name_changed(path)
        try:
            yield
        finally:
            if not os.path.lexists(place / CONTENT):
                self._drop_if_root(path)

    def _drop_if_root(self, path: str) -> None:
        place = self._roots.get(path)
        if place is not None:
            self._hide(path)
            self._state.name_changed(path)
            shutil.rmtree(place, ignore_errors=True)
        self._changed(path)

    # ---- patterns -----------------------------------------------------------------------------------------------

    def _is_ignored(self, path: str, *, folder: bool) -> bool:
        name = split(path)[1]
        if name.lower() in VERSION_CONTROL:
            return True
        if fnmatchcase(name, DRAFTS):  # a temporary file, which is a memory once it is renamed
            return False
        return self._patterns().takes_out(path, folder=folder)

    def _patterns(self) -> Ignore:
        if self._ignore is None or not self._owned:  # the mount that has them may have changed the patterns
            try:
                self._ignore = Ignore.read(self._named(f"/{FILE}") / CONTENT)
            except InvalidRequest as error:
                log.warning("%s; only the defaults count", error.message)
                self._ignore = Ignore()
        return self._ignore

    def _changed(self, path: str | None) -> None:
        if path is None or path == f"/{FILE}":
            self._ignore = None


def _write_path(place: Path, path: str) -> None:
    """Write which path a place has, whole or not at all."""
    write_new(place, path.encode()).replace(place / PATH)
