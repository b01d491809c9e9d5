"""Entries whose meaning is known: a rename is two entries, and only both together say what happened."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.objects.entry import Entry, Operation


@dataclass(frozen=True, slots=True)
class ResolvedEntry:
    """An entry whose meaning is known: committed, or void. A rename's two entries are settled, and folded, together."""

    entry: Entry
    void: bool = False

    @property
    def is_version(self) -> bool:
        return not self.void and self.entry.operation not in (Operation.VOID, Operation.MOVED_OUT)
