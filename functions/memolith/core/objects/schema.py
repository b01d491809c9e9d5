"""The number of the schema that every stored record carries, and how a record is read."""

from __future__ import annotations

import json
from typing import Any

SCHEMA = "1"


def _load(body: bytes) -> dict[str, Any]:
    fields = json.loads(body)
    if not isinstance(fields, dict) or fields.pop("schema", None) != SCHEMA:
        raise ValueError(f"the record is not of schema {SCHEMA!r}")
    return fields
