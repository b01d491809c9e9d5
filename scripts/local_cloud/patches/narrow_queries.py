"""A query costs what its range has, and not what its partition has.

The emulator sorts all rows of a partition for each query, and takes the condition apart anew for every one of them: a
third of a second in a store of ten thousand memories, for a query that finds nothing. DynamoDB goes to where the range
begins. Here the rows outside the range are left out first, by their sort keys, where the condition is one of those that
a range can have; everything else is the emulator's own.

Source: Amazon DynamoDB developer guide, "Key condition expressions for the Query operation".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from scripts.local_cloud.patches import Patch, need

_PARTITION = re.compile(r"\s*(#\w+|\w+)\s*=\s*(:\w+)\s+AND\s+(.+)", re.DOTALL)
_COMPARED = re.compile(r"(#\w+|\w+)\s*(<=|>=|<|>|=)\s*(:\w+)\s*")
_BETWEEN = re.compile(r"(#\w+|\w+)\s+BETWEEN\s+(:\w+)\s+AND\s+(:\w+)\s*")
_BEGINS = re.compile(r"begins_with\s*\(\s*(#\w+|\w+)\s*,\s*(:\w+)\s*\)\s*")

_narrowed: ContextVar[tuple[str, Any] | None] = ContextVar("narrowed", default=None)
"""The table that is being queried, with the rows of the range alone."""


def range_of(request: Mapping[str, Any], partition_key: str, sort_key: str) -> tuple[str, Callable[[str], bool]] | None:
    """Return the partition of a query, and whether a sort key is in its range; None where all this is not text, or the
    condition is another.

    Text is compared by its characters' numbers, which is the order of its UTF-8.
    """
    names, values = request.get("ExpressionAttributeNames") or {}, request.get("ExpressionAttributeValues") or {}
    whole = _PARTITION.fullmatch(request.get("KeyConditionExpression") or "")
    if request.get("IndexName") or whole is None or names.get(whole[1], whole[1]) != partition_key:
        return None
    compared, between, begins = (form.fullmatch(whole[3]) for form in (_COMPARED, _BETWEEN, _BEGINS))
    form = compared or between or begins
    if form is None or names.get(form[1], form[1]) != sort_key:
        return None
    operands = [form[3]] if compared else [form[2], form[3]] if between else [form[2]]
    texts = [str((values.get(one) or {}).get("S")) for one in (whole[2], *operands)]
    if not all("S" in (values.get(one) or {}) for one in (whole[2], *operands)):
        return None
    partition, first = texts[0], texts[1]
    if begins:
        return partition, lambda sort: sort.startswith(first)
    if between:
        return partition, lambda sort: first <= sort <= texts[2]
    compare: dict[str, Callable[[str], bool]] = {
        "<": lambda sort: sort < first,
        "<=": lambda sort: sort <= first,
        ">": lambda sort: sort > first,
        ">=": lambda sort: sort >= first,
        "=": lambda sort: sort == first,
    }
    return partition, compare[form[2]]


def narrowed(table: Mapping[str, Any], request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a table as the emulator has it, with the rows that a query can find, or as it is."""
    found = range_of(request, table["pk_name"], table.get("sk_name") or "")
    if found is None:
        return table
    partition, is_within = found
    rows = {sort: row for sort, row in table["items"].get(partition, {}).items() if is_within(sort)}
    return {**table, "items": {partition: rows}}


def _apply() -> None:
    from ministack.services import dynamodb

    need(dynamodb, "_query", "_tables", "_normalize_table_name")
    query, tables, kind = dynamodb._query, dynamodb._tables, type(dynamodb._tables)

    class Tables(kind):  # type: ignore[misc, valid-type]  # the class of what is there
        """The tables; the one that is queried has the rows of its range alone."""

        __slots__ = ()

        def get(self, key: str, default: Any = None) -> Any:
            asked = _narrowed.get()
            return asked[1] if asked is not None and asked[0] == key else super().get(key, default)

    def of_its_range(request: dict[str, Any]) -> Any:
        name = dynamodb._normalize_table_name(request.get("TableName"))
        table = tables.get(name) if isinstance(name, str) else None
        if not table:
            return query(request)
        token = _narrowed.set((name, narrowed(table, request)))
        try:
            return query(request)
        finally:
            _narrowed.reset(token)

    tables.__class__ = Tables
    dynamodb._query = of_its_range


PATCH = Patch("narrow_queries", "a query takes as long as its whole partition, not as its range", _apply)
