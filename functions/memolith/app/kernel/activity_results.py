"""What the use case of recent activity returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memolith.app.kernel.results import Version


@dataclass(frozen=True, slots=True)
class ChangedMemory:
    """A memory that was changed: its newest version, without content, and how many changes since `first_at` by whom."""

    newest: Version
    changes: int
    first_at: int
    authors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Activity:
    """A page of memories, the last change first. `more`: there is a next page; `truncated`: more was not looked at."""

    memories: tuple[ChangedMemory, ...]
    more: bool
    truncated: bool


def decode_activity(fields: Mapping[str, Any]) -> Activity:
    """Parse what ``asdict`` made of an activity, and JSON of that. Raises KeyError, TypeError."""
    return Activity(tuple(map(_decode_memory, fields["memories"])), fields["more"], fields["truncated"])


def _decode_memory(fields: Mapping[str, Any]) -> ChangedMemory:
    newest = Version(**{**fields["newest"], "flags": tuple(fields["newest"]["flags"])})
    return ChangedMemory(newest, fields["changes"], fields["first_at"], tuple(fields["authors"]))
