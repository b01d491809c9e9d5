"""What regions say to each other: records, entries and errors as JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memolith.core import errors
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry
from memolith.core.objects.store_record import StoreRecord
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.store_records import PlacedRecord

HOPS = 3
"""How often a call follows a home that has moved before it gives up."""


class NotHome(Exception):
    """A call that was passed on to a region which is not the store's home: nothing was done; here is its record."""

    def __init__(self, placed: PlacedRecord) -> None:
        super().__init__(placed.record.home)
        self.placed = placed


def encode_placed(placed: PlacedRecord) -> dict[str, str]:
    """Write a record as JSON, with its slot."""
    return {"slot": str(placed.slot), "record": placed.record.to_json().decode()}


def decode_placed(payload: Mapping[str, str]) -> PlacedRecord:
    """Parse what `encode_placed` made. Raises ValueError."""
    return PlacedRecord(Slot.parse(payload["slot"]), StoreRecord.from_json(payload["record"].encode()))


def encode_resolved(resolved: Iterable[ResolvedEntry]) -> list[dict[str, Any]]:
    """Write entries as JSON: key, metadata, and whether void."""
    return [{"key": str(one.entry.key), "metadata": one.entry.to_metadata(), "void": one.void} for one in resolved]


def decode_resolved(payload: Iterable[Mapping[str, Any]]) -> list[ResolvedEntry]:
    """Parse what `encode_resolved` made. Raises ValueError."""
    resolved = []
    for one in payload:
        key = parse_key(one["key"])
        if not isinstance(key, LogKey):
            raise ValueError(f"not a key of a log: {one['key']!r}")
        resolved.append(ResolvedEntry(Entry.from_metadata(key, one["metadata"]), one["void"]))
    return resolved


def encode_error(error: errors.MemolithError) -> dict[str, Any]:
    """Write an error as JSON: its class and its own fields."""
    fields = {name: value for name, value in vars(error).items() if name not in ("message",)}
    return {"type": type(error).__name__, "message": error.message, "fields": fields}


def decode_error(payload: Mapping[str, Any]) -> errors.MemolithError:
    """Rebuild the error that `encode_error` wrote."""
    kind = getattr(errors, payload["type"])
    error: errors.MemolithError = kind.__new__(kind)
    errors.MemolithError.__init__(error, payload["message"])
    for name, value in payload["fields"].items():
        setattr(error, name, value)
    return error
