"""What the shapes of the API's objects are written in: names of fields, instants, actors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
SHA256 = re.compile(r"[0-9a-f]{64}")


def words(names: str) -> set[str]:
    return set(names.split())


def check_fields(body: Mapping[str, Any], names: str) -> None:
    assert set(body) == {"type", *names.split()}


def check_instants(body: Mapping[str, Any], *names: str) -> None:
    for name in names:
        assert INSTANT.fullmatch(body[name])


def check_actor(body: Mapping[str, Any] | None) -> None:
    if body is not None:
        assert set(body) == {"type", body["type"].replace("api_actor", "api_key").replace("_actor", "") + "_id"}
