"""The folder's side: its files, and what it and the store had in common when they were last equal.

What is remembered stands in ``.cairn/sync.json`` of the folder. It may be lost: then equal texts are equal, and unequal
ones are conflicts, which keep both.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from cairn.clients.desk.names import beside, is_local
from cairn.clients.transfer.found import File, LeftOut
from cairn.clients.transfer.found import folder as walk
from cairn.core.errors import InvalidRequest

OWN = ".cairn"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Common:
    """What both sides had at a path: which memory, which text, and by which size and time the file is known again."""

    memory_id: str
    sha256: str
    size_bytes: int
    changed_at_ns: int


@dataclass(frozen=True, slots=True)
class Here:
    """A file as one look found it; `stamp` is its size and time then."""

    file: File
    sha256: str
    stamp: tuple[int, int]


@dataclass(slots=True)
class Memory:
    """What is remembered of a folder: by path, what was in common, and the hashes of texts that the store refused."""

    store_id: str
    common: dict[str, Common] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Folder:
    """A folder of texts, and its ``.cairn``. One process at a time (`alone`)."""

    def __init__(self, root: Path, store_id: str) -> None:
        self.root = root
        self._own = root / OWN
        self._own.mkdir(parents=True, exist_ok=True)
        self.memory = self._read(store_id)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Raises InvalidRequest: another process syncs this folder."""
        descriptor = os.open(self._own / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InvalidRequest("DIR", f"another `cairn sync` is at work in {self.root}") from error
            yield
        finally:
            os.close(descriptor)

    def look(self) -> tuple[dict[str, Here], list[LeftOut]]:
        """Every file by its path, and what is none. A file of the size and time that are remembered is not read.

        Programs' temporary files, and texts that were kept beside others, stay on the desk, as in a mount.
        """
        found = walk(self.root)
        own = f"/{OWN}/"
        files = [one for one in found.files if not one.path.startswith(own) and not self._stays(one.path)]
        left_out = [one for one in found.left_out if not one.path.startswith(own)]
        here: dict[str, Here] = {}
        for file in files:
            try:
                stamp = self._stamp(file.path)
                known = self.memory.common.get(file.path)
                same = known is not None and (known.size_bytes, known.changed_at_ns) == stamp
                digest = known.sha256 if known is not None and same else sha256(file.read()).hexdigest()
            except FileNotFoundError:
                continue
            except OSError as error:
                left_out.append(LeftOut(file.path, f"cannot be read: {error.strerror}"))
                continue
            here[file.path] = Here(file, digest, stamp)
        return here, left_out

    def _stays(self, path: str) -> bool:
        return is_local(path) and path not in self.memory.common

    def agree(self, path: str, memory_id: str, digest: str) -> None:
        """Remembers that both sides have this text at a path."""
        try:
            size, changed_at_ns = self._stamp(path)
        except OSError:
            size, changed_at_ns = -1, 0
        self.memory.common[path] = Common(memory_id, digest, size, changed_at_ns)
        self.memory.refused.pop(path, None)

    def forget(self, path: str) -> None:
        """Remembers that neither side has anything at a path."""
        self.memory.common.pop(path, None)
        self.memory.refused.pop(path, None)

    def put(self, path: str, text: bytes, was: Here | None, changed_at_us: int) -> None:
        """Writes a text that the store has, whole or not at all; the file's time is that of the memory.

        Raises:
            OSError: EBUSY: the file is not what it `was` any more; or whatever else is in the way.
        """
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        whole = self._own / f"new-{token_hex(8)}"
        try:
            whole.write_bytes(text)
            os.utime(whole, ns=(changed_at_us * 1_000, changed_at_us * 1_000))
            self._require(path, was)
            whole.replace(place)
        finally:
            whole.unlink(missing_ok=True)

    def delete(self, path: str, was: Here) -> None:
        """Takes a file away that the store does not have any more, and folders that are empty then. Raises OSError."""
        self._require(path, was)
        place = self._place(path)
        place.unlink()
        with suppress(OSError):
            for parent in place.parents:
                if parent == self.root:
                    break
                parent.rmdir()

    def set_beside(self, path: str, now_us: int) -> str:
        """Gives a file the name under which a text is kept that met another one; which name. Raises OSError."""
        taken = 0
        while self._place(kept := beside(path, "conflict", now_us, taken)).exists():
            taken += 1
        self._place(path).rename(self._place(kept))
        return kept

    def save(self) -> None:
        """Writes down what is remembered, whole or not at all."""
        told = {
            "format": FORMAT,
            "memory_store_id": self.memory.store_id,
            "common": {path: asdict(one) for path, one in self.memory.common.items()},
            "refused": self.memory.refused,
        }
        whole = self._own / f"new-{token_hex(8)}"
        whole.write_text(json.dumps(told))
        whole.replace(self._own / "sync.json")

    def _read(self, store_id: str) -> Memory:
        try:
            told = json.loads((self._own / "sync.json").read_text())
            if told["memory_store_id"] != store_id:
                raise InvalidRequest("DIR", f"{self.root} is in step with another store, {told['memory_store_id']}")
            if told["format"] != FORMAT:
                raise ValueError(f"format {told['format']}")
            common = {path: Common(**one) for path, one in told["common"].items()}
            return Memory(store_id, common, dict(told["refused"]))
        except FileNotFoundError:
            return Memory(store_id)
        except (ValueError, KeyError, TypeError) as error:
            message = (
                f"{self._own / 'sync.json'} makes no sense ({error}): take it away, and what differs is kept twice"
            )
            raise InvalidRequest("DIR", message) from error

    def _place(self, path: str) -> Path:
        """Raises OSError: a link leads out of the folder."""
        place = self.root / path[1:]
        for folder in place.parents[: path.count("/") - 1]:
            if folder.is_symlink():
                raise OSError(errno.ELOOP, "a folder above it is a link")
        return place

    def _stamp(self, path: str) -> tuple[int, int]:
        status = (self.root / path[1:]).lstat()
        return status.st_size, status.st_mtime_ns

    def _require(self, path: str, was: Here | None) -> None:
        try:
            now: tuple[int, int] | None = self._stamp(path)
        except (FileNotFoundError, NotADirectoryError):
            now = None
        if now != (None if was is None else was.stamp):
            raise OSError(errno.EBUSY, "it was changed here meanwhile")
