"""The number of the schema that every stored record carries, and how a record is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

SCHEMA = "1"


class LaterSchema(ValueError):
    """A record of a higher schema than this release reads: nothing is wrong with it, and a later release reads it."""


def _load(body: bytes) -> dict[str, Any]:
    fields = json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError("the record is not a JSON object")
    check_schema(fields.pop("schema", None))
    return fields


def check_schema(found: object) -> None:
    """Raise ValueError, which says what to do, unless `found` is the schema that this release reads.

    It is a LaterSchema where a later release reads it.
    """
    if found is None:
        raise ValueError(f"the record has no schema; this release reads schema {SCHEMA!r}")
    if found != SCHEMA:
        kind = LaterSchema if is_later(found) else ValueError
        raise kind(
            f"the record is of schema {found!r}, and this release reads schema {SCHEMA!r} alone; the release that "
            "writes the other one reads it: deploy that release in this region, then fold the object again"
        )


def is_later(found: object) -> bool:
    """Tell whether it is the schema of a later release, and not what another program puts into a field of that name."""
    return isinstance(found, str) and re.fullmatch("[1-9][0-9]{0,2}", found) is not None and int(found) > int(SCHEMA)


def known(kind: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of `fields` that the dataclass `kind` has.

    The others are of a newer release, whose objects arrive in regions that are not upgraded yet.
    """
    return {field.name: fields[field.name] for field in fields_of(kind) if field.name in fields}
