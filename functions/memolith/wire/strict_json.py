"""JSON as the API takes it: UTF-8, no field twice, no NaN or Infinity, and limits at which reading stops."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn

from memolith.core.errors import InvalidRequest

FIELDS_MAX = 64
"""Fields of one JSON object. No body has more, and a fault for each of a million would take seconds to collect."""

OBJECTS_MAX = 1_000
"""JSON objects in one body, at which parsing stops; the most that one needs is four for each version of an import."""

NAME_MAX_CHARS = 80
"""Of a field's name, or of a number, which can be long, in a message."""


def decode(body: bytes, objects_max: int = OBJECTS_MAX) -> Any:
    """Parse strict JSON: UTF-8, no field twice, no NaN or Infinity; limits of depth, objects, fields and numbers."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("body", "must be UTF-8") from error
    if not text.strip():
        raise InvalidRequest("body", "must be a JSON object")
    try:
        return json.loads(
            text,
            object_pairs_hook=_Objects(objects_max).make,
            parse_float=_finite,
            parse_constant=_refuse_constant,
        )
    except RecursionError as error:
        raise InvalidRequest("body", "is nested too deeply") from error
    except ValueError as error:
        raise InvalidRequest("body", "must be valid JSON") from error


class _Objects:
    """Makes the objects of one body, until there are too many."""

    def __init__(self, most: int) -> None:
        self._made, self._most = 0, most

    def make(self, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        self._made += 1
        if self._made > self._most:
            raise InvalidRequest("body", f"must have at most {self._most:,} objects")
        if len(pairs) > FIELDS_MAX:
            raise InvalidRequest("body", f"must have at most {FIELDS_MAX} fields in one object")
        fields: dict[str, Any] = {}
        for name, value in pairs:
            if not is_unicode(name):
                raise InvalidRequest("body", "must not have lone surrogates in a field's name")
            if name in fields:
                raise InvalidRequest(name[:NAME_MAX_CHARS], "must be given once")
            fields[name] = value
        return fields


def is_unicode(text: str) -> bool:
    """Tell whether a text is free of lone surrogates, which JSON can spell."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _finite(number: str) -> float:
    """Parse a number; one beyond the range of a double would become infinite, which no JSON can say."""
    parsed = float(number)
    if not math.isfinite(parsed):
        raise InvalidRequest("body", f"must not have a number as large as {number[:NAME_MAX_CHARS]}")
    return parsed


def _refuse_constant(constant: str) -> NoReturn:
    raise InvalidRequest("body", f"must be valid JSON, which has no {constant}")
