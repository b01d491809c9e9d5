"""Local texts on disk: what this machine has and the store does not.

A text is mirrored with every write, so that `kill -9` of a mount leaves all that was written to it; each mount has a
folder of its own, locked while it lives, and who starts takes over what the dead left.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Any

from memolith.adapters.local.files import PRIVATE_FILE, lock_if_free, locked, make_folder, sync, sync_folder
from memolith.clients.working_copy.conditional_commit import Sent
from memolith.clients.working_copy.store_client import Head

RECORD, TEXT, LOCK = ".json", ".text", "lock"
PLAIN = ("path", "appended_from", "complete", "reason", "changed_at_ns")
"""What a record has as it is; a reader ignores fields that it does not know."""

SENT = "sent"
STARTING = "starting"
"""The file in the folder of all mounts of a store that is locked while one starts."""

log = logging.getLogger("memolith.mount")


class Kind(StrEnum):
    """What a local text is."""

    EDIT = "edit"
    """Of a memory, or of one that is to be; it waits for its commit."""
    TEMPORARY = "temporary"
    """By its name a program's temporary file."""
    KEPT = "kept"
    """Beside a file, because its commit was refused, or its writer died."""


@dataclass(slots=True, eq=False)
class LocalText:
    """A text that the store does not have.

    Attributes:
        base: the head that it was made on; None where nothing was there.
        appended_from: the byte at which what was appended begins, while nothing but appending was done.
        complete: its writer has closed it.
        touched: something was written since it was made or emptied.
        waiting: it is an edit that is not committed.
        reason: why it is kept, for a person.
        failure: the errno that its last commit ended with; 0: none.
        stored_differs: it is committed, and the store has another text of it: appended to others' or without secrets.
        writers: how many have it open and have written to it.
        left_us: when it was last written, closed, moved, or taken over from a dead mount.
        told: it was said that it stays on this machine.
        sent: by hash, what was sent for it and may have been written without an answer.
    """

    id: str
    path: str
    kind: Kind
    base: Head | None = None
    appended_from: int | None = None
    complete: bool = False
    reason: str = ""
    changed_at_ns: int = 0
    text: bytearray = field(default_factory=bytearray)
    touched: bool = False
    waiting: bool = True
    failure: int = 0
    stored_differs: bool = False
    writers: int = 0
    left_us: int = 0
    told: bool = False
    sent: dict[str, Sent] = field(default_factory=dict)
    descriptor: int = -1

    @property
    def fixed_bytes(self) -> int:
        """How much of its beginning stays if a write is an append: the base's text, and what may be in the store."""
        return max([self.appended_from or 0, *(one.size_bytes for one in self.sent.values())])


class UnsavedTexts:
    """The local texts of one mount.

    Args:
        folder: of all mounts of one store; it is made.
        take_over: whether what the dead have left becomes this one's.

    Attributes:
        inherited: what mounts that are dead have left, now this one's.

    Raises:
        OSError: the disk has no room for what they have left. Nothing of it is lost.
    """

    def __init__(self, folder: Path, *, take_over: bool = True) -> None:
        make_folder(folder)
        self._folder = folder / token_hex(8)
        with locked(folder / STARTING):
            make_folder(self._folder)
            self._lock = lock_if_free(self._folder / LOCK)
            try:
                self.inherited = list(self._inherit(folder)) if take_over else []
            except OSError as error:
                self.abandon()
                raise OSError(error.errno, error.strerror, str(self._folder)) from error

    def add(self, path: str, kind: Kind, base: Head | None, text: bytes, now_ns: int) -> LocalText:
        """Add a local text, on disk when this returns. Raises OSError: the disk does not take it; none is added."""
        local = LocalText(token_hex(8), path, kind, base, text=bytearray(text), changed_at_ns=now_ns)
        try:
            self._open(local)
            _write(local.descriptor, 0, text)
            self.record(local)
        except OSError:
            self.drop(local)
            raise
        return local

    def record(self, local: LocalText, *, settled: bool = False) -> None:
        """Record its path, kind, base and what was sent, whole or not at all. Does nothing for one that was dropped.

        `settled`: on disk when this returns, through a loss of power too.
        """
        if local.descriptor < 0:
            return
        told: dict[str, Any] = {
            "path": local.path,
            "kind": local.kind.value,
            "base": None if local.base is None else asdict(local.base),
            "appended_from": local.appended_from,
            "complete": local.complete,
            "reason": local.reason,
            "changed_at_ns": local.changed_at_ns,
        }
        if local.sent:
            told[SENT] = [asdict(one) for one in local.sent.values()]
        whole = self._folder / f"{local.id}.new"
        with whole.open("w") as file:
            file.write(json.dumps(told))
            file.flush()
            if settled:
                sync(file.fileno())
        whole.replace(self._folder / (local.id + RECORD))
        if settled:
            sync_folder(self._folder)

    def write(self, local: LocalText, offset: int, content: bytes) -> None:
        """Write into the text; bytes between its end and `offset` become NUL, as in any file.

        Raises OSError: the disk does not take all of it; the text is as it was.
        """
        end = len(local.text)
        try:
            _write(local.descriptor, offset, content)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(local.descriptor, end)
                _write(local.descriptor, offset, local.text[offset : offset + len(content)])
            raise
        if offset > end:
            local.text.extend(bytes(offset - end))
        local.text[offset : offset + len(content)] = content

    def truncate(self, local: LocalText, size: int) -> None:
        """Make the text so long: cut, or filled with NUL bytes. Raises OSError: it is as it was."""
        os.ftruncate(local.descriptor, size)
        if size < len(local.text):
            del local.text[size:]
        else:
            local.text.extend(bytes(size - len(local.text)))

    def settle(self, local: LocalText) -> None:
        """Return once the disk has the text and its record, through a loss of power too."""
        sync(local.descriptor)
        self.record(local, settled=True)

    def drop(self, local: LocalText) -> None:
        """Drop a text, from the disk as well. Repeatable."""
        (self._folder / (local.id + RECORD)).unlink(missing_ok=True)
        (self._folder / (local.id + TEXT)).unlink(missing_ok=True)
        if local.descriptor >= 0:
            os.close(local.descriptor)
            local.descriptor = -1

    def close(self) -> None:
        """Release the folder; delete it if it is empty."""
        for name in self._folder.glob("*.new"):
            name.unlink(missing_ok=True)
        if not any(self._folder.glob("*" + RECORD)):
            _remove(self._folder)
        self.abandon()

    def abandon(self) -> None:
        """Release the folder as a process that dies does: what is in it is the next one's. Repeatable."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self, local: LocalText) -> None:
        name = self._folder / (local.id + TEXT)
        local.descriptor = os.open(name, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)

    def _inherit(self, folder: Path) -> Iterator[LocalText]:
        for other in sorted(folder.iterdir()):
            if other == self._folder or not other.is_dir():
                continue
            try:
                lock = lock_if_free(other / LOCK)
            except OSError:
                continue
            if lock is None:
                continue
            try:
                records = [(record, _read(record)) for record in sorted(other.glob("*" + RECORD))]
                for record, local in records:
                    if local is not None:
                        yield self._take_over(record, local)
                if all(local is not None for _, local in records):
                    _remove(other)
            finally:
                os.close(lock)

    def _take_over(self, record: Path, local: LocalText) -> LocalText:
        """Move a text and then its record. If the process dies in between, the record stays and the next finds both."""
        old = record.with_suffix(TEXT)
        if old.exists():
            local.text = bytearray(old.read_bytes())
        self._open(local)
        _write(local.descriptor, 0, local.text)
        self.record(local)
        record.unlink()
        old.unlink(missing_ok=True)
        return local


def move_left(folder: Path, into: Path) -> bool:
    """Move what dead mounts left in one folder to another, where the next one that starts takes it over.

    Call it with `STARTING` of both locked.

    Returns: whether no living mount has anything in `folder`. Raises OSError: they are not on the same disk.
    """
    living = False
    for left in [one for one in folder.iterdir() if one.is_dir()]:
        try:
            lock = lock_if_free(left / LOCK)
        except FileNotFoundError:  # its mount ends at this moment, and left nothing
            continue
        if lock is None:
            living = True
            continue
        try:
            left.rename(into / left.name)
        finally:
            os.close(lock)
    return not living


def _write(descriptor: int, offset: int, content: bytes | bytearray) -> None:
    """Write all of it: one call may write a part. Raises OSError: the disk does not take it, or not all of it."""
    done = 0
    while done < len(content):
        written = os.pwrite(descriptor, content[done:], offset + done)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done += written


def _read(record: Path) -> LocalText | None:
    """Read a record; None for one that a loss of power has torn, which is left where it is."""
    try:
        told = json.loads(record.read_text())
        base = None if told["base"] is None else Head(**told["base"])
        sent = {one["content_sha256"]: Sent(**one) for one in told.get(SENT, ())}
        known = {name: told[name] for name in PLAIN if name in told}
        return LocalText(record.stem, kind=Kind(told["kind"]), base=base, sent=sent, touched=True, **known)
    except (ValueError, TypeError, KeyError) as error:
        log.warning("%s cannot be understood (%s); the text beside it is left there", record, error)
        return None


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for name in folder.iterdir():
            name.unlink()
        folder.rmdir()
