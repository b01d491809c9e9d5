"""The record of a session: the stores attached to it, and the versions that its context is pinned to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memolith.core.objects.schema import SCHEMA, _load, known


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
        """Parse a store's pins. Raises TypeError, KeyError for what no writer of this schema made."""
        index = fields["index"]
        return cls(
            memory_store_id=fields["memory_store_id"],
            index=None if index is None else Pin(**known(Pin, index)),
            memories=tuple(Pin(**known(Pin, one)) for one in fields["memories"]),
            more=fields["more"],
        )


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One version of a session's record. Its token stands nowhere: it is signed, not remembered.

    `pinned_at` and `pins` are the session's context: what its stores held at that instant, as the region knew it that
    wrote this version. A version that only ends the session has none.

    `key_id` is the API key that began the session, and with which it ends. `updated` names the newest version that
    changed `title` or `metadata`, by its rank (`memolith.core.object_keys.SessionKey`), and `updated_at` is its time.
    `trust` is the letter of a class that the session was shown (`memolith.core.trust`); of versions that say so alone.
    `agent_id`, `agent_version` and `environment_id` are as the caller gave them; nothing here rests on them.
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
    key_id: str | None = None
    updated: str | None = None
    updated_at: int | None = None
    agent_id: str | None = None
    agent_version: int | None = None
    environment_id: str | None = None
    trust: str | None = None

    @property
    def status(self) -> str:
        """As the API says it: a session is idle until it has ended, as no agent runs here."""
        return "idle" if self.archived_at is None else "terminated"

    @property
    def changed_at(self) -> int:
        """When it was changed last, or ended."""
        return max(self.created_at, self.updated_at or 0, self.archived_at or 0)

    def has_store(self, store_id: str) -> bool:
        return any(one.memory_store_id == store_id for one in self.attachments)

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> SessionRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            attachments = tuple(Attachment(**known(Attachment, one)) for one in fields["attachments"])
            pins = tuple(StorePins.from_json(one) for one in fields.get("pins", ()))
            key_id = fields.get("key_id") or _key_of(fields["created_by"])
            return cls(**{**known(cls, fields), "attachments": attachments, "pins": pins, "key_id": key_id})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a session's record cannot be read ({error})") from error


def _key_of(actor: str) -> str | None:
    """Return the API key that an actor is: a record of an earlier release names it there alone."""
    kind, _, id = actor.partition(":")
    return id if kind == "api_key" else None
