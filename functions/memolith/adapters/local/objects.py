"""Buckets as folders: each object one file, written once, its metadata and its body in it.

    {"memolith_object": 1, "key": …, "metadata": {…}, "sha256": …, "size_bytes": 12, "header_sha256": …}
    remember the milk

The first line is JSON, everything after it the body, byte for byte. A put writes and syncs the file under a name that
no reader uses, then links it to its own name. `link` fails where something stands: that is the condition, and it holds
between threads, processes and a kill in any moment. What is there is therefore always whole; a body that is no longer
what was put (a disk that forgets, a hand that edited) is refused, never served.

Before a put begins, its key is announced, as S3 notifies of objects: the projector of announcements also meets a put
whose writer died before it could fold.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

from memolith.adapters.limits import check_listing, check_object
from memolith.adapters.local.failures import DOCTOR, refused
from memolith.adapters.local.files import make_folder, sync_folder, write_new
from memolith.adapters.local.keys import folder_of, key_of, parts_of, path_of
from memolith.ports.errors import Damaged, ObjectExists, ObjectNotFound, OutcomeUnknown, Unavailable
from memolith.ports.objects import KeyPage, ObjectVersion, Sink, StoredObject, VersionMark, VersionPage

OBJECTS = "objects"
FORMAT = 1
HEADER_SHA256 = "header_sha256"
HEADER_MAX_BYTES = 16_384
"""More than any header: a key and metadata have 3 KB, and JSON's escapes make them six times as long at most."""


class Look(Enum):
    """What a look at one file below the objects found."""

    WHOLE = "whole"
    BODY = "its body is damaged"
    HEADER = "its first line is damaged"
    REFUSED = "it may not be read"
    FOREIGN = "no file of Memolith"


class LocalBucket:
    """One region's objects below one folder. Safe for threads and for any number of processes.

    Args:
        folder: must be on a file system with hard links; made where it is missing.
        announce: told each key before it is put or blanked; an error of it ends the put before anything was done.
    """

    def __init__(self, folder: Path, announce: Callable[[str], None] = lambda key: None) -> None:
        self._objects = folder / OBJECTS
        self._unfinished = folder / "unfinished"
        self._announce = announce
        for made in (self._objects, self._unfinished):
            make_folder(made)

    def put(self, new: StoredObject) -> None:
        """Put the object atomically, on disk when this returns. Raises as `Objects.put_if_absent`."""
        path = path_of(self._objects, new.key)
        if path.exists():
            raise ObjectExists(new.key)
        with self._written(new) as written:
            try:
                os.link(written, path)
            except FileExistsError:
                raise ObjectExists(new.key) from None
        _sync_names(path)

    def replace(self, blank: StoredObject) -> None:
        """Put `blank` in place of the object, of which nothing stays. Raises ObjectNotFound, Unavailable."""
        path = path_of(self._objects, blank.key)
        try:
            old = path.open("rb")
        except FileNotFoundError:
            raise ObjectNotFound(blank.key) from None
        except OSError as error:
            raise refused("an object cannot be read", error, path) from error
        with old:  # open until the end, so that no new file can be given its inode
            with self._written(blank) as written:
                written.replace(path)
            try:
                sync_folder(path.parent)
            except OSError as error:
                raise refused("the blank may not be on disk yet", error, path) from error
            gone = os.fstat(old.fileno())
            self._forget(lambda found: os.path.samestat(found, gone))

    def read(self, key: str, *, whole: bool) -> StoredObject:
        """Read the object; without its body unless `whole`. Raises ObjectNotFound, Unavailable, Damaged."""
        return read_file(path_of(self._objects, key), key, whole=whole)

    def raw(self, key: str) -> StoredObject | None:
        """Return what stands in an object's file, though it is not what was put; None where nothing can be made of it.

        For an audit, which says what was done to the file. Nothing else may believe it.
        """
        try:
            with path_of(self._objects, key).open("rb") as file:
                header = json.loads(file.readline(HEADER_MAX_BYTES))
                body = file.read()
            metadata = {str(name): str(value) for name, value in header["metadata"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return StoredObject(key, body, metadata, len(body))

    def remove(self, key: str) -> bool:
        """Remove a key, on disk when this returns; return whether it existed. Raises Unavailable."""
        path = path_of(self._objects, key)
        try:
            path.unlink()
            sync_folder(path.parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise refused("an object cannot be removed", error, path) from error
        return True

    def version(self, key: str) -> ObjectVersion | None:
        """Return the one version of a key, named by its file; None where there is none. Raises Unavailable.

        Of a file whose first line is damaged, the size is the file's: a listing says what there is, and not whether it
        is whole, so that one damaged object does not end what goes through all of them.
        """
        path = path_of(self._objects, key)
        try:
            file = path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refused("an object cannot be read", error, path) from error
        try:
            size_bytes = self.read(key, whole=False).size_bytes
        except Damaged:
            size_bytes = file.st_size
        return ObjectVersion(key, f"{file.st_ino}-{file.st_mtime_ns}", True, size_bytes)

    def page(self, prefix: str, after: str | None, limit: int) -> KeyPage:
        """List one page of keys in byte order. Reads the folders on the way, not the objects. Raises Unavailable."""
        folder, shared = folder_of(self._objects, prefix)
        try:
            found = list(islice(_walk(folder, shared, prefix, after), limit + 1))
        except OSError as error:
            raise refused("the objects cannot be listed", error, self._objects) from error
        return KeyPage(tuple(found[:limit]), found[limit - 1] if len(found) > limit else None)

    def sweep(self, before_s: float) -> None:
        """Remove what writers left that died before that second. Raises Unavailable."""
        self._forget(lambda found: found.st_mtime < before_s)

    @contextmanager
    def _written(self, new: StoredObject) -> Iterator[Path]:
        """Yield the object under a name that no reader uses, removed when the block ends; a failure is Unavailable.

        A name that cannot be removed is left to `sweep`: once the block has ended, what it did is done.
        """
        self._announce(new.key)
        try:
            make_folder(path_of(self._objects, new.key).parent)
            written = write_new(self._unfinished, _framed(new))
            try:
                yield written
            finally:
                with suppress(OSError):
                    written.unlink(missing_ok=True)
        except OSError as error:
            raise refused("an object cannot be written", error, self._objects) from error

    def _forget(self, chosen: Callable[[os.stat_result], bool]) -> None:
        """Remove unfinished files; another process may be removing its own."""
        try:
            for entry in os.scandir(self._unfinished):
                with suppress(FileNotFoundError):
                    if chosen(entry.stat()):
                        Path(entry.path).unlink()
        except OSError as error:
            raise refused("unfinished files cannot be removed", error, self._unfinished) from error


def read_file(path: Path, key: str, *, whole: bool) -> StoredObject:
    """Read the file of an object. See `LocalBucket.read`."""
    try:
        with path.open("rb") as file:
            header = _header(file.readline(HEADER_MAX_BYTES), key, path)
            body = file.read() if whole else b""
    except FileNotFoundError:
        raise ObjectNotFound(key) from None
    except OSError as error:
        raise refused("an object cannot be read", error, path) from error
    if whole and (len(body) != header["size_bytes"] or hashlib.sha256(body).hexdigest() != header["sha256"]):
        raise Damaged("the body is not what its SHA-256 says", cause=f"body damaged: {path}", hint=DOCTOR)
    return StoredObject(key, body, header["metadata"], header["size_bytes"])


def look_at(folder: Path) -> Iterator[tuple[Path, Look]]:
    """Compare every file below a bucket's objects with its hashes, in no meaningful order. Changes nothing.

    A folder that cannot be listed is one of the things found, as nobody knows what is in it.
    """
    refused: list[OSError] = []
    for place, folders, files in os.walk(folder / OBJECTS, onerror=refused.append):
        for name in (*(one for one in folders if Path(place, one).is_symlink()), *files):
            look = look_at_file(folder, path := Path(place, name))
            if look is not None:
                yield path, look
    for error in refused:
        if not isinstance(error, FileNotFoundError):
            yield Path(error.filename), Look.REFUSED


def look_at_file(folder: Path, path: Path) -> Look | None:
    """Compare one file below a bucket's objects with its hashes; None where it is gone. Changes nothing."""
    key = key_of(folder / OBJECTS, path)
    try:
        return Look.FOREIGN if key is None else _look(path, key)
    except ObjectNotFound:
        return None


def _look(path: Path, key: str) -> Look:
    for whole, damage in ((False, Look.HEADER), (True, Look.BODY)):
        try:
            read_file(path, key, whole=whole)
        except Damaged:
            return damage
        except Unavailable:
            return Look.REFUSED
    return Look.WHOLE


class LocalObjects:
    """`ports.objects.Objects` on one bucket a region, as seen from `region`."""

    def __init__(self, buckets: Mapping[str, LocalBucket], region: str) -> None:
        self._buckets = buckets
        self._region = region

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        """Put with two to four syncs of the disk, after that of the announcement.

        A body that does not match its checksum is Unavailable, as on S3.
        """
        check_object(key, metadata, content_sha256)
        if content_sha256 is not None and hashlib.sha256(body).hexdigest() != content_sha256:
            raise Unavailable(f"{key}: the body is not what content_sha256 says")
        self._bucket(region).put(StoredObject(key, bytes(body), dict(metadata), len(body)))
        return None

    def head(self, key: str, region: str | None = None) -> StoredObject:
        """Read the first line of the file."""
        return self._bucket(region).read(key, whole=False)

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        """Read the whole file and compare its body with its checksum. A sink gets it in one piece."""
        return self._bucket(region).read(key, whole=True).drained(into)

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        """List at most 1,000 keys a page, as S3 does."""
        return self._bucket(region).page(prefix, after, check_listing(limit))

    def _bucket(self, region: str | None) -> LocalBucket:
        try:
            return self._buckets[region or self._region]
        except KeyError:
            raise Unavailable(f"no bucket in {region or self._region}") from None


class LocalErasableObjects:
    """`ports.objects.ErasableObjects` on one bucket. A plain file system keeps no older versions."""

    def __init__(self, bucket: LocalBucket) -> None:
        self._bucket = bucket

    def erase(self, key: str, body: bytes, metadata: Mapping[str, str]) -> int:
        """Replace the one version with the blank, in one step. Always returns 1."""
        check_object(key, metadata)
        self._bucket.replace(StoredObject(key, bytes(body), dict(metadata), len(body)))
        return 1

    def delete_older(self, key: str) -> int:
        """Return 0: there are no older versions."""
        return 0

    def remove(self, key: str) -> int:
        """Remove the object; return 1, or 0 where nothing was there."""
        return int(self._bucket.remove(key))

    def versions(self, prefix: str, after: VersionMark | None = None, limit: int = 1000) -> VersionPage:
        """List one version of each key: the object that is there."""
        page = self._bucket.page(prefix, None if after is None else after[0], check_listing(limit))
        found = tuple(version for key in page.keys if (version := self._bucket.version(key)) is not None)
        return VersionPage(found, None if page.next_after is None else (page.next_after, ""))

    def read_version(self, key: str, version_id: str) -> StoredObject:
        """Read the object, if it is still that version."""
        found = self._bucket.read(key, whole=True)
        now = self._bucket.version(key)
        if now is None or now.version_id != version_id:
            raise ObjectNotFound(key)
        return found


def _framed(new: StoredObject) -> bytes:
    header = {
        "memolith_object": FORMAT,
        "key": new.key,
        "metadata": new.metadata,
        "sha256": hashlib.sha256(new.body).hexdigest(),
        "size_bytes": new.size_bytes,
    }
    return json.dumps({**header, HEADER_SHA256: _sha256_of(header)}).encode() + b"\n" + new.body


def _sha256_of(header: Mapping[str, Any]) -> str:
    """Return the hash of all that a first line says but for the hash itself. Files of earlier releases have none."""
    told = {name: value for name, value in header.items() if name != HEADER_SHA256}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _header(line: bytes, key: str, path: Path) -> dict[str, Any]:
    """Parse the first line of the object's file. Raises Damaged for a line that no put of this key wrote."""
    try:
        header: dict[str, Any] = json.loads(line)
        if (
            header["memolith_object"] == FORMAT
            and header["key"] == key
            and isinstance(header["sha256"], str)
            and isinstance(header["size_bytes"], int)
            and all(isinstance(value, str) for value in header["metadata"].values())
            and header.get(HEADER_SHA256) in (None, _sha256_of(header))
        ):
            return header
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise Damaged("the first line is not what was put", cause=f"first line damaged: {path}", hint=DOCTOR)


def _sync_names(path: Path) -> None:
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise OutcomeUnknown(f"the object may not be on disk yet: {error.strerror}: {path}") from error


def _walk(folder: Path, shared: str, prefix: str, after: str | None) -> Iterator[str]:
    """Yield keys below a folder, all of which begin with `shared`, in byte order, which is Python's order of text."""
    try:
        with os.scandir(folder) as entries:
            parts = parts_of(entry.name for entry in entries)
    except FileNotFoundError:
        return
    for text, is_object in sorted((shared + part + ("" if is_object else "/"), is_object) for part, is_object in parts):
        if is_object:
            if text.startswith(prefix) and (after is None or text > after):
                yield text
        elif (text.startswith(prefix) or prefix.startswith(text)) and (
            after is None or text > after or after.startswith(text)
        ):
            with suppress(NotADirectoryError):  # no file of ours, such as a desktop puts into any folder
                yield from _walk(folder_of(folder, text.removeprefix(shared))[0], text, prefix, after)
