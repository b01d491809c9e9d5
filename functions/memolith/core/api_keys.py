"""API keys: until when one is valid, which stores it reaches, and how versions of its record join."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace

from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.rows.identity import ApiKeyRow


def why_ended(key: ApiKeyRow, now_us: int) -> str | None:
    """Return why a key opens nothing any more, to follow its name; None while it is valid."""
    if key.revoked_at is not None:
        return "has been revoked"
    if key.expires_at is not None and key.expires_at <= now_us:
        return "has expired"
    return None


def reaches(key: ApiKeyRow | None, store_ids: Collection[str]) -> bool:
    """Tell whether a key reaches all of these stores. Without a limit, and for a caller without a key, it does."""
    return key is None or key.stores is None or set(store_ids) <= set(key.stores)


def to_row(record: ApiKeyRecord) -> ApiKeyRow:
    """Make the row that one version of a key's record is by itself."""
    return ApiKeyRow(**asdict(record) | {"stores": None if record.stores is None else list(record.stores)})


def to_record(row: ApiKeyRow) -> ApiKeyRecord:
    """Make the record that a row shows."""
    return ApiKeyRecord(**asdict(row) | {"stores": None if row.stores is None else tuple(row.stores)})


def joined(before: ApiKeyRow | None, record: ApiKeyRecord) -> ApiKeyRow:
    """Join one version of a record into the row. The earliest revocation absorbs; no limit, and no holder, is lost.

    Only a release that does not know one of them leaves it out of a later version.
    """
    row = to_row(record)
    if before is None:
        return row
    return replace(
        row,
        revoked_at=_earlier(before.revoked_at, row.revoked_at),
        expires_at=_earlier(before.expires_at, row.expires_at),
        stores=before.stores if row.stores is None else row.stores,
        holder=row.holder or before.holder,
        requests_per_minute=row.requests_per_minute or before.requests_per_minute,
    )


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((instant for instant in (one, other) if instant is not None), default=None)
