"""Versions of a memory as agmi sees the records of a store: what its edits do, wherever the objects are.

agmi asks what the store itself says after each edit of its objects and a restart: here `memolith audit verify`. How an
object is read, changed and removed behind Memolith's back is what a subclass has of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from agmi.adapters.base import MemoryAdapter, Record

from tests.laptop import tampering
from tests.laptop.tampering import RawVersion

NAMES = {
    "tamper": "altered",
    "truncate": "truncated",
    "delete_middle": "missing",
    "reorder": "reordered",
    "forge": "unacknowledged",
    "cross_replay": "replayed",
    "rollback_replay": "rolled_back",
    "metadata_tamper": "metadata_changed",
    "snapshot_rollback": "rolled_back",
}
"""What the audit calls each edit of the suite."""


class VersionRecords(MemoryAdapter):
    """The versions of one memory, and those of another store to replay from."""

    supports_replay = True
    supports_metadata = True
    supports_snapshot = True
    detection_point = "audit"

    _store: str
    _other: str

    @abstractmethod
    def _keys(self, store_id: str) -> list[str]:
        """The keys of a store's versions, in the order of their slots."""

    @abstractmethod
    def _read(self, key: str) -> RawVersion:
        """The object as it stands, whatever its hashes say."""

    @abstractmethod
    def _write(self, raw: RawVersion) -> None:
        """Puts the object there, with its hashes left as they were or recomputed."""

    @abstractmethod
    def _remove(self, key: str) -> None:
        """Removes the object."""

    def read_all_raw(self) -> list[Record]:
        return self._records(self._store)

    def read_other_raw(self) -> list[Record]:
        return self._records(self._other)

    def _records(self, store: str) -> list[Record]:
        return [Record(seq, _fields(self._read(key))) for seq, key in enumerate(self._keys(store))]

    def write_raw(self, record: Record) -> None:
        keys = self._keys(self._store)
        key = keys[record.seq] if record.seq < len(keys) else record.fields["key"]
        self._write(RawVersion(key, record.fields["metadata"], record.fields["body"].encode()))

    def delete_raw(self, seq: int) -> None:
        self._remove(self._keys(self._store)[seq])

    def mutate_payload(self, record: Record) -> Record:
        record.fields["body"] += "  [TAMPERED]"
        return record

    def forge_record(self, template: Record) -> Record:
        return Record(template.seq + 1, _fields(tampering.forged(self._read(template.fields["key"]))))

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        victim = self._keys(self._store)[victim_seq]
        self._write(replace(self._read(donor.fields["key"]), key=victim))

    def read_meta(self, seq: int) -> dict[str, str]:
        return dict(self._read(self._keys(self._store)[seq]).metadata)

    def write_meta(self, seq: int, meta: dict[str, str]) -> None:
        self._write(replace(self._read(self._keys(self._store)[seq]), metadata=meta))

    def identity_of(self, record: Record) -> str:
        return str(record.fields["key"])

    def payload_of(self, record: Record) -> str:
        return str(record.fields["body"])

    def owner_of(self, record: Record) -> str | None:
        return str(record.fields["key"]).split("/")[2]


def _fields(raw: RawVersion) -> dict[str, Any]:
    return {"key": raw.key, "metadata": dict(raw.metadata), "body": raw.body.decode()}
