"""What the use cases answer with, and what they are asked with. Plain records; `wire` gives them their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memolith.app.kernel.graph_results import Dispute
from memolith.app.kernel.region import View
from memolith.core.objects.session_record import Attachment, SessionRecord
from memolith.core.objects.store_record import SCAN_POLICY_DEFAULT, SCAN_SECRETS_DEFAULT
from memolith.core.objects.verdict_record import VerdictRecord
from memolith.core.retention import Retention
from memolith.core.rows.content import VersionRow
from memolith.scanner import RedactedSecret

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a caller presented, taken apart: the key's own names for itself, and the SHA-256 (hex) of its whole text."""

    workspace_id: str
    key_id: str
    secret_sha256: str

    @property
    def actor(self) -> str:
        """Who the caller is, as versions carry it."""
        return f"api_key:{self.key_id}"


@dataclass(frozen=True, slots=True)
class SessionCredentials:
    """What a session's token grants, its signature checked: the stores it names, and no others.

    `access` is by store: ``read_write`` or ``read_only``. `key_ids` are the API keys that it comes from: the one that
    began the session, and the one that asked for this token; it opens nothing once one of them has ended.
    """

    workspace_id: str
    session_id: str
    access: Mapping[str, str]
    key_ids: tuple[str, ...] = ()

    @property
    def actor(self) -> str:
        """Who the caller is, as versions carry it."""
        return f"session:{self.session_id}"


@dataclass(frozen=True, slots=True)
class DelegatedCredentials:
    """A caller whom another region has let in, and for whom it asks: this one may not know the key yet."""

    workspace_id: str
    actor: str
    scope: str


@dataclass(frozen=True, slots=True)
class ReadConsistency:
    """How fresh the answer to a read must be; by default, as fresh as the region that is asked. Writes take no notice.

    Attributes:
        home: the linearizable answer, as the store's home has it, wherever the call lands.
        min_version: an answer no older than this version of the same store (``memver_…``).
    """

    home: bool = False
    min_version: str | None = None


@dataclass(slots=True)
class RequestContext:
    """One request: who asks, how fresh the answer must be, and what came to be known of it on the way.

    Attributes:
        scope: what the caller may do with what it asks for, once it was let in (`memolith.app.auth.authorizer.Scope`).
        known: the key of the newest object of the memory that the region which asks has; the home may not index it yet.
        home: the home of what was asked for, once known.
        complete_until: up to when the answering region is complete, in microseconds since 1970; None if not known.
        admitted: whether the credentials were looked up, and found good.
        trust: the class of what the caller writes, as it was when it was let in (`memolith.core.trust`).
        opened: what was read with them, before anything that the caller sent; None once it was made use of.
        shows_withheld: whether the caller asked to be shown withheld texts; only an admin is.
    """

    credentials: Credentials | SessionCredentials | DelegatedCredentials
    demand: ReadConsistency = ReadConsistency()
    scope: str = "read"
    known: str | None = None
    home: str | None = field(default=None)
    complete_until: int | None = field(default=None)
    admitted: bool = field(default=False)
    opened: View | None = field(default=None)
    shows_withheld: bool = False
    trust: str | None = field(default=None)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page; `next_after` is the position to continue from, None at the end. A page may be short, or empty."""

    items: tuple[T, ...]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class ScanPolicy:
    """How a store's writes are scanned: ``strict``, ``standard`` or ``audit``, and the rules that are let pass.

    `secrets` is what becomes of a write with a secret in it: ``refuse``, ``redact`` or ``flag``.
    """

    policy: str = SCAN_POLICY_DEFAULT
    allow: tuple[str, ...] = ()
    secrets: str = SCAN_SECRETS_DEFAULT


@dataclass(frozen=True, slots=True)
class Store:
    """A memory_store. Instants are microseconds since 1970; `erase_after` is None unless it was deleted."""

    id: str
    name: str
    description: str
    metadata: Mapping[str, str]
    created_at: int
    updated_at: int
    archived_at: int | None
    scan_policy: ScanPolicy = ScanPolicy()
    retention: Retention = field(default_factory=Retention)
    second_region: str | None = None
    erase_after: int | None = None
    approval: str | None = None
    pipelines: str | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a text is withheld: the reason of the verdict that came first, every rule, and since when."""

    reason: str
    rules: tuple[str, ...]
    since: int


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory at its head, or at an instant of the past.

    `content` is None unless it was asked for and may be shown; `withheld`, which is known only where content was asked
    for, says why not. An admin is shown both. `blank` is for the past alone: path, hash, size and content of that
    version have been erased since. `damaged` is for listings: no region has a whole copy of the content. `trust` is the
    letter of its class (`memolith.core.trust`). `redacted` is what a write took out of the text before it was stored.
    """

    id: str
    store_id: str
    version_id: str
    path: str
    content_sha256: str
    content_size_bytes: int
    created_at: int
    updated_at: int
    content: str | None = None
    flags: tuple[str, ...] = ()
    withheld: Withheld | None = None
    blank: bool = False
    damaged: bool = False
    trust: str | None = None
    redacted: tuple[RedactedSecret, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that a search found, the place in it that answers best (greater scores do), and its open conflicts."""

    memory: Memory
    score: float
    excerpt: str
    disputed: tuple[Dispute, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryPrefix:
    """A folder in a listing of depth 1; `path` ends with ``/``."""

    path: str


@dataclass(frozen=True, slots=True)
class Version:
    """A memory_version. Text is None for a deletion and once redacted or blanked by retention.

    Actors are texts such as ``api_key:apikey_…``. `withheld` and `damaged` are as a memory's; `imported` says that time
    and actor are as the importer supplied them.
    """

    id: str
    memory_id: str
    store_id: str
    operation: str
    created_at: int
    created_by: str | None
    path: str | None
    content_sha256: str | None
    content_size_bytes: int | None
    redacted_at: int | None
    redacted_by: str | None
    content: str | None = None
    flags: tuple[str, ...] = ()
    withheld: Withheld | None = None
    imported: bool = False
    damaged: bool = False
    trust: str | None = None

    @classmethod
    def of(cls, row: VersionRow, content: str | None, flags: Iterable[str], withheld: Withheld | None) -> Version:
        """Make it of its row and of what may be shown of its text, with the `flags` that verdicts added later."""
        return cls(
            id=row.version_id,
            memory_id=row.memory_id or "",
            store_id=row.store_id,
            operation=row.operation or "",
            created_at=row.created_at or 0,
            created_by=row.created_by,
            path=row.path,
            content_sha256=row.content_sha256,
            content_size_bytes=row.content_size_bytes,
            redacted_at=row.redacted_at,
            redacted_by=row.redacted_by,
            content=content,
            flags=tuple(dict.fromkeys((*(row.flags or ()), *flags))),
            withheld=withheld,
            imported=bool(row.imported),
            trust=row.trust,
        )


@dataclass(frozen=True, slots=True)
class StoreToAttach:
    """A store that a new session is to have."""

    memory_store_id: str
    access: str
    instructions: str


@dataclass(frozen=True, slots=True)
class SessionAgent:
    """Who a new session is for, as the caller names it. Nothing rests on it: Memolith runs no agents."""

    id: str | None = None
    version: int | None = None
    environment_id: str | None = None


NO_AGENT = SessionAgent()


@dataclass(frozen=True, slots=True)
class Session:
    """A session. `token` is given once, to the caller that began the session or renewed it."""

    record: SessionRecord
    token: str | None = None
    token_expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class StoreContext:
    """What a session's context shows of one store.

    Attributes:
        attachment: the store as it is attached.
        source: ``memory`` of an index of the store's own, ``made`` of one made from its memories, ``none`` of neither.
        text: the index, as much of it as is loaded.
        remarks: what is missing from it, and why; whole sentences.
        lines, lines_total: how many lines of the index are in `text`, and how many it has.
        truncated: whether the index was cut.
        more: whether the store had memories that a made index leaves out.
        trust: the least class of the texts that are shown; None where one is unknown, or none is shown.
    """

    attachment: Attachment
    source: str
    text: str = ""
    remarks: tuple[str, ...] = ()
    lines: int = 0
    lines_total: int = 0
    truncated: bool = False
    more: bool = False
    trust: str | None = None


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What a session's agent is to be told of its memory, as one text and in parts, as of `pinned_at`."""

    session_id: str
    pinned_at: int
    text: str
    stores: tuple[StoreContext, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A version at which a text stands. `head`: it is its memory's current one."""

    memory_id: str
    version_id: str
    operation: str
    path: str
    created_at: int
    head: bool


@dataclass(frozen=True, slots=True)
class QuarantinedText:
    """A text that a verdict withheld: the versions it was withheld for, first one first, and why, while it is.

    `verdicts` (oldest first) and `places` (newest first) are None where they were not looked for; `all_places` says
    whether every version of the store was looked at, and every one that has the text is listed.
    """

    store_id: str
    version_ids: tuple[str, ...]
    withheld: Withheld | None
    verdicts: tuple[VerdictRecord, ...] | None = None
    places: tuple[Place, ...] | None = None
    all_places: bool | None = None


@dataclass(frozen=True, slots=True)
class DivergentVersion:
    """A version that came late and was not adopted. What it does not have, as a deletion has no text, is None.

    `content`, `withheld` and `current`, its memory as it is now, are None where they were not looked for; `current`
    also where the memory is gone.
    """

    store_id: str
    version_id: str
    memory_id: str
    operation: str
    path: str | None
    content_sha256: str | None
    content_size_bytes: int | None
    created_at: int
    created_by: str
    content: str | None = None
    withheld: Withheld | None = None
    current: Memory | None = None


@dataclass(frozen=True, slots=True)
class VersionFilter:
    """Which versions a listing is to show; None shows all. Instants are inclusive."""

    memory_id: str | None = None
    operation: str | None = None
    created_by: str | None = None
    created_at_gte: int | None = None
    created_at_lte: int | None = None


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new API key: the only time its text is to be had."""

    api_key: str
    workspace_id: str
    key_id: str
    name: str
    scope: str
    created_at: int
    expires_at: int | None = None
    stores: tuple[str, ...] | None = None
    holder: str | None = None
    requests_per_minute: int | None = None


UNSET: object = object()  # a field that an update does not mention, where None has a meaning of its own
