"""Rows of stores, API keys and sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memolith.core.objects.store_record import StoreState
from memolith.core.rows.base import Row, RowKey

AUTOMATIC_STORES = "#stores#automatic"
"""The partition of the stores of all workspaces whose pipelines run by themselves: no workspace's id is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRow(Row):
    """A store's record as the index knows it; stands twice, by id and in its workspace's order of creation.

    No `scan_policy` is the default one; so is no `scan_secrets`.
    """

    store_id: str
    workspace_id: str
    slot: str
    name: str
    description: str
    metadata: Mapping[str, str]
    salt: str
    home: str
    epochs: list[str]
    created_at: int
    updated_at: int
    version_id: str
    state: str
    archived_at: int | None = None
    scan_policy: str | None = None
    scan_allow: list[str] | None = None
    scan_secrets: str | None = None
    retention_days: int | None = None
    retention_versions: int | None = None
    transcript_days: int | None = None
    second_region: str | None = None
    cuts: list[str] | None = None
    moving_to: str | None = None
    follows: str | None = None
    adopted: list[str] | None = None
    apart: list[str] | None = None
    erase_after: int | None = None
    approval: str | None = None
    pipelines: str | None = None
    first_erase_after: int | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether no call finds the store any more; see `memolith.core.objects.store_record.StoreRecord.is_deleted`."""
        return self.state == StoreState.DELETED or self.erase_after is not None

    @staticmethod
    def key(store_id: str) -> RowKey:
        return RowKey("stores", store_id, "record")

    @staticmethod
    def automatic_key(store_id: str) -> RowKey:
        """Return where the copy of a store stands whose pipelines run by themselves."""
        return RowKey("stores", AUTOMATIC_STORES, store_id)

    @staticmethod
    def listing_key(workspace_id: str, created_at: int, store_id: str) -> RowKey:
        return RowKey("stores", workspace_id, f"{created_at:020d}#{store_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyRow(Row):
    """An API key's record. A revocation absorbs: it may be written in any region and is never undone.

    None in `expires_at`, `stores` and `requests_per_minute` is no limit; None in `holder` means that its issuer did not
    say who has it.
    """

    workspace_id: str
    key_id: str
    name: str
    scope: str
    secret_sha256: str
    created_at: int
    revoked_at: int | None = None
    expires_at: int | None = None
    stores: list[str] | None = None
    holder: str | None = None
    requests_per_minute: int | None = None

    @staticmethod
    def key(workspace_id: str, key_id: str) -> RowKey:
        return RowKey("keys", workspace_id, key_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow(Row):
    """A session's record, as the JSON of its object, beside what is asked of it with every call.

    The end of a session absorbs, like the revocation of a key, whose table this is too. `context` is the rank of the
    newest object that has pins (`memolith.core.object_keys.SessionKey`); the pins themselves are not here, where every
    call would read them. `updated` is the rank of the newest change of title or metadata, which `record` shows.
    `trust` is the letter of the least class that the session was shown; None until that is below an agent's own, and
    ``?`` once it was shown a text of unknown class.
    """

    workspace_id: str
    session_id: str
    record: str
    archived_at: int | None = None
    context: str | None = None
    updated: str | None = None
    trust: str | None = None

    @staticmethod
    def key(workspace_id: str, session_id: str) -> RowKey:
        return RowKey("keys", workspace_id, session_id)
