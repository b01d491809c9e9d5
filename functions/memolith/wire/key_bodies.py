"""The bodies of requests about API keys. Memolith's own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from memolith.core import limits
from memolith.wire.request_bodies import Body, Instant, StoreId, _one_line

NAME_MAX_CHARS = 255


class KeyCreate(Body):
    """POST /v1/api_keys."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_MAX_CHARS), AfterValidator(_one_line)] = "default"
    scope: Literal["read", "write", "admin"] = "write"
    expires_at: Instant | None = None
    memory_store_ids: (
        Annotated[list[StoreId], Field(min_length=1, max_length=limits.KEY_STORES_MAX, fail_fast=True)] | None
    ) = None
    requests_per_minute: Annotated[int, Field(ge=1, le=limits.KEY_REQUESTS_PER_MINUTE_MAX)] | None = None
    holder: Literal["person", "agent", "service"] | None = None
