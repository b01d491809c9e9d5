"""The JSON documents in which LangGraph's items stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def document_of(value: Mapping[str, Any]) -> str:
    """Return the document of a value: text as it is, and a line for each field.

    People and the scanner read it, and edits of two fields merge.

    Raises:
        ValueError: it is no JSON object, or would come back as another.
    """
    try:
        _check_names(value)
        document = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        document.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"value: must be a JSON object: {error}") from error
    return document


def _check_names(value: object) -> None:
    """Raise TypeError for a name that `json` would write as a string: it would come back as another value."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            if not isinstance(name, str):
                raise TypeError(f"the name of a field must be a string, and {name!r} is none")
            _check_names(member)
    elif isinstance(value, list | tuple):
        for member in value:
            _check_names(member)


def value_of(content: str | None) -> dict[str, Any] | None:
    """Return the value of a document; None where it is withheld, or no JSON object."""
    if content is None:
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
