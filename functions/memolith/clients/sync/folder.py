"""The folder's side: its files, and what it and the store had in common when they were last equal.

What is remembered stands in ``.memolith/sync.json`` of the folder. It may be lost: then equal texts are equal, and
unequal ones are conflicts, which keep both. It may not be ahead of the files: a file that lost its text with the
machine's power would be taken for an edit, and sent. So the disk has the files first.
"""

from __future__ import annotations

import errno
import json
import os
import unicodedata
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from memolith.adapters.local.files import locked_if_free, sync
from memolith.clients.transfer.discovery import File, LeftOut
from memolith.clients.transfer.discovery import folder as walk
from memolith.clients.transfer.ignoring import IGNORED, Ignore
from memolith.clients.working_copy.temporary_names import STAYS_US, beside, is_kept, is_local, may_be_meant
from memolith.core.errors import InvalidRequest
from memolith.core.limits import CONTENT_MAX_BYTES

OWN = ".memolith"
NEW = "new-"
FORMAT = 1

TICK_NS = 2 * 1_000_000_000
"""The coarsest clock of a disk (FAT's): two writes within this time may leave a file with the same times."""

SYNCED_AT_ONCE = 16
"""A disk that is asked for many files at once writes them together: of a thousand, in a tenth of a second, not four."""

DISK_FAILS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what a file is known not to have changed: its size, its time, and that of its last change of any kind.

    The last of them is not a program's to set: ``cp -p``, ``tar`` and ``touch`` set the other one.
    """

    size_bytes: int
    changed_at_ns: int
    inode_changed_at_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


UNKNOWN = Stamp(-1, 0, 0)
"""No file has it: who remembers it reads the file again."""


@dataclass(frozen=True, slots=True)
class Common:
    """What both sides had at a path: which memory, which text, and the stamp of the file then."""

    memory_id: str
    sha256: str
    size_bytes: int
    changed_at_ns: int
    inode_changed_at_ns: int = 0

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.size_bytes, self.changed_at_ns, self.inode_changed_at_ns)


@dataclass(frozen=True, slots=True)
class Here:
    """A file as one look found it.

    Attributes:
        sha256: of its text; of a file that is too large for a memory, which is not read, what no text has.
        stamp: taken before it was read.
        proof: the same, if every later write of the file leaves another one; else `UNKNOWN`.
    """

    file: File
    sha256: str
    stamp: Stamp
    proof: Stamp


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a folder found, each file by its path.

    Attributes:
        left_out: what is no file, or cannot be read.
        staying: files that have a temporary one's name, and stay here.
    """

    here: dict[str, Here]
    left_out: list[LeftOut]
    staying: list[str]

    def hides(self, path: str) -> bool:
        """Tell whether there may be a file all the same: something at the path, or above it, could not be read."""
        in_the_way = {one.path.rstrip("/") for one in self.left_out if one.lossy}
        parts = path.split("/")
        return any("/".join(parts[:count]) in in_the_way for count in range(2, len(parts) + 1))


@dataclass(slots=True)
class Memory:
    """What is remembered of a folder: by path, what was in common, and the hashes of texts that the store refused."""

    store_id: str
    common: dict[str, Common] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class SyncFolder:
    """A folder of texts, and its ``.memolith``. One process at a time (`alone`)."""

    def __init__(self, root: Path, store_id: str) -> None:
        self.root = root
        self._own = root / OWN
        _require_place(root, store_id)
        self._own.mkdir(parents=True, exist_ok=True)
        self.memory = self._read(store_id)
        self._changed: set[str] = set()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder and load what is remembered, whichever process wrote it.

        Raises:
            InvalidRequest: another process syncs this folder.
        """
        with locked_if_free(self._own / "lock") as is_alone:
            if not is_alone:
                raise InvalidRequest("DIR", f"another `memolith sync` is at work in {self.root}")
            for left_by_the_dead in self._own.glob(f"{NEW}*"):
                left_by_the_dead.unlink()
            self.memory = self._read(self.memory.store_id)
            yield

    def look(self, there: Collection[str], now_us: int) -> Look:
        """List every file by its path, and what is not a file. Skips reading a file whose stamp is as remembered.

        Programs' temporary files, texts that were kept beside others, and what the folder ignores stay here; not so one
        whose name is a memory's (`there`, or remembered). Raises InvalidRequest for patterns that make no sense.
        """
        walked = walk(self.root, ignore=Ignore.of(self.root, [*there, *self.memory.common]))
        left_out = [one for one in walked.left_out if one.reason != IGNORED and not self._is_own(one.path)]
        found = Look({}, left_out, [])
        for file in walked.files:
            if self._is_own(file.path):
                continue
            try:
                stamp = self._stamp(file.path)
                known = self.memory.common.get(file.path)
                if known is None and file.path not in there and self._stays(file.path, stamp, now_us):
                    if not is_kept(file.path):
                        found.staying.append(file.path)
                    continue
                same = known is not None and known.stamp == stamp
                digest = known.sha256 if known is not None and same else _digest(file, stamp)
            except FileNotFoundError:
                continue
            except OSError as error:
                found.left_out.append(LeftOut(file.path, f"cannot be read: {error.strerror}"))
                continue
            quiet = max(stamp.changed_at_ns, stamp.inode_changed_at_ns) < now_us * 1_000 - TICK_NS
            found.here[file.path] = Here(file, digest, stamp, stamp if quiet or same else UNKNOWN)
        return found

    def _is_own(self, path: str) -> bool:
        return path.startswith(f"/{OWN}/")

    def _stays(self, path: str, stamp: Stamp, now_us: int) -> bool:
        left_alone_us = now_us - stamp.inode_changed_at_ns // 1_000
        return is_local(path) and not (may_be_meant(path) and not 0 <= left_alone_us < STAYS_US)

    def agree(self, path: str, memory_id: str, digest: str, stamp: Stamp) -> None:
        """Remember that both sides have this text at a path, and that the file with the stamp has it."""
        common = Common(memory_id, digest, *astuple(stamp))
        if self.memory.common.get(path) != common:
            self._changed.add(path)
        self.memory.common[path] = common
        self.memory.refused.pop(path, None)

    def forget(self, path: str) -> None:
        """Remember that neither side has anything at a path."""
        self._changed.add(path)
        self.memory.common.pop(path, None)
        self.memory.refused.pop(path, None)

    def put(self, path: str, text: bytes, was: Here | None, changed_at_us: int) -> Stamp:
        """Write a text that the store has, whole or not at all; the file's time is that of the memory.

        Returns: the file's stamp, by which a write that comes after this one is noticed.

        Raises:
            OSError: EBUSY: the file is not what it `was` any more; or whatever else is in the way.
        """
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        whole = self._own / f"{NEW}{token_hex(8)}"
        try:
            whole.write_bytes(text)
            os.utime(whole, ns=(changed_at_us * 1_000, changed_at_us * 1_000))
            written = Stamp.of(whole.stat())
            self._require(path, was)
            whole.replace(place)
        finally:
            whole.unlink(missing_ok=True)
        now = self._stamp(path)  # its rename has changed the inode, and nothing else
        return replace(written, inode_changed_at_ns=now.inode_changed_at_ns)

    def has(self, path: str) -> bool:
        """Tell whether a file, a link, or anything but a folder is at a path now, by the names that its folders list.

        A disk that does not tell cases apart finds a file that was renamed from ``Todo.md`` to ``todo.md`` under both.
        What cannot be listed counts as there; so does a name in another form of Unicode, which is no rename.
        """
        place = self.root / path[1:]
        if not os.path.lexists(place) or (not place.is_symlink() and place.is_dir()):
            return False
        place = self.root
        with suppress(OSError):
            for name in path[1:].split("/"):
                if _composed(name) not in {_composed(one.name) for one in place.iterdir()}:
                    return False
                place /= name
        return True

    def delete(self, path: str, was: Here) -> None:
        """Delete a file that the store no longer has, and folders that become empty. Raises OSError."""
        self._require(path, was)
        place = self._place(path)
        place.unlink()
        with suppress(OSError):
            for parent in place.parents:
                if parent == self.root:
                    break
                parent.rmdir()

    def set_beside(self, path: str, now_us: int) -> str:
        """Rename a file whose text conflicts, to the name of a kept text; return that name. Raises OSError."""
        taken = 0
        while self._place(kept := beside(path, "conflict", now_us, taken)).exists():
            taken += 1
        self._place(path).rename(self._place(kept))
        self._changed.add(kept)
        return kept

    def save(self) -> None:
        """Write what is remembered, whole or not at all, and no sooner than the disk has the files that it is of.

        Raises OSError: the disk does not take it; what was remembered before is remembered still.
        """
        told = {
            "format": FORMAT,
            "memory_store_id": self.memory.store_id,
            "common": {path: asdict(one) for path, one in self.memory.common.items()},
            "refused": self.memory.refused,
        }
        place, text = self._own / "sync.json", json.dumps(told)
        with suppress(FileNotFoundError):
            if place.read_text() == text:
                return
        changed = {self.root / path[1:] for path in self._changed}
        changed |= {folder for file in changed for folder in file.parents if folder.is_relative_to(self.root)}
        with ThreadPoolExecutor(SYNCED_AT_ONCE) as pool:
            list(pool.map(partial(_sync, call=os.fsync), changed))
        whole = self._own / f"{NEW}{token_hex(8)}"
        whole.write_text(text)
        _sync(whole, call=sync)  # on macOS it empties the disk's cache, at which fsync of the others has stopped
        whole.replace(place)
        self._changed.clear()

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
        """Return the file of a path. Raises OSError: a link leads out of the folder."""
        place = self.root / path[1:]
        for folder in place.parents[: path.count("/") - 1]:
            if folder.is_symlink():
                raise OSError(errno.ELOOP, "a folder above it is a link")
        return place

    def _stamp(self, path: str) -> Stamp:
        return Stamp.of((self.root / path[1:]).lstat())

    def _require(self, path: str, was: Here | None) -> None:
        try:
            now: Stamp | None = self._stamp(path)
        except (FileNotFoundError, NotADirectoryError):
            now = None
        if now != (None if was is None else was.stamp):
            raise OSError(errno.EBUSY, "it was changed here meanwhile")


def _digest(file: File, stamp: Stamp) -> str:
    """Return the hash of a file's text; of one that is too large for a memory, without reading it, what no text has."""
    if stamp.size_bytes > CONTENT_MAX_BYTES:
        return f"too large: {stamp.size_bytes}"
    return sha256(file.read()).hexdigest()


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _sync(place: Path, call: Callable[[int], None]) -> None:
    """Return once the disk has a file's text, or a folder's names; at once if that is not there, or cannot be asked.

    Raises OSError: the disk fails.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        try:
            call(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in DISK_FAILS:
            raise OSError(error.errno, error.strerror, str(place)) from error


def _require_place(root: Path, store_id: str) -> None:
    """Raise InvalidRequest where a folder cannot be kept in step with a store: another program has it, or one above."""
    if (root / OWN / "objects").is_dir():
        raise InvalidRequest("DIR", f"`memolith serve` keeps its data in {root / OWN}: sync another folder")
    root = root.resolve()
    for place in (root, *root.parents):
        if os.path.ismount(place) and (place / OWN / "versions").is_dir():
            raise InvalidRequest("DIR", f"{root} is in a mount of a store, {place}, which needs no sync")
        if place != root and _store_of(place) == store_id:
            raise InvalidRequest("DIR", f"{root} lies in {place}, which is in step with this store: sync {place}")


def _store_of(folder: Path) -> str | None:
    """Return the store that a folder is in step with, as far as it can be read."""
    try:
        told = json.loads((folder / OWN / "sync.json").read_text())
    except (OSError, ValueError):
        return None
    return str(told.get("memory_store_id")) if isinstance(told, dict) else None
