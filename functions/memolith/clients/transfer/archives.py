"""What a tar or a ZIP holds: files that can be memories, and what cannot be, with the reason.

Nothing is unpacked: a member is read when its turn comes, and no further than a memory may be long.
"""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from memolith.clients.transfer.discovery import VERSION_CONTROL, File, Found
from memolith.clients.transfer.ignoring import IGNORED, Ignore
from memolith.core.errors import InvalidRequest
from memolith.core.limits import CONTENT_MAX_BYTES

DAMAGED = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, NotImplementedError)
"""What reading a damaged tar or ZIP raises."""
ENCRYPTED = 0x1
"""The bit of a member of a ZIP that says that its text is encrypted."""


@contextmanager
def archive(path: Path, under: str = "/") -> Iterator[Found]:
    """Yield every file of a tar, compressed or not, or of a ZIP. Of two with one name the last counts.

    Raises:
        InvalidRequest: it is neither, or damaged. OSError: it cannot be read.
    """
    if _is_zip(path):
        try:
            with zipfile.ZipFile(path) as zipped:
                yield _zipped(zipped, under)
        except DAMAGED as error:
            raise InvalidRequest("SOURCE", f"{path} is damaged: {error}") from error
        return
    try:
        with tarfile.open(path) as opened:
            try:
                members = opened.getmembers()
            except DAMAGED as error:
                raise InvalidRequest("SOURCE", f"{path} is damaged: {error}") from error
            yield _members(opened, members, under)
    except tarfile.TarError as error:
        raise InvalidRequest("SOURCE", f"{path} is neither a tar nor a ZIP") from error
    except EOFError as error:
        raise InvalidRequest("SOURCE", f"{path} is damaged: {error}") from error


def _is_zip(path: Path) -> bool:
    """Tell whether it is a ZIP. A ZIP is looked for from a file's end, where a tar may have one as its last member."""
    return zipfile.is_zipfile(path) and not tarfile.is_tarfile(path)


class _Collected:
    """The files of an archive so far, by path; names are those of a folder's files."""

    def __init__(self, under: str) -> None:
        self.found = Found()
        self._under = under
        self._files: dict[str, File] = {}
        self._ignore = Ignore()

    def path(self, name: str) -> str:
        """Return the path that a member has as a memory."""
        return self._under + "/".join(part for part in name.split("/") if part not in ("", "."))

    def is_left_out(self, path: str) -> bool:
        """Leave out what is of version control, or ignored by its name, and tell whether it is."""
        if VERSION_CONTROL.intersection(path.split("/")):
            self.found.leave_out(path, "in a folder of version control", lossy=False)
        elif self._ignore.takes_out(path[len(self._under) - 1 :]):
            self.found.leave_out(path, IGNORED, lossy=False)
        else:
            return False
        return True

    def take(self, file: File) -> None:
        """Take a file; one that has its path already is left out."""
        if file.path in self._files:
            self.found.leave_out(file.path, "it stands in the archive again, later")
        self._files[file.path] = file

    def done(self) -> Found:
        """Return what was found, files in order of path."""
        self.found.files = [self._files[path] for path in sorted(self._files)]
        return self.found


def _members(opened: tarfile.TarFile, members: list[tarfile.TarInfo], under: str) -> Found:
    collected = _Collected(under)
    for member in members:
        path = collected.path(member.name)
        if member.isdir() or collected.is_left_out(path):
            continue
        if member.isfile():
            collected.take(File(path, member.size, partial(_read, opened, member)))
        else:
            collected.found.leave_out(path, "a link" if member.issym() or member.islnk() else "no regular file")
    return collected.done()


def _zipped(zipped: zipfile.ZipFile, under: str) -> Found:
    collected = _Collected(under)
    for member in zipped.infolist():
        path, kind = collected.path(member.filename), stat.S_IFMT(member.external_attr >> 16)
        if member.is_dir() or collected.is_left_out(path):
            continue
        if kind not in (0, stat.S_IFREG):
            collected.found.leave_out(path, "a link" if kind == stat.S_IFLNK else "no regular file")
        elif member.flag_bits & ENCRYPTED:
            collected.found.leave_out(path, "it is encrypted")
        else:
            collected.take(File(path, member.file_size, partial(_unzip, zipped, member)))
    return collected.done()


def _read(opened: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    try:
        file = opened.extractfile(member)
        return b"" if file is None else file.read()
    except DAMAGED as error:
        raise OSError(0, f"the archive is damaged ({error})") from error


def _unzip(zipped: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Read a member, of which one that claims to be small is read no further than a memory may be long."""
    try:
        with zipped.open(member) as file:
            return file.read(CONTENT_MAX_BYTES + 1)
    except DAMAGED as error:
        raise OSError(0, f"the archive is damaged ({error})") from error
