"""The bodies that would change a session's resources: they are checked like any other, and then refused."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memolith.wire.request_bodies import Body, Path
from memolith.wire.requests import ID_MAX_CHARS

TOKEN_MAX_CHARS = 4_096

Id = Annotated[str, Field(min_length=1, max_length=ID_MAX_CHARS)]


class ResourceToAdd(Body):
    """POST /v1/sessions/{id}/resources."""

    type: Id
    file_id: Id
    mount_path: Path | None = None


class ResourceUpdate(Body):
    """POST /v1/sessions/{id}/resources/{id}."""

    authorization_token: Annotated[str, Field(min_length=1, max_length=TOKEN_MAX_CHARS)]
