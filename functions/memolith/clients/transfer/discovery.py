"""What a folder holds: files that can be memories, and what cannot be, with the reason.

A memory is a text of at most 102,400 bytes at a path of the API's grammar. It has no mode, no file time and no links,
and a folder is there only as long as something is in it; what a source has of these beyond the text is told.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from memolith.clients.transfer.ignoring import IGNORED, Ignore
from memolith.core.errors import InvalidRequest
from memolith.core.limits import CONTENT_MAX_BYTES
from memolith.core.paths import check_path

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})
"""Folders of version control: their files are not memories, and an export writes nothing into one."""


@dataclass(frozen=True, slots=True)
class File:
    """One regular file of a source. `path` is its path as a memory; `read` gives its bytes, and may raise OSError."""

    path: str
    size_bytes: int
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a source has and a store cannot; `lossy` says whether it had a text of its own, or anything but a name."""

    path: str
    reason: str
    lossy: bool = True


@dataclass(slots=True)
class Found:
    """A source, read: files in the order of their paths, and what is left out of it."""

    files: list[File] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def leave_out(self, path: str, reason: str, *, lossy: bool = True) -> None:
        self.left_out.append(LeftOut(path, reason, lossy))


def text_of(file: File) -> str:
    """Return the file as a memory's content, byte for byte.

    Raises:
        ValueError: it cannot be one; the message says why.
    """
    if file.size_bytes > CONTENT_MAX_BYTES:
        raise ValueError(f"larger than {CONTENT_MAX_BYTES:,} bytes ({file.size_bytes:,})")
    try:
        check_path(file.path)
    except InvalidRequest as error:
        raise ValueError(f"the API takes no such path: {error.message}") from error
    try:
        content = file.read()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    if len(content) > CONTENT_MAX_BYTES:
        raise ValueError(f"larger than {CONTENT_MAX_BYTES:,} bytes ({len(content):,})")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text (byte {error.start})") from error


def folder(
    root: Path, under: str = "/", own_files: Mapping[str, str] | None = None, ignore: Ignore | None = None
) -> Found:
    """List every file below a folder; `under` is the folder of the store that it corresponds to.

    Args:
        own_files: what to skip in the folder itself, by the beginning of its name; and why.
        ignore: what to leave out by its name anywhere; by default what the folder's own patterns say.

    Raises:
        OSError: the folder itself cannot be listed. InvalidRequest: its patterns make no sense.
    """
    found = Found()
    _walk(root, under, found, own_files or {}, _Names(ignore or Ignore.of(root), len(under) - 1))
    found.files.sort(key=lambda file: file.path)
    found.left_out.sort(key=lambda one: one.path)
    return found


def composed(found: Found) -> Found:
    """Put names into Unicode's form NFC, as paths of memories are: macOS keeps the same name in another form.

    A file whose composed name another file has already is left out.
    """
    taken = {file.path for file in found.files}
    into = Found(left_out=list(found.left_out))
    for file in found.files:
        path = unicodedata.normalize("NFC", file.path)
        if path == file.path:
            into.files.append(file)
        elif path in taken:
            into.leave_out(file.path, "another one is there whose name differs in Unicode's normalization form alone")
        else:
            taken.add(path)
            into.files.append(replace(file, path=path))
            into.leave_out(file.path, "its name, which a memory has in Unicode normalization form NFC", lossy=False)
    return into


@dataclass(frozen=True, slots=True)
class _Names:
    """Names that are left out; paths are looked at without the first `skipped` characters."""

    ignore: Ignore
    skipped: int

    def leaves_out(self, path: str, found: Found, *, folder: bool) -> bool:
        """Leave out a path whose name is ignored, and tell whether it is."""
        if not self.ignore.takes_out(path[self.skipped :], folder=folder):
            return False
        found.leave_out(f"{path}/" if folder else path, IGNORED, lossy=False)
        return True


def _walk(folder: Path, under: str, found: Found, own_files: Mapping[str, str], names: _Names) -> None:
    with os.scandir(folder) as listed:
        children = list(listed)
    if not children and under != "/":
        found.leave_out(under, "an empty folder", lossy=False)
    for child in children:
        path = f"{under}{child.name}"
        own = next((why for begin, why in own_files.items() if child.name.startswith(begin)), None)
        if own is not None:
            found.leave_out(path, own, lossy=False)
        elif names.leaves_out(path, found, folder=child.is_dir(follow_symlinks=False)):
            continue
        elif child.is_symlink():
            _leave_out_link(child, path, found)
        elif child.is_dir():
            if child.name in VERSION_CONTROL:
                found.leave_out(f"{path}/", "a folder of version control", lossy=False)
                continue
            try:
                _walk(Path(child.path), f"{path}/", found, {}, names)
            except OSError as error:
                found.leave_out(f"{path}/", f"cannot be read: {error.strerror}")
        elif child.is_file():
            try:
                status = child.stat()
            except OSError:  # it was there when the folder was listed: a temporary file, and a program is at work
                continue
            found.files.append(File(path, status.st_size, Path(child.path).read_bytes))
            if status.st_mode & stat.S_IXUSR:
                found.leave_out(path, "its mode: memories are not executable", lossy=False)
        else:
            found.leave_out(path, "no regular file")


def _leave_out_link(link: os.DirEntry[str], path: str, found: Found) -> None:
    try:
        found.leave_out(path, f"a link, to {Path(link.path).readlink()}")
    except FileNotFoundError:  # it was there when the folder was listed: Emacs locks a file by a link
        return
    except OSError as error:
        found.leave_out(path, f"cannot be read: {error.strerror}")
