"""A backup: one history (`memolith.clients.transfer.history`) for each store, and a manifest of them, in a place.

    backup.json              written last: a place without it has no backup
    memstore_….tar.gz        one store with every version that the API tells
    memstore_….records.gz    if asked for: its proposals, sessions, transcripts and dreams, to be read

The manifest has the SHA-256 and the size of every file, so that a copy of the backup, wherever it was in between, is
checked before anything is made of it. A folder and a bucket have the same files: what copies files makes one of the
other, and keeps it where the deployment cannot reach it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import NOT_FOUND, ApiRefused
from memolith.clients.transfer import history, records
from memolith.clients.transfer.report import Row, Tell
from memolith.core.errors import InvalidRequest
from memolith.ports.backup_places import Advance, BackupPlace, ReadFile
from memolith.ports.errors import ObjectExists, ObjectNotFound

FORMAT = "memolith-backup"
SCHEMA = 1
MANIFEST = "backup.json"
_CHUNK_BYTES = 1 << 20
_LOOKED_AT = 1000
"""How many files of a place that is not empty are looked at, to say what it has."""


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """A file of a store's records, and how many of each kind it has."""

    file: str
    size_bytes: int
    sha256: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """One store of a backup, as the API told it, the file that has its versions, and the one of its records, if any."""

    store: Mapping[str, Any]
    file: str
    size_bytes: int
    sha256: str
    versions: int
    records: StoredRecords | None = None

    @property
    def store_id(self) -> str:
        """The id that it had where it was backed up."""
        return str(self.store["id"])

    @property
    def bytes_in_all(self) -> int:
        """How long its files are together."""
        return self.size_bytes + (0 if self.records is None else self.records.size_bytes)


# ---- out ------------------------------------------------------------------------------------------------------------


def write(
    client: ApiClient,
    place: BackupPlace,
    wanted: Iterable[str],
    tell: Tell,
    advance: Callable[[int], None],
    written: list[StoredHistory],
    *,
    with_records: bool = False,
) -> None:
    """Back up these stores, or every store of the key's workspace if none is named, into a new or empty place.

    A store is as it was while it was read; stores follow each other. Nothing there is overwritten, and an interrupted
    backup has no manifest. It asks for withheld texts too, which an admin's key alone is given. `with_records`: what
    `records.export` writes of each store, too. Each store is added to `written` when its history is there. Where none
    is named, one that is deleted before all of it was read is left out, and reported.

    Raises:
        InvalidRequest: the place has something in it. What `BackupPlace` raises. ApiRefused, ApiUnanswered.
    """
    _check_is_free(place)
    client = client.showing_withheld()
    stores = client.stores
    with place.drafts() as drafts:
        named = [stores.retrieve(store_id) for store_id in dict.fromkeys(wanted)]
        for store in named or list(stores.list(include_archived="true")):
            path, beside = drafts / f"{store.id}.tar.gz", drafts / f"{store.id}.records.gz"
            try:
                versions = history.export(client, store.id, path, tell, advance)
                counts = records.export(client, store.id, beside) if with_records else {}
            except ApiRefused:
                if named or not _is_gone(client, store.id):
                    raise
                path.unlink(missing_ok=True)
                tell(Row(store.id, "left out", "it was deleted meanwhile"))
                continue
            written.append(StoredHistory(store, path.name, *_put(place, path), versions))
            if with_records:
                kept = StoredRecords(beside.name, *_put(place, beside), counts)
                written[-1] = replace(written[-1], records=kept)
        _write_manifest(place, drafts, written)


def _is_gone(client: ApiClient, store_id: str) -> bool:
    """Ask the home whether a store is not there: what was not found may also have been a session's events."""
    try:
        next(client.versions.list(store_id, limit=1), None)
    except ApiRefused as error:
        return error.kind == NOT_FOUND
    return False


def _check_is_free(place: BackupPlace) -> None:
    found = {name for name, _ in islice(place.names(), _LOOKED_AT)}
    where = place.at()
    if not found:
        return
    if MANIFEST in found:
        why = f"{where} has another backup: a backup overwrites nothing; name a place that is new or empty"
    elif any(name.startswith("memstore_") for name in found):
        why = (
            f"{where} has a backup that was interrupted, without {MANIFEST}: name another place, or delete what is"
            " there; a backup overwrites nothing"
        )
    else:
        why = f"{where} must be new or empty: a backup overwrites nothing"
    raise InvalidRequest("PLACE", why)


def _put(place: BackupPlace, draft: Path) -> tuple[int, str]:
    """Put a file; return its size and SHA-256. Raises InvalidRequest: another backup has put it meanwhile."""
    size, sha256 = draft.stat().st_size, _sha256(draft)
    try:
        place.put_if_absent(draft.name, draft, sha256)
    except ObjectExists as error:
        raise InvalidRequest(
            "PLACE",
            f"{place.at(draft.name)} was put there meanwhile, by another backup; it was not overwritten: name a place"
            " that no other backup writes to",
        ) from error
    return size, sha256


def _write_manifest(place: BackupPlace, drafts: Path, written: list[StoredHistory]) -> None:
    fields = {"format": FORMAT, "schema": SCHEMA, "stores": [asdict(one) for one in written]}
    path = drafts / MANIFEST
    path.write_text(json.dumps(fields, indent=2, ensure_ascii=False), encoding="utf-8")
    _put(place, path)


def _sha256(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            hashed.update(chunk)
    return hashed.hexdigest()


# ---- in -------------------------------------------------------------------------------------------------------------


def stores_of(place: BackupPlace) -> list[StoredHistory]:
    """Return the stores of a backup, as its manifest tells them.

    Raises:
        InvalidRequest: it is no backup, of another schema, or its manifest is damaged. What `BackupPlace` raises.
    """
    where = place.at(MANIFEST)
    try:
        with place.reading(MANIFEST, _unseen) as read:
            fields = json.loads(read.path.read_text(encoding="utf-8"))
        if fields["format"] != FORMAT or fields["schema"] != SCHEMA:
            raise InvalidRequest(
                "PLACE",
                f"{where} is {fields['format']} of schema {fields['schema']}; this release reads {FORMAT} of schema"
                f" {SCHEMA} alone: use the release that wrote it",
            )
        stores = list(fields["stores"])
    except ObjectNotFound as error:
        raise InvalidRequest(
            "PLACE", f"{place.at()} is no backup, or an interrupted one: it has no {MANIFEST}"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(where, "it makes no sense") from error
    try:
        found = [_stored(one, f"stores.{number}") for number, one in enumerate(stores)]
    except InvalidRequest as error:
        raise _damaged(where, error.message) from error
    if any(Path(file).name != file or file == ".." for one in found for file in _files(one)):
        raise _damaged(where, "it names a file outside of it")
    return found


def verify(place: BackupPlace, found: list[StoredHistory], advance: Advance) -> list[str]:
    """Read every byte of a backup and compare it with the manifest; return the names of files that it does not name.

    Raises:
        InvalidRequest: it is damaged; names the file. What `BackupPlace` raises.
    """
    sizes = dict(place.names())
    for one in found:
        for name, size in _files(one).items():
            if name not in sizes:
                raise _damaged(place.at(name), "it is missing")
            if sizes[name] != size:
                raise _damaged(place.at(name), _OTHER)
    for one in found:
        with opened(place, one, advance):
            pass
        if one.records is not None:
            with _checked(place, one.records, advance):
                pass
    return sorted(set(sizes).difference((MANIFEST,), *map(_files, found)))


@contextmanager
def opened(
    place: BackupPlace, one: StoredHistory, advance: Advance
) -> Iterator[tuple[history.Manifest, Iterator[dict[str, Any]]]]:
    """Yield the history of one store, after every byte of it was compared with the backup's manifest.

    Raises:
        InvalidRequest: it is damaged; names the file. What `BackupPlace` raises.
    """
    with ExitStack() as stack:
        read = stack.enter_context(_checked(place, one, advance))
        try:
            manifest, versions = stack.enter_context(history.opened(read.path))
        except InvalidRequest as error:
            raise _damaged(place.at(one.file), str(error.__cause__ or error.rule)) from error
        if manifest.versions != one.versions or manifest.store.get("id") != one.store_id:
            raise _damaged(place.at(one.file), f"it is not the store that {MANIFEST} says")
        yield manifest, versions


_OTHER = f"its SHA-256 or its size is not what {MANIFEST} says"


@contextmanager
def _checked(place: BackupPlace, one: StoredHistory | StoredRecords, advance: Advance) -> Iterator[ReadFile]:
    where = place.at(one.file)
    with _reading(place, one.file, advance) as read:
        if (read.size_bytes, read.sha256) != (one.size_bytes, one.sha256):
            raise _damaged(where, _OTHER)
        yield read


@contextmanager
def _reading(place: BackupPlace, name: str, advance: Advance) -> Iterator[ReadFile]:
    try:
        with place.reading(name, advance) as read:
            yield read
    except ObjectNotFound as error:
        raise _damaged(place.at(name), "it is missing") from error


def _files(one: StoredHistory) -> dict[str, int]:
    kept = {} if one.records is None else {one.records.file: one.records.size_bytes}
    return {one.file: one.size_bytes, **kept}


_HISTORY: Mapping[str, type] = {"store": dict, "file": str, "size_bytes": int, "sha256": str, "versions": int}
_RECORDS: Mapping[str, type] = {"file": str, "size_bytes": int, "sha256": str, "counts": dict}
_RULES = {dict: "must be an object", str: "must be a string", int: "must be a whole number"}


def _stored(one: Any, field: str) -> StoredHistory:
    """Parse one store of a manifest; those of earlier releases have no records. Raises InvalidRequest."""
    fields = _typed(one, field, _HISTORY)
    _typed(history.check_store(fields["store"], f"{field}.store"), f"{field}.store", {"id": str})
    kept = one.get("records")
    found = None if kept is None else StoredRecords(**_typed(kept, f"{field}.records", _RECORDS))
    return StoredHistory(**fields, records=found)


def _typed(fields: Any, field: str, types: Mapping[str, type]) -> dict[str, Any]:
    """Return those fields of an object. Raises InvalidRequest: one has another type, or is missing."""
    if not isinstance(fields, dict):
        raise InvalidRequest(field, _RULES[dict])
    for name, kind in types.items():
        if not isinstance(fields.get(name), kind):
            raise InvalidRequest(f"{field}.{name}", _RULES[kind])
    return {name: fields[name] for name in types}


def _damaged(where: str, what: str) -> InvalidRequest:
    return InvalidRequest("PLACE", f"{where} is damaged: {what}; use another copy of the backup. Nothing was written")


def _unseen(_: int) -> None:
    """Count nothing."""
