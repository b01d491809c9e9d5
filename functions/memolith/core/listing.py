"""Folders in a listing of paths, and positions in any listing."""

from __future__ import annotations

import re

from memolith.core.errors import InvalidRequest
from memolith.core.limits import PATH_MAX_BYTES

_LAST = ("\U0010ffff", "\uffff", "\u07ff", "\x7f")
"""The highest character of four, three, two bytes and one."""


PATH_POSITION = re.compile(r"/.+", re.DOTALL)
"""A position in a listing by path."""


def direct_child(prefix: str, path: str) -> str | None:
    """Return the folder directly below `prefix` that holds `path`; None when `path` itself is directly below it."""
    segment, slash, _ = path[len(prefix) :].partition("/")
    return f"{prefix}{segment}/" if slash else None


def past(folder: str) -> str:
    """Return a position in byte order after everything in `folder`, and before whatever comes next.

    It is no longer than a path, because a sort key in a condition may be no longer than one in a table.
    """
    room_bytes = PATH_MAX_BYTES - len(folder.encode())
    return folder + next((last for last in _LAST if len(last.encode()) <= room_bytes), "")


def check_position(position: str | None, shape: re.Pattern[str]) -> str | None:
    """Check a position to go on from. Cursors are not signed, so a caller can make one up.

    Raises:
        InvalidRequest: naming ``page``.
    """
    if position is not None and (shape.fullmatch(position) is None or len(position.encode()) > PATH_MAX_BYTES):
        raise InvalidRequest("page", "is not a cursor of this listing; pass next_page as it came, or omit page")
    return position
