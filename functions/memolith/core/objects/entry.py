"""Entries: one version of a memory, as the metadata of an object in the log of its path."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from memolith.core.limits import FLAGS_MAX_BYTES
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.objects.schema import SCHEMA, LaterSchema, check_schema


class Operation(StrEnum):
    """What an entry did. The first three are the API's words; the others are steps of a rename, or of nothing."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    MOVED_IN = "moved_in"
    MOVED_OUT = "moved_out"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: ``api_key:apikey_…``, ``session:sesn_…``, ``user:user_…`` or ``service_account:svac_…``."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> Actor:
        kind, _, id = text.partition(":")
        return cls(kind, id)


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of one log.

    Attributes:
        key: where it stands.
        version_id: ``memver_…``; a `moved_out` has one derived from its `moved_in`; a `void` has its breaker's.
        memory_id: whose version it is; empty for a `void`.
        generation: the memory's count of its versions, across paths and epochs; a `moved_out` repeats its parent's.
        arrived: the slot at which this memory came to this path (its own for `created` and `moved_in`, and for a text
            that comes over one that was erased); a version's.
        parent_version_id: the memory's version before this one, or None for its first.
        path, content_sha256, content_size_bytes: None where there is no content, and once blanked.
        source: `moved_in` only: the position that must hold its `moved_out`.
        destination: `moved_out` only: the position of its `moved_in`.
        moved_version_id: `moved_out` only: the `moved_in` it commits.
        second: the region whose bucket held everything below this entry in its log before it was put, where its store
            asked for that (`memolith.app.commit.sync_replica`).
        flags: names of what the scanner found, without blanks or commas; see `kept_flags` for how much fits.
        imported: it was brought in from elsewhere, as its time and its actor were told
            (`memolith.app.api.history_import`).
        blank: body, path and hash were erased; the slot stays taken.
        trust: the letter of its trust class (`memolith.core.trust`); None for a version of an earlier release, and for
            what has no text of its own.
        object_version: the id of the object's version, where this very process has put it; no part of what is stored.
        adopts: the slot of an earlier epoch, of the same log, at which this very version stood when it came late.
    """

    key: LogKey
    operation: Operation
    version_id: str
    memory_id: str = ""
    generation: int = 0
    arrived: Slot | None = None
    parent_version_id: str | None = None
    path: str | None = None
    content_sha256: str | None = None
    content_size_bytes: int | None = None
    created_at: int = 0
    memory_created_at: int = 0
    created_by: Actor | None = None
    source: LogRef | None = None
    destination: LogRef | None = None
    moved_version_id: str | None = None
    second: str | None = None
    flags: tuple[str, ...] = ()
    blank: bool = False
    imported: bool = False
    adopts: Slot | None = None
    trust: str | None = None
    object_version: str | None = field(default=None, compare=False)

    @property
    def slot(self) -> Slot:
        return self.key.slot

    @property
    def ref(self) -> LogRef:
        return LogRef(self.key.path_hash, self.key.slot)

    @property
    def projected_version_id(self) -> str | None:
        """Return the version that the index has once the entry is projected: of a rename's end, what it completes."""
        return self.moved_version_id if self.operation is Operation.MOVED_OUT else self.version_id

    @property
    def has_content(self) -> bool:
        return self.operation in (Operation.CREATED, Operation.MODIFIED, Operation.MOVED_IN) and not self.blank

    def same_write(self, other: Entry) -> bool:
        """Tell whether `other`, met in the slot, is this very write: its reply was lost, and it had won.

        A repetition of the call that runs beside it makes its entry at another instant: the same version, but not the
        same write. So a writer never projects another entry than the one in the log.
        """
        return self.version_id == other.version_id and self._links == other._links

    def ends(self, arrival: Entry) -> bool:
        """Tell whether this `moved_out` commits the rename whose first half is `arrival`, at the position where it is.

        A repetition of the call may have put a first half of the same version elsewhere: that one is void.
        """
        return self.moved_version_id == arrival.version_id and self.destination == arrival.ref

    @property
    def _links(self) -> tuple[object, ...]:
        moved = (self.source, self.destination, self.moved_version_id)
        return (self.operation, self.memory_id, self.generation, self.created_at, *moved)

    def blanked(self) -> Entry:
        """Return what stays of it after retention or redaction: ids, links and times; no content, path or hash."""
        return replace(self, path=None, content_sha256=None, content_size_bytes=None, flags=(), blank=True)

    def to_metadata(self) -> dict[str, str]:
        """Write its object's user metadata: short lower-case keys, ASCII values, absent where None.

        Raises:
            ValueError: flags that would not be given back, or would not fit beside the longest path.
        """
        flags = ",".join(self.flags)
        if len(flags) > FLAGS_MAX_BYTES or not all(map(_FLAG.fullmatch, self.flags)):
            raise ValueError(f"flags are names without blanks or commas, of {FLAGS_MAX_BYTES} bytes in all")
        path = None if self.path is None else base64.urlsafe_b64encode(self.path.encode()).decode().rstrip("=")
        fields: dict[str, object | None] = {
            "schema": SCHEMA,
            "id": self.version_id,
            "op": self.operation,
            "mem": self.memory_id or None,
            "gen": self.generation or None,
            "arrived": self.arrived,
            "prev": self.parent_version_id,
            "path": path,
            "sha": self.content_sha256,
            "size": self.content_size_bytes,
            "at": self.created_at,
            "born": self.memory_created_at or None,
            "by": self.created_by,
            "src": self.source,
            "dst": self.destination,
            "moved": self.moved_version_id,
            "second": self.second,
            "flags": flags or None,
            "blank": "1" if self.blank else None,
            "imp": "1" if self.imported else None,
            "adopts": self.adopts,
            "tr": self.trust,
        }
        return {name: str(value) for name, value in fields.items() if value is not None}

    @classmethod
    def from_metadata(cls, key: LogKey, metadata: Mapping[str, str]) -> Entry:
        """Parse what `to_metadata` made.

        Raises:
            ValueError: no writer of this schema made the metadata. LaterSchema: one of a later schema did.
        """
        try:
            check_schema(metadata.get("schema"))
            return cls(
                key=key,
                operation=Operation(metadata["op"]),
                version_id=metadata["id"],
                memory_id=metadata.get("mem", ""),
                generation=int(metadata.get("gen", "0")),
                arrived=_optional(Slot.parse, metadata.get("arrived")),
                parent_version_id=metadata.get("prev"),
                path=_optional(_decode_path, metadata.get("path")),
                content_sha256=metadata.get("sha"),
                content_size_bytes=_optional(int, metadata.get("size")),
                created_at=int(metadata["at"]),
                memory_created_at=int(metadata.get("born", "0")),
                created_by=_optional(Actor.parse, metadata.get("by")),
                source=_optional(LogRef.parse, metadata.get("src")),
                destination=_optional(LogRef.parse, metadata.get("dst")),
                moved_version_id=metadata.get("moved"),
                second=metadata.get("second"),
                flags=tuple(filter(None, metadata.get("flags", "").split(","))),
                blank=metadata.get("blank") == "1",
                imported=metadata.get("imp") == "1",
                adopts=_optional(Slot.parse, metadata.get("adopts")),
                trust=metadata.get("tr"),
            )
        except (KeyError, ValueError) as error:
            kind = LaterSchema if isinstance(error, LaterSchema) else ValueError
            raise kind(f"{key}: metadata cannot be read ({error})") from error


def body_without_text(operation: Operation, version_id: str) -> bytes:
    """Return the body of an entry that has no text: what it is, to whoever reads the bucket."""
    return json.dumps({"operation": operation.value, "version_id": version_id}).encode()


_FLAG = re.compile(r"[!-+\--~]+")


def kept_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Keep as many of the first flags, each once, as one version's metadata has room for."""
    kept: tuple[str, ...] = ()
    for flag in dict.fromkeys(flags):
        if len(",".join((*kept, flag))) > FLAGS_MAX_BYTES:
            break
        kept = (*kept, flag)
    return kept


def _optional(parse: Any, text: str | None) -> Any:
    return None if text is None else parse(text)


def _decode_path(text: str) -> str:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
