"""What S3 and DynamoDB refuse, checked by every adapter before anything is sent.

A fake that takes what AWS refuses hides a defect until it is deployed, and an emulator that does (moto and MiniStack
take user metadata of any size) hides it just as well. So the limits stand here, once, and a breach is the caller's
defect: ValueError, never a port error. Nothing was done then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memolith.core.limits import OBJECT_METADATA_MAX_BYTES
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.tables import BY_NAME, PARTITION_KEY, SORT_KEY, Table
from memolith.ports.index import Change, Query

OBJECT_KEY_MAX_BYTES = 1_024
LIST_PAGE_MAX_KEYS = 1_000
ROWS_PER_TRANSACTION = 100
ROWS_PER_READ = 100
PARTITION_KEY_MAX_BYTES = 2_048
SORT_KEY_MAX_BYTES = 1_024
MESSAGES_PER_BATCH = 10
MESSAGE_MAX_BYTES = 100_000
"""Ten of them stay below the 1 MiB that one request to SQS may have."""

_METADATA_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_METADATA_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MESSAGE = re.compile("[\\t\\n\\r -\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]+")


def check_object(key: str, metadata: Mapping[str, str], content_sha256: str | None = None) -> None:
    """Refuse what S3 would refuse, or would return otherwise than it was given.

    S3 lower-cases names and strips blanks around values, and some ways drop an empty header: such metadata is refused
    here rather than changed silently.

    Raises:
        ValueError: names the rule that was broken, never the value.

    Source: S3 user guide, "Naming Amazon S3 objects", "Working with object metadata".
    """
    if not 0 < len(key.encode()) <= OBJECT_KEY_MAX_BYTES:
        raise ValueError(f"an object key has 1 to {OBJECT_KEY_MAX_BYTES} bytes")
    for name, value in metadata.items():
        if _METADATA_NAME.fullmatch(name) is None:
            raise ValueError("metadata names are lower-case letters, digits and hyphens")
        if _METADATA_VALUE.fullmatch(value) is None:
            raise ValueError(f"metadata {name}: values are printable US-ASCII, without blanks around them")
    size_bytes = sum(len(name) + len(value) for name, value in metadata.items())
    if size_bytes > OBJECT_METADATA_MAX_BYTES:
        raise ValueError(f"metadata has {size_bytes} bytes, at most {OBJECT_METADATA_MAX_BYTES} are allowed")
    if content_sha256 is not None and _SHA256.fullmatch(content_sha256) is None:
        raise ValueError("content_sha256 is 64 lower-case hex digits")


def check_listing(limit: int) -> int:
    """Return how many keys a page of a listing may have: `limit`, or as many as S3 gives. Raises ValueError below 1."""
    if limit < 1:
        raise ValueError("a listing is limited to at least 1")
    return min(limit, LIST_PAGE_MAX_KEYS)


def check_messages(messages: Sequence[str]) -> None:
    """Refuse what SQS would. Raises ValueError.

    Source: SQS API, SendMessage: the characters of XML 1.0, at least one of them.
    """
    for message in messages:
        if _MESSAGE.fullmatch(message) is None or len(message.encode()) > MESSAGE_MAX_BYTES:
            raise ValueError(f"a message is text of 1 to {MESSAGE_MAX_BYTES} bytes without control characters")


def check_key(key: RowKey) -> Table:
    """Return the table of a row. Raises ValueError for an unknown table, or keys that DynamoDB would refuse."""
    table = BY_NAME.get(key.table)
    if table is None:
        raise ValueError(f"there is no table {key.table!r}")
    if not 0 < len(key.pk.encode()) <= PARTITION_KEY_MAX_BYTES:
        raise ValueError(f"{key.table}: a partition key has 1 to {PARTITION_KEY_MAX_BYTES} bytes")
    if not 0 < len(key.sk.encode()) <= SORT_KEY_MAX_BYTES:
        raise ValueError(f"{key.table}: a sort key has 1 to {SORT_KEY_MAX_BYTES} bytes")
    return table


def check_query(query: Query) -> None:
    """Refuse a query that DynamoDB would: its key conditions may be no longer than keys are. Raises ValueError."""
    if query.limit < 1:
        raise ValueError("a query is limited to at least 1")
    check_key(RowKey(query.table, query.pk, "any"))
    for bound in (query.prefix, query.after or ""):
        if len(bound.encode()) > SORT_KEY_MAX_BYTES:
            raise ValueError(f"{query.table}: a condition on a sort key has at most {SORT_KEY_MAX_BYTES} bytes")


def wanted(query: Query, row: dict[str, Any]) -> dict[str, Any]:
    """Return what a query asks for of a row: all of it, or `query.only`."""
    return {name: row[name] for name in query.only if name in row} if query.only else row


def check_changes(changes: Sequence[Change]) -> None:
    """Refuse what one transaction cannot hold: more than 100 rows, or one row twice. Raises ValueError."""
    if len(changes) > ROWS_PER_TRANSACTION:
        raise ValueError(f"{len(changes)} rows in one transaction, at most {ROWS_PER_TRANSACTION} are allowed")
    if len({change.key for change in changes}) < len(changes):
        raise ValueError("a transaction names one row twice")


def stored(key: RowKey, attributes: Attributes) -> dict[str, Any]:
    """Return a row's attributes as they are stored and given back: plain values, a copy, nothing that is None.

    Raises:
        ValueError: a type that no table keeps, an attribute named like the table's own key, or an empty text where a
            global index has its key.
    """
    table = check_key(key)
    row = {name: _stored_value(key.table, name, value) for name, value in attributes.items() if value is not None}
    if PARTITION_KEY in row or SORT_KEY in row:
        raise ValueError(f"{key.table}: {PARTITION_KEY} and {SORT_KEY} are the row's key, not attributes")
    for index in table.indexes:
        for name in (index.partition_key, index.sort_key):
            if name in row and (not isinstance(row[name], str) or not row[name]):
                raise ValueError(f"{key.table}: {name} is the key of {index.name}, and so a text that is not empty")
    return row


def _stored_value(table: str, name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping) and all(isinstance(part, str) for pair in value.items() for part in pair):
        return dict(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return list(value)
    raise ValueError(f"{table}: {name} is neither text, int, bool, nor a list or mapping of text")


def same_row(one: Attributes | None, other: Attributes | None) -> bool:
    """Tell whether two stored rows are equal as DynamoDB compares them: True is not 1 there, as it is in Python."""
    if one is None or other is None:
        return one is other
    return one == other and all(type(one[name]) is type(other[name]) for name in one)


def after_all(prefix: str) -> str | None:
    """Return the first text after all that begin with `prefix`, in code point order; None where there is none."""
    for position in range(len(prefix) - 1, -1, -1):
        following = ord(prefix[position]) + 1
        if following <= 0x10FFFF:
            return prefix[:position] + chr(0xE000 if 0xD800 <= following < 0xE000 else following)
    return None
