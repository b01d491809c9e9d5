"""The bodies of requests about sessions.

Those that would change a session's resources are checked like any other, and then refused.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from memolith.core import limits
from memolith.core.trust import TrustName
from memolith.wire.request_bodies import Body, Metadata, MetadataPatch, Path, StoreId
from memolith.wire.requests import ID_MAX_CHARS

TOKEN_MAX_CHARS = 4_096

_LABEL = re.compile(r"[A-Za-z0-9_.:-]{1,128}")

Id = Annotated[str, Field(min_length=1, max_length=ID_MAX_CHARS)]


class MemoryStoreResource(Body):
    """One store of a new session."""

    type: Literal["memory_store"]
    memory_store_id: StoreId
    access: Literal["read_write", "read_only"] = "read_write"
    instructions: Annotated[str, Field(max_length=limits.INSTRUCTIONS_MAX_CHARS)] | None = None


TokenLifetime = Annotated[int, Field(ge=limits.TOKEN_LIFETIME_MIN_S, le=limits.TOKEN_LIFETIME_MAX_S)]


class SessionCreate(Body):
    """POST /v1/sessions: the part of a managed agent's session that concerns memory. `agent` and the like are let pass.

    `token_lifetime_seconds` is Memolith's own. Ids in `agent` and `environment_id` are kept to be shown again.
    """

    resources: Annotated[
        list[MemoryStoreResource], Field(min_length=1, max_length=limits.SESSION_STORES_MAX, fail_fast=True)
    ]
    title: Annotated[str, Field(max_length=limits.SESSION_TITLE_MAX_CHARS)] | None = None
    metadata: Metadata | None = None
    agent: Any = None
    environment_id: Any = None
    vault_ids: Any = None
    token_lifetime_seconds: TokenLifetime = limits.TOKEN_LIFETIME_DEFAULT_S

    @property
    def agent_named(self) -> tuple[str | None, int | None]:
        """The id of the agent, which may stand alone, and its version."""
        if not isinstance(self.agent, dict):
            return _label(self.agent), None
        version = self.agent.get("version")
        return _label(self.agent.get("id")), version if type(version) is int and 0 <= version < 2**31 else None

    @property
    def environment_named(self) -> str | None:
        return _label(self.environment_id)


def _label(given: Any) -> str | None:
    """Return an id of somebody else's; None for what is none, which is let pass."""
    return given if isinstance(given, str) and _LABEL.fullmatch(given) else None


class SessionUpdate(Body):
    """POST /v1/sessions/{id}; may be empty. Of a managed agent's session the rest cannot be changed here."""

    title: Annotated[str, Field(max_length=limits.SESSION_TITLE_MAX_CHARS)] | None = None
    metadata: MetadataPatch | None = None


class SessionToken(Body):
    """POST /v1/sessions/{id}/token; may be empty."""

    token_lifetime_seconds: TokenLifetime = limits.TOKEN_LIFETIME_DEFAULT_S


class SessionContext(Body):
    """POST /v1/sessions/{id}/context; may be empty. Memolith's own."""

    refresh: bool | None = None
    min_trust: TrustName | None = None


class ResourceToAdd(Body):
    """POST /v1/sessions/{id}/resources."""

    type: Id
    file_id: Id
    mount_path: Path | None = None


class ResourceUpdate(Body):
    """POST /v1/sessions/{id}/resources/{id}."""

    authorization_token: Annotated[str, Field(min_length=1, max_length=TOKEN_MAX_CHARS)]
