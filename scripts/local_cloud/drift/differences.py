"""Two JSON-shaped values: what was asked for, and what is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Unknown:
    """A value that stands in the template as a reference to something not looked up: it fits whatever is there."""

    def __repr__(self) -> str:
        return "…"


UNKNOWN = Unknown()


def fits(asked: Any, there: Any) -> bool:
    """Tell whether everything asked for is there; more may be.

    Objects are compared key by key, lists without regard to order. Numbers and booleans are compared by their text,
    because some APIs answer text.
    """
    if isinstance(asked, Unknown):
        return there is not None
    if isinstance(asked, Mapping):
        return isinstance(there, Mapping) and all(fits(value, there.get(name)) for name, value in asked.items())
    if isinstance(asked, list):
        return isinstance(there, list) and all(any(fits(one, other) for other in there) for one in asked)
    return _text(asked) == _text(there)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def resolved(value: Any, known: Mapping[str, str]) -> Any:
    """Resolve references in a template's value by physical ids and pseudo parameters; `UNKNOWN` for the rest.

    Args:
        known: logical ids and pseudo parameters (``AWS::Region``) to their values.
    """
    if isinstance(value, list):
        return [resolved(item, known) for item in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        [(function, argument)] = value.items()
        if function == "Ref":
            return known.get(argument, UNKNOWN)
        if function == "Fn::Join":
            parts = resolved(argument[1], known)
            return argument[0].join(parts) if all(isinstance(part, str) for part in parts) else UNKNOWN
        if function.startswith("Fn::"):
            return UNKNOWN
    return {name: resolved(item, known) for name, item in value.items()}
