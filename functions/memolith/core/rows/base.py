"""What a row is: a key, attributes, and a class that knows both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self


class RowKey(NamedTuple):
    """Where a row stands: the table's short name (`memolith.core.tables`), partition key, sort key."""

    table: str
    pk: str
    sk: str


Attributes = Mapping[str, Any]
"""A row's attributes apart from its key: str, int, bool, lists and mappings of str; an absent one is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Base of the rows below: to attributes and back, leaving out what is None."""

    def to_attributes(self) -> dict[str, Any]:
        pairs = ((name, getattr(self, name)) for name in _names(type(self)))
        return {name: value for name, value in pairs if value is not None}

    @classmethod
    def from_attributes(cls, attributes: Attributes) -> Self:
        names = _names(cls)
        if attributes.keys() <= names.keys():
            return cls(**attributes)
        return cls(**{name: value for name, value in attributes.items() if name in names})


_NAMES: dict[type, Mapping[str, None]] = {}


def _names(row: type[Row]) -> Mapping[str, None]:
    """Return the attributes of a kind of row, in their order; cached, because every call reads rows."""
    names = _NAMES.get(row)
    if names is None:
        names = _NAMES[row] = dict.fromkeys(f.name for f in fields(row))
    return names


def mark_key(table: str) -> RowKey:
    """Return where each table of a generation has its mark (`CompletenessRow.mark`); emptying the table removes it."""
    return RowKey(table, "mark", "mark")
