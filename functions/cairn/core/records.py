"""What stands in the objects: entries of logs, records of stores and keys, orders of redaction, verdicts, cuts.

A log object's body is the memory's content, byte for byte; everything else about the version is its user metadata, so
that each object can be understood alone and any table can be rebuilt from a listing. Metadata is US-ASCII and at most
2,048 bytes in all, which one longest path fits and two do not: a rename's entries name each other by path hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

from cairn.core.limits import FLAGS_MAX_BYTES
from cairn.core.slots import Epoch, LogKey, LogRef, Slot, VerdictKey

SCHEMA = "1"


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
        arrived: the slot at which this memory came to this path (its own for `created` and `moved_in`); a version's.
        parent_version_id: the memory's version before this one, or None for its first.
        path, content_sha256, content_size_bytes: None where there is no content, and once blanked.
        source: `moved_in` only: the position that must hold its `moved_out`.
        destination: `moved_out` only: the position of its `moved_in`.
        moved_version_id: `moved_out` only: the `moved_in` it commits.
        second: the region whose bucket held everything below this entry in its log before it was put, where its store
            asked for that (`cairn.app.second_region`).
        flags: names of what the scanner found, without blanks or commas; see `kept_flags` for how much fits.
        imported: it was brought in from elsewhere, as its time and its actor were told (`cairn.app.importing`).
        blank: body, path and hash were erased; the slot stays taken.
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

    @property
    def slot(self) -> Slot:
        return self.key.slot

    @property
    def ref(self) -> LogRef:
        return LogRef(self.key.path_hash, self.key.slot)

    @property
    def has_content(self) -> bool:
        return self.operation in (Operation.CREATED, Operation.MODIFIED, Operation.MOVED_IN) and not self.blank

    def same_write(self, other: Entry) -> bool:
        """Whether `other`, met in the slot, is this very write: a reply was lost, and it had won.

        A repetition of the call, running beside it, made its entry at another instant: that is the same version, but
        not the same write, so that nobody folds an entry other than the one that stands.
        """
        return self.version_id == other.version_id and self._links == other._links

    @property
    def _links(self) -> tuple[object, ...]:
        moved = (self.source, self.destination, self.moved_version_id)
        return (self.operation, self.memory_id, self.generation, self.created_at, *moved)

    def blanked(self) -> Entry:
        """What stays of it after retention or redaction: ids, links and times; no content, path or hash."""
        return replace(self, path=None, content_sha256=None, content_size_bytes=None, flags=(), blank=True)

    def to_metadata(self) -> dict[str, str]:
        """User metadata of its object: short lower-case keys, ASCII values, absent where None.

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
        }
        return {name: str(value) for name, value in fields.items() if value is not None}

    @classmethod
    def from_metadata(cls, key: LogKey, metadata: Mapping[str, str]) -> Entry:
        """The inverse of `to_metadata`. Raises ValueError for metadata that no writer of this schema made."""
        if metadata.get("schema") != SCHEMA:
            raise ValueError(f"{key}: schema {metadata.get('schema')!r} is not {SCHEMA!r}")
        try:
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
            )
        except (KeyError, ValueError) as error:
            raise ValueError(f"{key}: metadata cannot be read ({error})") from error


_FLAG = re.compile(r"[!-+\--~]+")


def kept_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """As many of the first flags, each once, as one version's metadata has room for."""
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


SCAN_POLICY_DEFAULT = "standard"


class StoreState(StrEnum):
    """Who may write: the home (`active`); nobody, while its term ends or begins; nobody any more (`deleted`).

    `moving` is put by the old home of a planned move, and by the new one of a fail-over until its cut stands; `moved`
    is a planned move's commit: the last record of an old home, from which the new one's first follows.
    """

    ACTIVE = "active"
    MOVING = "moving"
    MOVED = "moved"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """One version of a store's own record; the JSON body of its object.

    `home` and `epochs` say where its logs are written: `epochs` is the accepted chain, oldest first, this one included.
    `scan_policy` and `scan_allow` say how its writes are scanned (`cairn.scanner.Policy`, ids of rules); the body
    leaves them out where they are the default.
    `retention_days` and `retention_versions` are None, and not in the body, where they are (`cairn.core.retention`).
    `second_region` is where a write must stand too before it is acknowledged (`cairn.core.durability`); None, and not
    in the body, where its home is enough.
    `cuts` names the cut that each epoch after the first began with; while a fail-over makes its own, one is missing.
    `moving_to` is where a planned move goes; `follows` the slot of the record that an epoch's first was made from.
    `adopted` names the late records of older homes that were taken up, and `apart` those that were not (`core.late`).
    The body leaves these five out where there is nothing to say.
    """

    store_id: str
    workspace_id: str
    name: str
    description: str
    metadata: Mapping[str, str]
    salt: str
    home: str
    epochs: tuple[str, ...]
    created_at: int
    updated_at: int
    created_by: str
    version_id: str
    state: StoreState = StoreState.ACTIVE
    archived_at: int | None = None
    scan_policy: str = SCAN_POLICY_DEFAULT
    scan_allow: tuple[str, ...] = ()
    retention_days: int | None = None
    retention_versions: int | None = None
    second_region: str | None = None
    cuts: tuple[str, ...] = ()
    moving_to: str | None = None
    follows: str | None = None
    adopted: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def has_text(self) -> bool:
        """Whether it holds anything of the store's own that a deletion erases."""
        return bool(self.name or self.description or self.metadata or self.salt)

    def blanked(self) -> StoreRecord:
        """What stays of it once its store is deleted: ids, places, times and who; no name, description or salt."""
        return replace(self, name="", description="", metadata={}, salt="")

    def to_json(self) -> bytes:
        fields = {"schema": SCHEMA, **asdict(self)}
        if (self.scan_policy, self.scan_allow) == (SCAN_POLICY_DEFAULT, ()):
            del fields["scan_policy"], fields["scan_allow"]
        for name in ("retention_days", "retention_versions", "second_region"):
            if fields[name] is None:
                del fields[name]
        for name in ("cuts", "moving_to", "follows", "adopted", "apart"):
            if not fields[name]:
                del fields[name]
        return json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> StoreRecord:
        """Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            names = ("epochs", "scan_allow", "cuts", "adopted", "apart")
            lists = {"epochs": fields["epochs"]} | {name: tuple(fields.get(name, ())) for name in names}
            return cls(**{**fields, **lists, "state": StoreState(fields["state"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a store's record cannot be read ({error})") from error

    @property
    def epoch(self) -> Epoch:
        """The term in which its logs are written now."""
        return parse_epoch(self.epochs[-1])

    def ended(self, at_us: int) -> StoreRecord:
        """The record that ends the store: from then on nobody finds it, and nothing of its own is kept."""
        return replace(
            self,
            name="",
            description="",
            metadata={},
            salt="",
            scan_allow=(),
            state=StoreState.DELETED,
            updated_at=at_us,
        )

    def begun(self) -> StoreRecord:
        """The first record of the home that a `moved` record names; the same whoever puts it."""
        return replace(self, state=StoreState.ACTIVE, moving_to=None)


def parse_epoch(text: str) -> Epoch:
    return Epoch.parse(text)


@dataclass(frozen=True, slots=True)
class ApiKeyRecord:
    """One version of an API key's record. The secret itself stands nowhere; `secret_sha256` is of the whole key text.

    A key's secret has 256 random bits, so an unsalted hash cannot be searched.
    """

    workspace_id: str
    key_id: str
    name: str
    scope: str
    secret_sha256: str
    created_at: int
    revoked_at: int | None = None

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> ApiKeyRecord:
        """Raises ValueError for a body that no writer of this schema made."""
        try:
            return cls(**_load(body))
        except TypeError as error:
            raise ValueError(f"a key's record cannot be read ({error})") from error


@dataclass(frozen=True, slots=True)
class Attachment:
    """A store in a session, as it was when the session began: a snapshot, which later changes do not reach.

    `access` is ``read_write`` or ``read_only``; `mount_path` is where the agent finds it, ``/mnt/memory/notes``.
    """

    memory_store_id: str
    access: str
    instructions: str
    name: str
    description: str
    mount_path: str


@dataclass(frozen=True, slots=True)
class Pin:
    """One memory as a session's context has it: a version, and the object that it is; no text and no path."""

    memory_id: str
    version_id: str
    position: str


@dataclass(frozen=True, slots=True)
class StorePins:
    """What the context of a session shows of one store.

    Attributes:
        index: the store's own ``/MEMORY.md``; None where it had none.
        memories: else the memories from which an index is made, newest first.
        more: whether the store had others, which are left out.
    """

    memory_store_id: str
    index: Pin | None
    memories: tuple[Pin, ...] = ()
    more: bool = False

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All of them."""
        return self.memories if self.index is None else (self.index,)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> StorePins:
        """Raises TypeError, KeyError for what no writer of this schema made."""
        index = fields["index"]
        return cls(
            memory_store_id=fields["memory_store_id"],
            index=None if index is None else Pin(**index),
            memories=tuple(Pin(**one) for one in fields["memories"]),
            more=fields["more"],
        )


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One version of a session's record. Its token stands nowhere: it is signed, not remembered.

    `pinned_at` and `pins` are the session's context: what its stores held at that instant, as the region knew it that
    wrote this version. A version that only ends the session has none.
    """

    workspace_id: str
    session_id: str
    title: str | None
    metadata: Mapping[str, str]
    attachments: tuple[Attachment, ...]
    created_at: int
    created_by: str
    archived_at: int | None = None
    pinned_at: int | None = None
    pins: tuple[StorePins, ...] = ()

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> SessionRecord:
        """Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            attachments = tuple(Attachment(**one) for one in fields.pop("attachments"))
            pins = tuple(StorePins.from_json(one) for one in fields.pop("pins", ()))
            return cls(**fields, attachments=attachments, pins=pins)
        except (TypeError, KeyError) as error:
            raise ValueError(f"a session's record cannot be read ({error})") from error


@dataclass(frozen=True, slots=True)
class Redaction:
    """The order to erase one version everywhere: which object holds it, who asked, when."""

    store_id: str
    version_id: str
    position: str
    redacted_at: int
    redacted_by: str

    @property
    def ref(self) -> LogRef:
        return LogRef.parse(self.position)

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> Redaction:
        """Raises ValueError for a body that no writer of this schema made."""
        try:
            return cls(**_load(body))
        except TypeError as error:
            raise ValueError(f"an order of redaction cannot be read ({error})") from error


class VerdictOutcome(StrEnum):
    """What a verdict says of a text. Only the last two change whether it is shown."""

    ALLOW = "allow"
    FLAG = "flag"
    WITHHOLD = "withhold"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """One verdict on the text of one version; the JSON body of its object. It outlives the text, and so holds none.

    Attributes:
        position: where the version stands, as text of a `LogRef`.
        content_hmac: `core.verdicts.content_hmac` of the text's hash: what the verdict holds for, under any version.
        findings: as the API tells them, each with its ``rule``, without the excerpt.
        decided_by: ``scanner``, or who released it: ``api_key:…``.
        reason: one line; for a release, in the words of whoever released it.
        fingerprints: `core.fingerprints` of what was found, by which other memories of the store are compared with it.
        region, sequence: its key's; whoever makes a record leaves them to `app.verdicts.Verdicts.put`.
    """

    store_id: str
    version_id: str
    position: str
    content_hmac: str
    outcome: VerdictOutcome
    decided_at: int
    decided_by: str
    reason: str = ""
    findings: tuple[Mapping[str, object], ...] = ()
    fingerprints: tuple[str, ...] = ()
    region: str = ""
    sequence: int = 0

    @property
    def key(self) -> VerdictKey:
        return VerdictKey(self.region, self.store_id, self.version_id, self.sequence)

    @property
    def by_person(self) -> bool:
        """Whether somebody decided it, rather than the scanner."""
        return ":" in self.decided_by

    @property
    def rules(self) -> tuple[str, ...]:
        """Every rule that was hit, each once, in the order of the findings."""
        return tuple(dict.fromkeys(str(finding["rule"]) for finding in self.findings))

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> VerdictRecord:
        """Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            findings = tuple({"rule": finding["rule"], **finding} for finding in fields["findings"])
            lists = {"findings": findings, "fingerprints": tuple(map(str, fields.get("fingerprints", ())))}
            return cls(**{**fields, **lists, "outcome": VerdictOutcome(fields["outcome"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a verdict cannot be read ({error})") from error


@dataclass(frozen=True, slots=True)
class Cut:
    """One shard of the tails that an epoch began with.

    Attributes:
        tails: by path hash, the tail slot of the path's log; older entries above it are late.
        residents: by path hash, the live memory that was there.
        occupants: by memory_id, the position of the head of each live memory: one place for each.
    """

    tails: Mapping[str, str] = field(default_factory=dict)
    residents: Mapping[str, str] = field(default_factory=dict)
    occupants: Mapping[str, str] = field(default_factory=dict)

    SHARDS: ClassVar[int] = 16

    @property
    def size(self) -> int:
        """How many paths and memories it names."""
        return len(self.tails) + len(self.residents) + len(self.occupants)

    @staticmethod
    def shard_of(path_hash: str) -> int:
        """The shard that has a path's tail."""
        return int(path_hash[0], 16)

    @staticmethod
    def shard_of_memory(memory_id: str) -> int:
        """The shard that has a memory's place."""
        return int(hashlib.sha256(memory_id.encode()).hexdigest()[0], 16)

    def to_json(self) -> bytes:
        fields = {"tails": self.tails, "residents": self.residents, "occupants": self.occupants}
        return json.dumps({"schema": SCHEMA} | {name: dict(value) for name, value in fields.items()}).encode()

    @classmethod
    def from_json(cls, body: bytes) -> Cut:
        """Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        return cls(fields.get("tails", {}), fields.get("residents", {}), fields.get("occupants", {}))


def _load(body: bytes) -> dict[str, Any]:
    fields = json.loads(body)
    if not isinstance(fields, dict) or fields.pop("schema", None) != SCHEMA:
        raise ValueError(f"the record is not of schema {SCHEMA!r}")
    return fields
