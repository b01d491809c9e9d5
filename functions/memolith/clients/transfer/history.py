"""A store with its history in one tar, and from there into another Memolith.

The tar has two members: ``manifest.json``, and ``versions.jsonl``, a version a line as the API tells it, oldest first.
So it can be made of every Memolith that can be asked, with no more rights than reading takes, and needs no index.

Versions are brought in by the order of their times over the whole store, not memory after memory: a path that changed
hands is free by the time at which the next one came to it. Those of a memory whose path is taken all the same wait
until the others are in.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from memolith.clients.api.client import ApiClient, address
from memolith.clients.transfer.archives import DAMAGED
from memolith.clients.transfer.exporting import TarMode, whole
from memolith.clients.transfer.report import Row, Tell
from memolith.core.errors import InvalidRequest
from memolith.core.limits import IMPORT_MAX_VERSIONS
from memolith.core.paths import check_path

FORMAT = "memolith-history"
FORMAT_VERSION = 1
MANIFEST, VERSIONS = "manifest.json", "versions.jsonl"
BATCH_MAX_BYTES = 700_000
"""Of JSON in one request, which may be a mebibyte; one version may be as much alone."""

_TOLD = (
    "id", "memory_id", "operation", "created_at", "created_by", "path", "content", "redacted_at", "redacted_by", "trust"
)  # fmt: skip
_KEPT = (
    "id", "name", "description", "metadata", "created_at", "scan_policy", "retention", "second_region", "approval",
    "pipelines",
)  # fmt: skip
"""What the manifest has of the store; the last three are not in a tar of an earlier release."""
_OBJECTS = ("metadata", "scan_policy", "retention", "approval", "pipelines")
"""Those of them that are objects."""
_UNTOLD = "imported"
"""The trust class of a version in a tar of an earlier release, which tells none."""
_MANIFEST_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the tar says of itself: the store as the API tells it, how many versions, and the SHA-256 of their lines."""

    store: Mapping[str, Any]
    versions: int
    sha256: str

    def to_json(self) -> bytes:
        fields = {"format": FORMAT, "format_version": FORMAT_VERSION, "store": dict(self.store)}
        return json.dumps({**fields, "versions": self.versions, "sha256": self.sha256}, indent=2).encode()


# ---- out ------------------------------------------------------------------------------------------------------------


def export(
    client: ApiClient,
    store_id: str,
    path: Path,
    tell: Tell,
    advance: Callable[[int], None],
    *,
    replace: bool = False,
) -> int:
    """Write the tar, and report each text that is missing from it; return how many versions it has.

    The API lists versions newest first, so a temporary file keeps them until all are there. A request for 20.

    Raises:
        InvalidRequest: a file is there by then, and is not to be replaced. OSError: the tar cannot be written.
        ApiRefused, ApiUnanswered.
    """
    store = client.stores.retrieve(store_id)
    kept = {name: store[name] for name in _KEPT if name in store}
    with TemporaryFile() as spool:
        starts = []
        listed = client.versions.list(store_id, view="full", limit=20)
        for version in listed:
            starts.append(spool.tell())
            spool.write(_line(version, tell))
            advance(1)
        with whole(path, replace=replace) as beside:
            _write(beside, "x:gz" if path.name.endswith((".gz", ".tgz")) else "x", kept, spool, starts)
    return len(starts)


_NO_TEXT = {False: "its text was not told", True: "its text is damaged in every region"}


def _line(version: Any, tell: Tell) -> bytes:
    shown: Mapping[str, Any] = version
    fields = {name: shown.get(name) for name in _TOLD}
    withheld, damaged = shown.get("withheld"), shown.get("damaged")
    if withheld:
        fields["withheld"] = withheld
    if shown.get("content_sha256") is not None and fields["content"] is None:
        why = (
            "its text is withheld by the safety scanner (--withheld exports it, with an admin's key)"
            if withheld
            else _NO_TEXT[bool(damaged)]
        )
        tell(Row(f"{shown['path']} {shown['id']}", "left out", why))
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _write(path: Path, mode: TarMode, store: Mapping[str, Any], spool: BinaryIO, starts: list[int]) -> None:
    """Write the versions oldest first: the lines from the last to the first."""
    size, hashed = spool.tell(), hashlib.sha256()
    for line in _backwards(spool, starts):
        hashed.update(line)
    manifest = Manifest(store, len(starts), hashed.hexdigest()).to_json()
    with tarfile.open(path, mode) as opened:
        opened.addfile(_member(MANIFEST, len(manifest)), BytesIO(manifest))
        opened.addfile(_member(VERSIONS, size), _Lines(_backwards(spool, starts)))


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


def _backwards(spool: BinaryIO, starts: list[int]) -> Iterator[bytes]:
    for start in reversed(starts):
        spool.seek(start)
        yield spool.readline()


class _Lines:
    """Lines as a file to read from."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._rest = b""

    def read(self, size: int = sys.maxsize) -> bytes:
        while len(self._rest) < size and (line := next(self._lines, b"")):
            self._rest += line
        read, self._rest = self._rest[:size], self._rest[size:]
        return read


# ---- in -------------------------------------------------------------------------------------------------------------


def is_history(path: Path) -> bool:
    """Tell whether a file is such a tar, of any version of the format."""
    try:
        with tarfile.open(path) as opened:
            first = opened.next()
            return first is not None and first.name == MANIFEST and _manifest_of(opened, first).get("format") == FORMAT
    except (*DAMAGED, OSError, InvalidRequest):
        return False


@contextmanager
def opened(path: Path) -> Iterator[tuple[Manifest, Iterator[dict[str, Any]]]]:
    """Yield the manifest, and the versions oldest first. All of them are checked before the first.

    What the API alone can tell, such as a time ahead of its clock, it checks in each call.

    Raises:
        InvalidRequest: it is damaged, has a record that no store can have had, or is of another version of this format.
    """
    try:
        with tarfile.open(path) as archive:
            first = archive.next()
            fields = {} if first is None else _manifest_of(archive, first)
            if fields.get("format_version") != FORMAT_VERSION:
                raise InvalidRequest(
                    "SOURCE", f"{path} is of format {fields.get('format_version')}, not {FORMAT_VERSION}"
                )
            try:
                manifest = _checked(archive, fields)
            except (ValueError, KeyError, InvalidRequest) as error:
                raise InvalidRequest("SOURCE", f"{path} is damaged: {error}; {_NEXT}") from error
            yield manifest, (json.loads(line) for line in _versions_of(archive))
    except DAMAGED as error:
        raise InvalidRequest("SOURCE", f"{path} is damaged: {error}") from error


_NEXT = "nothing was imported. Export the store again, or use another copy"


def _manifest_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> dict[str, Any]:
    read = archive.extractfile(member)
    text = b"" if read is None else read.read(_MANIFEST_MAX_BYTES)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("SOURCE", f"its {MANIFEST} makes no sense") from error
    return fields if isinstance(fields, dict) else {}


def _versions_of(archive: tarfile.TarFile) -> Iterator[bytes]:
    read = archive.extractfile(VERSIONS)
    if read is None:
        raise ValueError(f"no {VERSIONS} in it")
    yield from read


def _checked(archive: tarfile.TarFile, fields: Mapping[str, Any]) -> Manifest:
    """Return the manifest once every record was checked. Raises ValueError, KeyError, InvalidRequest: one is wrong."""
    hashed, count = hashlib.sha256(), 0
    for line in _versions_of(archive):
        hashed.update(line)
        count += 1
    if (count, hashed.hexdigest()) != (fields.get("versions"), fields.get("sha256")):
        raise ValueError(f"{VERSIONS} is not what {MANIFEST} says")
    store = check_store(fields.get("store"), f"{MANIFEST}, store")
    for number, line in enumerate(_versions_of(archive), 1):
        _check_version(line, f"{VERSIONS}, line {number}")
    return Manifest(store, count, hashed.hexdigest())


def check_store(store: Any, field: str) -> Mapping[str, Any]:
    """Return what a manifest tells of a store. Raises InvalidRequest unless it has the form that is relied on."""
    if not isinstance(store, dict):
        raise InvalidRequest(field, "must be an object")
    if not isinstance(store.get("name"), str):
        raise InvalidRequest(f"{field}.name", "must be a string")
    for name in _OBJECTS:
        if not isinstance(store.get(name), dict | None):
            raise InvalidRequest(f"{field}.{name}", "must be an object")
    return store


def _check_version(line: bytes, field: str) -> None:
    """Check a version by the API's own rules for one. A field that this release does not know is the API's to refuse.

    Raises:
        InvalidRequest: it breaks one.
    """
    from memolith.wire import strict_json
    from memolith.wire.request_bodies import VersionsToImport, VersionToImport, imported_version, parse

    try:
        told = strict_json.decode(line)
        known = VersionToImport.model_fields
        sent = {name: told[name] for name in known if name in told} if isinstance(told, dict) else told
        [one] = parse(VersionsToImport, json.dumps({"versions": [sent]}).encode()).versions
        version = imported_version(one, _ONE, "")
        if version.path is not None:
            check_path(version.path, f"{_ONE}.path")
    except InvalidRequest as error:
        inside = "" if error.field in ("body", _ONE) else f", {error.field.removeprefix(f'{_ONE}.')}"
        raise InvalidRequest(f"{field}{inside}", error.rule) from error


_ONE = "versions.0"
"""Where the API finds a version that is sent alone."""


@dataclass(slots=True)
class _Memory:
    """What became of one memory's versions so far."""

    path: str = "?"
    blank: list[dict[str, Any]] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    withheld: set[str] = field(default_factory=set)
    redacted: Counter[str] = field(default_factory=Counter)
    reason: str = ""
    waits: bool = False


class HistoryImporter:
    """Brings versions into one store.

    Args:
        advance: called with how many versions were settled.
        max_trust: up to which class that of each version is believed.
    """

    def __init__(self, client: ApiClient, store_id: str, advance: Callable[[int], None], max_trust: str) -> None:
        self._client = client.repeating_writes()
        self._store_id = store_id
        self._advance = advance
        self._max_trust = max_trust
        self._memories: dict[str, _Memory] = {}

    def run(self, versions: Iterable[dict[str, Any]], tell: Tell) -> Counter[str]:
        """Report what became of each memory; return how many versions were ``imported`` and how many were ``known``.

        Repeatable: a version that is there already is known by its id.

        Raises:
            ApiRefused, ApiUnanswered; what was imported stays, and the same call goes on after it.
        """
        waiting = self._pass(self._in_order(versions))
        while waiting:
            again = self._pass(waiting)
            if len(again) == len(waiting):
                break
            waiting = again
        for memory_id, memory in self._memories.items():
            self._tell(memory_id, memory, tell)
        return sum((memory.told for memory in self._memories.values()), Counter())

    def _in_order(self, versions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Put erased versions right before the next one of their memory: they have no path, and show none."""
        for version in versions:
            version.setdefault("trust", _UNTOLD)
            memory = self._memories.setdefault(version["memory_id"], _Memory())
            memory.path = version.get("path") or memory.path
            if version.get("content") is None and version["operation"] != "deleted":
                memory.blank.append(version)
                continue
            yield from memory.blank
            memory.blank = []
            yield version

    def _pass(self, versions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Import them; return those that have to wait for others."""
        waiting: list[dict[str, Any]] = []
        for memory in self._memories.values():
            memory.waits = False
        batch: list[dict[str, Any]] = []
        size = 0
        for version in versions:
            if self._memories[version["memory_id"]].waits:
                waiting.append(version)
                continue
            length = len(json.dumps(version))
            if batch and (size + length > BATCH_MAX_BYTES or len(batch) == IMPORT_MAX_VERSIONS):
                waiting += self._send(batch)
                batch, size = [], 0
            batch.append(version)
            size += length
        return waiting + (self._send(batch) if batch else [])

    def _send(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send one call; return those of its versions that have to wait."""
        path = address(self._store_id, "memory_versions")
        answer: Any = self._client.post(path, {"versions": batch, "max_trust": self._max_trust})
        rows = answer["data"]
        waiting = []
        for version, row in zip(batch, rows, strict=True):
            memory = self._memories[version["memory_id"]]
            if row["status"] in ("imported", "known"):
                memory.told[row["status"]] += 1
                memory.withheld.update(row["withheld_rules"])
                memory.redacted.update(row.get("redacted", ()))
                self._advance(1)
                continue
            if row["status"] == "refused":
                memory.reason, memory.waits = row["reason"], True
            waiting.append(version)
        return waiting

    def _tell(self, memory_id: str, memory: _Memory, tell: Tell) -> None:
        path = memory.path if memory.path != "?" else memory_id
        if memory.waits:
            tell(Row(path, "refused", f"after {memory.told.total()} versions: {memory.reason}"))
        elif memory.blank:
            tell(Row(path, "left out", f"its last {len(memory.blank)} versions have no text"))
        else:
            tell(Row(path, "created" if memory.told["imported"] else "unchanged"))
        if memory.redacted:
            kinds = ", ".join(sorted(memory.redacted))
            tell(Row(path, "noted", f"{memory.redacted.total()} secrets were taken out of its texts ({kinds})"))
        if memory.withheld:
            rules = ", ".join(sorted(memory.withheld))
            tell(Row(path, "withheld", f"texts of it are here, and withheld by the safety scanner ({rules})"))
