"""A backup: a folder with one history (`memolith.clients.transfer.history`) for each store, and a manifest of them.

    backup.json              written last: a folder without it is no backup
    memstore_….tar.gz        one store with every version that the API tells
    memstore_….records.gz    if asked for: its proposals, sessions, transcripts and dreams, to be read

The manifest has the SHA-256 and the size of every file, so that a copy of the folder, wherever it was in between, is
checked before anything is made of it. The folder is plain files: what copies files keeps it where the deployment cannot
reach it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memolith.clients.api.client import ApiClient
from memolith.clients.transfer import history, records
from memolith.clients.transfer.report import Tell
from memolith.core.errors import InvalidRequest

FORMAT = "memolith-backup"
SCHEMA = 1
MANIFEST = "backup.json"
_CHUNK_BYTES = 1 << 20


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


def write(
    client: ApiClient,
    folder: Path,
    wanted: Iterable[str],
    tell: Tell,
    advance: Callable[[int], None],
    *,
    with_records: bool = False,
) -> list[StoredHistory]:
    """Back up these stores, or every store of the key's workspace if none is named, into a new or empty folder.

    A store is as it was while it was read; stores follow each other. Nothing there is overwritten, and an interrupted
    backup has no manifest. It asks for withheld texts too, which an admin's key alone is given. `with_records`: what
    `records.export` writes of each store, too.

    Raises:
        InvalidRequest: the folder has something in it. OSError: it cannot be written. ApiRefused, ApiUnanswered.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidRequest("FOLDER", f"{folder} must be new or empty: a backup overwrites nothing")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    client = client.showing_withheld()
    stores = client.stores
    named = [stores.retrieve(store_id) for store_id in dict.fromkeys(wanted)]
    written = []
    for store in named or list(stores.list(include_archived="true")):
        path = folder / f"{store.id}.tar.gz"
        versions = history.export(client, store.id, path, tell, advance)
        path.chmod(0o600)
        sha256 = _sha256(path)
        kept = _records(client, folder, store.id) if with_records else None
        written.append(StoredHistory(store, path.name, path.stat().st_size, sha256, versions, kept))
    _write_manifest(folder, written)
    return written


def _records(client: ApiClient, folder: Path, store_id: str) -> StoredRecords:
    path = folder / f"{store_id}.records.gz"
    counts = records.export(client, store_id, path)
    path.chmod(0o600)
    return StoredRecords(path.name, path.stat().st_size, _sha256(path), counts)


def _write_manifest(folder: Path, written: list[StoredHistory]) -> None:
    fields = {"format": FORMAT, "schema": SCHEMA, "stores": [asdict(one) for one in written]}
    beside = folder / f".{MANIFEST}.part"
    beside.write_text(json.dumps(fields, indent=2, ensure_ascii=False), encoding="utf-8")
    beside.chmod(0o600)
    beside.replace(folder / MANIFEST)


def verified(folder: Path) -> list[StoredHistory]:
    """Return the stores of a backup, every byte of which was read and is what the manifest says.

    Raises:
        InvalidRequest: it is no backup, of another schema, or damaged; names the file.
        OSError: it cannot be read.
    """
    found = _manifest(folder)
    for one in found:
        path = folder / one.file
        _check(folder / one.file, one.size_bytes, one.sha256)
        if one.records is not None:
            _check(folder / one.records.file, one.records.size_bytes, one.records.sha256)
        with history.opened(path) as (manifest, _):
            if manifest.versions != one.versions or manifest.store["id"] != one.store_id:
                raise _damaged(path, f"it is not the store that {MANIFEST} says")
    return found


def _check(path: Path, size_bytes: int, sha256: str) -> None:
    if not path.is_file():
        raise _damaged(path, "it is missing")
    if path.stat().st_size != size_bytes or _sha256(path) != sha256:
        raise _damaged(path, f"its SHA-256 or its size is not what {MANIFEST} says")


def _manifest(folder: Path) -> list[StoredHistory]:
    path = folder / MANIFEST
    if not path.is_file():
        raise InvalidRequest("FOLDER", f"{folder} is no backup, or an interrupted one: it has no {MANIFEST}")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields["format"] != FORMAT or fields["schema"] != SCHEMA:
            raise InvalidRequest(
                "FOLDER",
                f"{path} is {fields['format']} of schema {fields['schema']}; this release reads {FORMAT} of schema"
                f" {SCHEMA} alone: use the release that wrote it",
            )
        found = [_stored(one) for one in fields["stores"]]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, "it makes no sense") from error
    files = [file.file for one in found for file in (one, one.records) if file is not None]
    if any(Path(file).name != file for file in files):
        raise _damaged(path, "it names a file outside the folder")
    return found


def _stored(one: Mapping[str, Any]) -> StoredHistory:
    """Parse one store of a manifest; those of earlier releases have no records."""
    fields = {name: one[name] for name in StoredHistory.__slots__ if name != "records"}
    kept = one.get("records")
    found = None if kept is None else StoredRecords(**{name: kept[name] for name in StoredRecords.__slots__})
    return StoredHistory(**fields, records=found)


def _damaged(path: Path, what: str) -> InvalidRequest:
    return InvalidRequest("FOLDER", f"{path} is damaged: {what}; nothing was restored: use another copy of the backup")


def _sha256(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            hashed.update(chunk)
    return hashed.hexdigest()
