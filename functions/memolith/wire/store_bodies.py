"""The bodies of requests about stores."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from memolith.core import limits
from memolith.wire.request_bodies import Body, Description, Metadata, MetadataPatch, Name, Region, RuleIds


class ScanPolicy(Body):
    """How the store's writes are scanned; what is left out stays, or is the default. Memolith's own."""

    policy: Literal["strict", "standard", "audit"] | None = None
    allow: RuleIds | None = None
    secrets: Literal["refuse", "redact", "flag"] | None = None


class Retention(Body):
    """How long versions are kept; what is left out stays, or is the default. Memolith's own."""

    days: Annotated[int, Field(ge=1, le=limits.RETENTION_DAYS_MAX)] | None = None
    versions: Annotated[int, Field(ge=1, le=limits.RETENTION_VERSIONS_MAX)] | None = None
    transcript_days: Annotated[int, Field(ge=1, le=limits.RETENTION_DAYS_MAX)] | None = None


class StagedPath(Body):
    """A folder in which every author's writes wait for approval; its grammar is the core's to check."""

    prefix: Annotated[str, Field(min_length=1, max_length=limits.APPROVAL_PREFIX_MAX_CHARS)]
    require: Literal[1, 2] | None = None


class Approval(Body):
    """Whose direct writes become proposals; what is left out stays, or is the default. Memolith's own."""

    agents: Literal["write", "propose"] | None = None
    pipelines: Literal["write", "propose"] | None = None
    people: Literal["write", "propose"] | None = None
    paths: Annotated[list[StagedPath], Field(max_length=limits.APPROVAL_PATHS_MAX, fail_fast=True)] | None = None


class Pipelines(Body):
    """What pipelines may do with the store; what is left out stays, or is the default. Memolith's own."""

    dreams: Literal["allow", "propose", "off"] | None = None
    extraction: Literal["allow", "off"] | None = None
    may_edit: Literal["all", "not_people"] | None = None
    max_deletes: Annotated[int, Field(ge=0, le=limits.DREAM_DELETES_MAX)] | None = None
    max_delete_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    max_tokens: Annotated[int, Field(ge=limits.DREAM_TOKENS_MIN, le=limits.DREAM_TOKENS_MAX)] | None = None
    max_tokens_per_day: Annotated[int, Field(ge=0, le=limits.STORE_TOKENS_PER_DAY_MAX)] | None = None
    auto_extract: Literal["off", "propose"] | None = None
    idle_hours: Annotated[int, Field(ge=1, le=limits.AUTO_IDLE_HOURS_MAX)] | None = None
    auto_dream: Literal["off", "propose", "write"] | None = None
    dream_every_hours: Annotated[int, Field(ge=1, le=limits.AUTO_DREAM_HOURS_MAX)] | None = None
    dream_min_sessions: Annotated[int, Field(ge=1, le=limits.DREAM_SESSIONS_MAX)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=limits.DREAM_MODEL_MAX_CHARS)] | None = None
    usage: Literal["off", "count"] | None = None
    unused_days: Annotated[int, Field(ge=1, le=limits.UNUSED_DAYS_MAX)] | None = None


class StoreCreate(Body):
    """POST /v1/memory_stores."""

    name: Name
    description: Description | None = None
    metadata: Metadata | None = None
    scan_policy: ScanPolicy | None = None
    retention: Retention | None = None
    durability: Literal["one_region", "two_regions"] | None = None
    second_region: Region | None = None


class StoreUpdate(Body):
    """POST /v1/memory_stores/{id}; may be empty."""

    name: Name | None = None
    description: Description | None = None
    metadata: MetadataPatch | None = None
    scan_policy: ScanPolicy | None = None
    retention: Retention | None = None
    durability: Literal["one_region", "two_regions"] | None = None
    second_region: Region | None = None
    approval: Approval | None = None
    pipelines: Pipelines | None = None
