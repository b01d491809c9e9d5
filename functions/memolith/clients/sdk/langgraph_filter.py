"""What LangGraph's stores mean by a filter: fields that are equal, contain what is asked for, or compare.

Source: `langgraph.store.base.SearchOp.filter`, and what `langgraph.store.memory.InMemoryStore` makes of it. Otherwise
than there, a value that cannot be compared (none at all, for one) does not match, where that store raises.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Tell whether each field that a filter names is what it asks for.

    Raises:
        ValueError: an unknown operator, or a comparison with what is not a number.
    """
    return all(_fits(value.get(field), asked) for field, asked in (wanted or {}).items())


def _fits(value: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(field.startswith("$") for field in asked):
            return all(_holds(value, name, operand) for name, operand in asked.items())
        return isinstance(value, Mapping) and matches(value, asked)
    if isinstance(asked, list | tuple):
        return isinstance(value, list) and len(value) == len(asked) and all(map(_fits, value, asked))
    return bool(value == asked)


def _holds(value: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return bool(value == operand)
    if name == "$ne":
        return bool(value != operand)
    if name not in _COMPARISONS:
        raise ValueError(f"filter: there is no operator {name!r}; there are $eq, $ne, {', '.join(_COMPARISONS)}")
    bound = _number(operand)
    if bound is None:
        raise ValueError(f"filter: {name} compares numbers, and {operand!r} is none")
    number = _number(value)
    return number is not None and _COMPARISONS[name](number, bound)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
