"""The number of the schema that every stored record carries, and how a record is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

SCHEMA = "1"


def _load(body: bytes) -> dict[str, Any]:
    fields = json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError("the record is not a JSON object")
    check_schema(fields.pop("schema", None))
    return fields


def check_schema(found: object) -> None:
    """Raise ValueError, which says what to do, unless `found` is the schema that this release reads."""
    if found is None:
        raise ValueError(f"the record has no schema; this release reads schema {SCHEMA!r}")
    if found != SCHEMA:
        raise ValueError(
            f"the record is of schema {found!r}, and this release reads schema {SCHEMA!r} alone; the release that "
            "writes the other one reads it: deploy that release in this region, then fold the object again"
        )


def known(kind: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of `fields` that the dataclass `kind` has.

    The others are of a newer release, whose objects arrive in regions that are not upgraded yet.
    """
    return {field.name: fields[field.name] for field in fields_of(kind) if field.name in fields}
