"""The record of an API key: whose it is and what it may do; never the key itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memolith.core.object_keys import ApiKeyKey
from memolith.core.objects.schema import SCHEMA, _load, known


@dataclass(frozen=True, slots=True)
class ApiKeyRecord:
    """One version of an API key's record. The secret itself stands nowhere; `secret_sha256` is of the whole key text.

    `holder` is who has it, ``person``, ``agent`` or ``service``; None where its issuer did not say.

    A key's secret has 256 random bits, so an unsalted hash cannot be searched. Without `expires_at` a key never
    expires, without `stores` it reaches every store of its workspace, and without `requests_per_minute` it may call as
    often as it wants; none of them changes once the key was issued.
    """

    workspace_id: str
    key_id: str
    name: str
    scope: str
    secret_sha256: str
    created_at: int
    revoked_at: int | None = None
    expires_at: int | None = None
    stores: tuple[str, ...] | None = None
    holder: str | None = None
    requests_per_minute: int | None = None

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> ApiKeyRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        try:
            return cls.from_fields(_load(body))
        except TypeError as error:
            raise ValueError(f"a key's record cannot be read ({error})") from error

    @classmethod
    def stored_as(cls, name: ApiKeyKey, body: bytes) -> ApiKeyRecord:
        """Parse the object of this name. Raises ValueError as `from_json`, and for the record of another key."""
        record = cls.from_json(body)
        if (record.workspace_id, record.key_id) != (name.workspace_id, name.key_id):
            raise ValueError(f"{name}: the record is of another key")
        return record

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ApiKeyRecord:
        """Make a record of its fields, without those of a newer release. Raises TypeError for one that is missing."""
        stores = fields.get("stores")
        return cls(**known(cls, fields) | {"stores": None if stores is None else tuple(stores)})
