"""Memories become files, in a folder or in a tar; the time of each file is that of its memory's last version.

A folder may be one that others write to: a file is there whole or not at all, another text at its name is kept unless
it is to be replaced, no link is followed out of the folder, and nothing is written into a folder of version control.
One memory is never written over another where the disk takes their names for one.
"""

from __future__ import annotations

import os
import secrets
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, Protocol

from memolith.adapters.local.files import name_new
from memolith.clients.api.client import ApiClient
from memolith.clients.transfer.discovery import VERSION_CONTROL
from memolith.clients.transfer.ignoring import DRAFT
from memolith.clients.transfer.report import Result, Row, Tell
from memolith.core.errors import InvalidRequest
from memolith.core.times import parse_rfc3339

TarMode = Literal["x", "x:gz", "x:bz2", "x:xz"]
"""How a new tar is opened (`tarfile.open`)."""


class Target(Protocol):
    """Where texts are written."""

    def write(self, name: str, text: bytes, at_s: float) -> Row:
        """Write one file; `name` is relative, with ``/``; `at_s` is its time, in seconds since 1970."""


class Folder:
    """A folder on this machine, made where it is missing."""

    def __init__(self, root: Path, *, replace: bool = False) -> None:
        self._root = root
        self._replace = replace
        self._own: set[tuple[int, int]] = set()
        """Files that have a memory of this export, whatever other name the disk gives them."""

    def write(self, name: str, text: bytes, at_s: float) -> Row:
        """Write one file. See `Target`."""
        if VERSION_CONTROL.intersection(part.lower() for part in name.split("/")):
            return Row(name, "left out", "its folder would be one of version control")
        try:
            return Row(name, *self._put(name, text, at_s))
        except OSError as error:
            return Row(name, "left out", f"cannot be written: {error.strerror}")

    def _put(self, name: str, text: bytes, at_s: float) -> tuple[Result, str | None]:
        path = self._root / name
        for folder in reversed(path.parents[: name.count("/")]):
            if folder.is_symlink():
                return "left out", f"{folder.relative_to(self._root)} is a link"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            return "left out", "a link is there"
        was = path.read_bytes() if path.exists() else None
        if was == text:
            self._own.add(_identity(path))
            return "unchanged", None
        if was is not None and _identity(path) in self._own:
            return "kept", "another memory has this name on this disk"
        if was is not None and not self._replace:
            return "kept", "another text is there (--replace writes over it)"
        beside = _draft(path)
        try:
            beside.write_bytes(text)
            os.utime(beside, (at_s, at_s))
            identity = _identity(beside)
            if was is not None and not _has(path, was):
                return "kept", "somebody changed the file there meanwhile"
            if was is None:
                name_new(beside, path)
            else:
                beside.replace(path)
        except FileExistsError:
            return "kept", "somebody made a file there meanwhile"
        finally:
            with suppress(FileNotFoundError):
                beside.unlink()
        self._own.add(identity)
        return "written", None


@contextmanager
def whole(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield the name of a file to write, which becomes `path` when this block ends: whole, or not at all on an error.

    Others that write to `path` at the same time have files of their own. A killed process leaves its file, which no
    import takes for a memory.

    Raises:
        InvalidRequest: something is at `path` by then, and is not to be replaced. OSError.
    """
    beside = _draft(path)
    try:
        yield beside
        if replace:
            beside.replace(path)
        else:
            name_new(beside, path)
    except FileExistsError as error:
        raise InvalidRequest("TARGET", f"{path} is there already (--replace writes over it)") from error
    finally:
        beside.unlink(missing_ok=True)


def _draft(path: Path) -> Path:
    return path.parent / f"{DRAFT}{secrets.token_hex(8)}"


def _identity(path: Path) -> tuple[int, int]:
    """Return what two names of one file have in common: a disk may ignore case, or Unicode's normalization form."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _has(path: Path, text: bytes) -> bool:
    """Tell whether there is still a file with this text, and no link."""
    try:
        return not path.is_symlink() and path.read_bytes() == text
    except FileNotFoundError:
        return False


class Tar:
    """A tar that is being written."""

    def __init__(self, opened: tarfile.TarFile) -> None:
        self._opened = opened

    def write(self, name: str, text: bytes, at_s: float) -> Row:
        """Write one file. See `Target`."""
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = len(text), int(at_s), 0o600
        self._opened.addfile(member, BytesIO(text))
        return Row(name, "written")


def memories(client: ApiClient, store_id: str, prefix: str) -> Iterable[Any]:
    """Yield every memory below `prefix`, with its text, as the store's home knows it. A request for 20 memories."""
    listed = client.memories.list(store_id, path_prefix=prefix, view="full", limit=20)
    return (row for row in listed if row.type == "memory")


def export(listed: Iterable[Any], target: Target, prefix: str, tell: Tell) -> None:
    """Write each memory under its path without `prefix`, and report what became of it."""
    for memory in listed:
        if memory.content is None:
            tell(Row(memory.path, "left out", _why_no_text(memory)))
            continue
        row = target.write(
            memory.path[len(prefix) :], memory.content.encode(), parse_rfc3339(memory.updated_at) / 1_000_000
        )
        tell(Row(memory.path, row.result, row.reason))


def _why_no_text(memory: Any) -> str:
    withheld = memory.get("withheld")
    if memory.get("damaged"):
        return "its text is damaged in every region"
    if not withheld:
        return "its text was not told"
    return f"withheld by the safety scanner ({', '.join(withheld['rules']) or withheld['reason']})"
