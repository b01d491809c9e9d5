"""The order of sessions, and of API keys: newest first, as their ids say, whichever region they were born in.

A position in it is the id of what was shown last, or, of sessions, an instant from which on nothing is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from memolith.core import ids

CLOCKS_MS = 1_000
"""By how much a session's id may be ahead of, or behind, the time in its record: both are read from one clock."""

_ALL = "~"
"""Above every character of an id."""


def place(position: str) -> tuple[str, str]:
    """Return what they are ordered by: when they were born, then their ids."""
    return position.rpartition("_")[2], position


def until(instant_us: int) -> str:
    """Return the position after every session that began later than that."""
    return f"sesn_{_ALL}_{ids.ulid(instant_us // 1_000 + CLOCKS_MS, bytes([255] * 10))}"


def is_before(session_id: str, instant_us: int) -> bool:
    """Tell whether this session, and so every one after it in the order, began before that."""
    return ids.ulid_time_ms(session_id.rpartition("_")[2]) + CLOCKS_MS < instant_us // 1_000


def ranges(kind: str, regions: Sequence[str], after: str | None) -> list[tuple[str, str | None]]:
    """Return, for those born in each region, the prefix of their ids and the bound from which on they follow.

    `kind` is what their ids begin with.
    """
    prefixes = [f"{kind}_{ids.region_code(region)}_" for region in regions]
    return [(prefix, None if after is None else _bound(prefix, after)) for prefix in prefixes]


def _bound(prefix: str, after: str) -> str:
    """Return the highest id with this prefix that `after` leaves out: of the same instant the lesser ones follow."""
    born, _ = place(after)
    same = f"{prefix}{born}"
    return same if same >= after else f"{same}{_ALL}"
