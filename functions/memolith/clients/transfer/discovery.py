"""What a folder or an archive holds: files that can be memories, and what cannot be, with the reason.

A memory is a text of at most 102,400 bytes at a path of the API's grammar. It has no mode, no file time and no links,
and a folder is there only as long as something is in it; what a source has of these beyond the text is told.
"""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from memolith.core.errors import InvalidRequest
from memolith.core.limits import CONTENT_MAX_BYTES
from memolith.core.paths import check_path

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})
"""Folders of version control: their files are not memories, and an export writes nothing into one."""

_DAMAGED = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError)


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


def folder(root: Path, under: str = "/", own_files: Mapping[str, str] | None = None) -> Found:
    """List every file below a folder; `under` is the folder of the store that it corresponds to.

    Args:
        own_files: what to skip in the folder itself, by the beginning of its name; and why.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    found = Found()
    _walk(root, under, found, own_files or {})
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


def _walk(folder: Path, under: str, found: Found, own_files: Mapping[str, str]) -> None:
    with os.scandir(folder) as listed:
        children = list(listed)
    if not children and under != "/":
        found.leave_out(under, "an empty folder", lossy=False)
    for child in children:
        path = f"{under}{child.name}"
        own = next((why for begin, why in own_files.items() if child.name.startswith(begin)), None)
        if own is not None:
            found.leave_out(path, own, lossy=False)
        elif child.is_symlink():
            found.leave_out(path, f"a link, to {Path(child.path).readlink()}")
        elif child.is_dir():
            if child.name in VERSION_CONTROL:
                found.leave_out(f"{path}/", "a folder of version control", lossy=False)
                continue
            try:
                _walk(Path(child.path), f"{path}/", found, {})
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


@contextmanager
def archive(path: Path, under: str = "/") -> Iterator[Found]:
    """Yield every file of a tar, compressed or not. Of two with one name the last counts, as for tar.

    Raises:
        InvalidRequest: it is no tar. OSError: it cannot be read.
    """
    try:
        with tarfile.open(path) as opened:
            try:
                members = opened.getmembers()
            except _DAMAGED as error:
                raise InvalidRequest("SOURCE", f"{path} is damaged: {error}") from error
            yield _members(opened, members, under)
    except tarfile.TarError as error:
        raise InvalidRequest("SOURCE", f"{path} is no tar: {error}") from error
    except EOFError as error:
        raise InvalidRequest("SOURCE", f"{path} is damaged: {error}") from error


def _members(opened: tarfile.TarFile, members: list[tarfile.TarInfo], under: str) -> Found:
    found = Found()
    files: dict[str, File] = {}
    for member in members:
        path = under + "/".join(part for part in member.name.split("/") if part not in ("", "."))
        control = VERSION_CONTROL.intersection(path.split("/"))
        if member.isdir():
            continue
        if control:
            found.leave_out(path, "in a folder of version control", lossy=False)
        elif member.isfile():
            if path in files:
                found.leave_out(path, "it stands in the archive again, later")
            files[path] = File(path, member.size, lambda member=member: _read(opened, member))  # type: ignore[misc]
        else:
            found.leave_out(path, "a link" if member.issym() or member.islnk() else "no regular file")
    found.files = [files[path] for path in sorted(files)]
    return found


def _read(opened: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    try:
        file = opened.extractfile(member)
        return b"" if file is None else file.read()
    except _DAMAGED as error:
        raise OSError(0, f"the archive is damaged ({error})") from error
