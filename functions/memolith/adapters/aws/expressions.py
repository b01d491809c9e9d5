"""The expressions that DynamoDB is asked with: pure, so that what is sent can be tested without sending it.

**Whole-row equality.** A change happens only if the row is exactly what was read. DynamoDB has no condition on an item
as a whole, so it is spelled out: each attribute that was read equals its value, and each attribute that was absent
is still absent. "Each" needs a bound: it is every attribute that `memolith.core.rows` gives to rows of that table, and
every one named in `before` or `after`. An attribute beyond these, written by a newer release, is neither compared nor,
because rows are updated and not replaced, lost. DynamoDB's ``=`` tells types apart (BOOL true is not N 1) and compares
lists and maps deeply.

**Size.** An expression may have 4 KB and 300 operators; the widest row (19 attributes) needs about 0.6 KB, because
names and values are placeholders, which also keeps reserved words out.

Source: DynamoDB developer guide, "Condition and filter expressions", "Constraints in Amazon DynamoDB".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from memolith.adapters.limits import after_all
from memolith.core.rows.base import Attributes, Row, RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.control import CompletenessRow, ControlRow, RebuildRow, ReconcileRow, SweepRow
from memolith.core.rows.identity import ApiKeyRow, SessionRow, StoreRow
from memolith.core.rows.journal import JournalRow, JournalStateRow, PeriodRow
from memolith.core.rows.proposals import DueProposalRow, ProposalRow, ProposedVersionRow
from memolith.core.rows.resolutions import ResolutionRow
from memolith.core.rows.safety import SightingRow, VerdictRow
from memolith.core.tables import BY_NAME, PARTITION_KEY, SORT_KEY
from memolith.ports.index import Query

ROWS_OF: dict[str, tuple[type[Row], ...]] = {
    "memories": (MemoryRow,),
    "logs": (LogRow,),
    "paths": (PathRow,),
    "versions": (VersionRow,),
    "verdicts": (VerdictRow, SightingRow),
    "stores": (StoreRow, ProposalRow, DueProposalRow, ProposedVersionRow, ResolutionRow),
    "keys": (ApiKeyRow, SessionRow),
    "journal": (JournalRow, PeriodRow, JournalStateRow),
    "control": (ControlRow, RebuildRow, CompletenessRow, ReconcileRow, SweepRow),
}
"""Which rows stand in which table."""

KNOWN: dict[str, frozenset[str]] = {
    table: frozenset(one.name for kind in kinds for one in fields(kind)) for table, kinds in ROWS_OF.items()
}
"""Every attribute that a row of a table may have."""

_SERIALIZER = TypeSerializer()
_DESERIALIZER = TypeDeserializer()


def to_item(key: RowKey, row: Attributes) -> dict[str, Any]:
    """Write a row and its key in DynamoDB's form."""
    return {**item_key(key), **{name: _SERIALIZER.serialize(value) for name, value in row.items()}}


def item_key(key: RowKey) -> dict[str, Any]:
    """Write a row's key in DynamoDB's form."""
    return {PARTITION_KEY: {"S": key.pk}, SORT_KEY: {"S": key.sk}}


def from_item(table: str, item: Mapping[str, Any]) -> tuple[RowKey, dict[str, Any]]:
    """Read a row and its key from DynamoDB's form, with int for what DynamoDB keeps as decimal."""
    row = {name: _DESERIALIZER.deserialize(value) for name, value in item.items()}
    key = RowKey(table, row.pop(PARTITION_KEY), row.pop(SORT_KEY))
    return key, {name: int(value) if isinstance(value, Decimal) else value for name, value in row.items()}


@dataclass(slots=True)
class Placeholders:
    """Names and values of one request, each under a short stand-in."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        """Return the placeholder of an attribute's name; the same each time."""
        return self.names.setdefault(attribute, f"#{len(self.names)}")

    def value(self, value: Any) -> str:
        """Return a new placeholder for a value."""
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = _SERIALIZER.serialize(value)
        return placeholder

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that a request takes; DynamoDB refuses an empty mapping."""
        parameters: dict[str, Any] = {}
        if self.names:
            parameters["ExpressionAttributeNames"] = {short: name for name, short in self.names.items()}
        if self.values:
            parameters["ExpressionAttributeValues"] = self.values
        return parameters


def still(table: str, before: Attributes | None, after: Attributes | None, places: Placeholders) -> str:
    """Write the condition that a row is exactly `before` (None: that there is no row)."""
    if before is None:
        return f"attribute_not_exists({places.name(PARTITION_KEY)})"
    known = KNOWN.get(table, frozenset()) | set(after or ())
    absent = sorted(known - set(before))
    parts = [] if before else [f"attribute_exists({places.name(PARTITION_KEY)})"]
    parts += [f"{places.name(name)} = {places.value(before[name])}" for name in sorted(before)]
    parts += [f"attribute_not_exists({places.name(name)})" for name in absent]
    return " AND ".join(parts)


def turning(before: Attributes, after: Attributes, places: Placeholders) -> str:
    """Write the update that makes `before` into `after`, touching only what differs. They must differ."""
    changed = [name for name in sorted(after) if name not in before or not _equal(before[name], after[name])]
    gone = sorted(set(before) - set(after))
    clauses = []
    if changed:
        clauses.append("SET " + ", ".join(f"{places.name(name)} = {places.value(after[name])}" for name in changed))
    if gone:
        clauses.append("REMOVE " + ", ".join(places.name(name) for name in gone))
    return " ".join(clauses)


def _equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A query's condition on its keys, and what it may let through in excess: one row at most.

    DynamoDB takes one condition on the sort key: a prefix, a comparison, or an inclusive range. A prefix together with
    an exclusive start is asked as a range from the start to the end of the prefix, and the row at either border that
    does not belong is dropped afterwards (`belongs`).
    """

    expression: str
    places: Placeholders
    sort_attribute: str
    prefix: str = ""
    after: str | None = None
    spare_rows: int = 0

    def belongs(self, sort_key: str) -> bool:
        """Tell whether the query asked for a row that came back."""
        return sort_key.startswith(self.prefix) and sort_key != self.after


def key_range(query: Query) -> KeyRange | None:
    """Return the rows of `query`, or None if there cannot be any."""
    partition_key, sort_key = _key_attributes(query)
    after = _after_within(query)
    if after is _NOWHERE:
        return None
    places = Placeholders()
    partition = f"{places.name(partition_key)} = {places.value(query.pk)}"
    if after is None and not query.prefix:
        return KeyRange(partition, places, sort_key)
    sort = places.name(sort_key)
    if after is None:
        condition = f"begins_with({sort}, {places.value(query.prefix)})"
        return KeyRange(f"{partition} AND {condition}", places, sort_key, query.prefix)
    end = query.prefix if query.descending else after_all(query.prefix)
    if not end:
        condition = f"{sort} {'<' if query.descending else '>'} {places.value(after)}"
        return KeyRange(f"{partition} AND {condition}", places, sort_key, query.prefix, after)
    low, high = sorted((after, end))
    condition = f"{sort} BETWEEN {places.value(low)} AND {places.value(high)}"
    return KeyRange(f"{partition} AND {condition}", places, sort_key, query.prefix, after, spare_rows=1)


def projection(query: Query, wanted: KeyRange) -> dict[str, str]:
    """Return the parameter that asks for a query's attributes and the rows' keys alone; none where all are wanted.

    Its names go into `wanted.places`. It spares time on both sides; a row is billed whole all the same.
    """
    if not query.only:
        return {}
    names = dict.fromkeys((PARTITION_KEY, SORT_KEY, wanted.sort_attribute, *query.only))
    return {"ProjectionExpression": ", ".join(wanted.places.name(name) for name in names)}


_NOWHERE = "\0nowhere"


def _after_within(query: Query) -> str | None:
    """Return `after` if it is within the prefix; None if it excludes nothing, `_NOWHERE` if it excludes all."""
    after, prefix = query.after, query.prefix
    if after is None:
        return None
    if after.startswith(prefix) and after:
        return after
    excludes_nothing = after > prefix if query.descending else after < prefix or not after
    return None if excludes_nothing else _NOWHERE


def _key_attributes(query: Query) -> tuple[str, str]:
    table = BY_NAME.get(query.table)
    if table is None:
        raise ValueError(f"there is no table {query.table!r}")
    if query.index is None:
        return PARTITION_KEY, SORT_KEY
    for index in table.indexes:
        if index.name == query.index:
            return index.partition_key, index.sort_key
    raise ValueError(f"{query.table} has no index {query.index!r}")
