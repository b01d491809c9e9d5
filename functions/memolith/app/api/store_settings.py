"""The settings of a store: what an update makes of its record, and how its row shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memolith.app.kernel.results import ScanPolicy, Store
from memolith.core.approval import changed_policy
from memolith.core.errors import InvalidRequest
from memolith.core.metadata import patched
from memolith.core.objects.store_record import SCAN_POLICY_DEFAULT, SCAN_SECRETS_DEFAULT, StoreRecord
from memolith.core.pipelines.policy import changed_pipelines
from memolith.core.retention import Retention
from memolith.core.rows.identity import StoreRow
from memolith.core.sync_replica import chosen_second

DURABILITY = frozenset(("durability", "second_region"))
"""What an update names that may ask for a second region: after it nothing is acknowledged that is not there too."""

UPDATED = DURABILITY | {"name", "description", "metadata", "scan_policy", "retention", "approval", "pipelines"}
"""All that an update may name."""


def updated(record: StoreRecord, row: StoreRow, request: Mapping[str, Any], regions: Sequence[str]) -> StoreRecord:
    """Return a store's record after an update; what that does not mention stays. Raises InvalidRequest."""
    retention = request.get("retention")
    return replace(
        record,
        name=request.get("name") or row.name,
        description=request["description"] or "" if "description" in request else row.description,
        metadata=patched(row.metadata, request.get("metadata")),
        **scanning(_policy_of(row), request.get("scan_policy")),
        retention_days=chosen(retention, "days", row.retention_days),
        retention_versions=chosen(retention, "versions", row.retention_versions),
        transcript_days=chosen(retention, "transcript_days", row.transcript_days),
        second_region=chosen_second(
            row.home, regions, row.second_region, request.get("durability"), request.get("second_region")
        ),
        approval=changed_policy(row.approval, request.get("approval")),
        pipelines=changed_pipelines(row.pipelines, request.get("pipelines")),
    )


def require_second_alone(request: Mapping[str, Any]) -> None:
    """Refuse a change of an archived store, except one of `DURABILITY` alone: a region can be removed then."""
    named = UPDATED & request.keys()
    if not named or named - DURABILITY:
        raise InvalidRequest(
            "memory_store_id",
            "the memory store is archived: nothing of it can be changed but durability and second_region, with no "
            "other field beside them",
        )


def scanning(before: ScanPolicy, change: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the three fields of a record, with what the change mentions changed."""
    changed = {name: value for name, value in (change or {}).items() if value is not None}
    allow = tuple(sorted(set(changed.get("allow", before.allow))))
    return {
        "scan_policy": changed.get("policy", before.policy),
        "scan_allow": allow,
        "scan_secrets": changed.get("secrets", before.secrets),
    }


def _policy_of(row: StoreRow) -> ScanPolicy:
    return ScanPolicy(
        row.scan_policy or SCAN_POLICY_DEFAULT, tuple(row.scan_allow or ()), row.scan_secrets or SCAN_SECRETS_DEFAULT
    )


def chosen(retention: Mapping[str, int | None] | None, name: str, before: int | None) -> int | None:
    """Return what is given of a retention; what is not given stays as it was."""
    given_now = (retention or {}).get(name)
    return before if given_now is None else given_now


def to_store(row: StoreRow) -> Store:
    """Make what the API calls a memory_store."""
    return Store(
        id=row.store_id,
        name=row.name,
        description=row.description,
        metadata=dict(row.metadata),
        created_at=row.created_at,
        updated_at=row.updated_at,
        archived_at=row.archived_at,
        scan_policy=_policy_of(row),
        retention=Retention.of(row),
        second_region=row.second_region,
        erase_after=row.erase_after,
        approval=row.approval,
        pipelines=row.pipelines,
    )
