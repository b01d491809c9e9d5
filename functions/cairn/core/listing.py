"""Folders in a listing of paths."""

from __future__ import annotations

from cairn.core.limits import PATH_MAX_BYTES

_LAST = ("\U0010ffff", "\uffff", "\u07ff", "\x7f")
"""The highest character of four, three, two bytes and one."""


def direct_child(prefix: str, path: str) -> str | None:
    """The folder directly below `prefix` that holds `path`; None when `path` itself stands directly below it."""
    segment, slash, _ = path[len(prefix) :].partition("/")
    return f"{prefix}{segment}/" if slash else None


def past(folder: str) -> str:
    """A position in byte order after everything in `folder`, and before whatever comes next.

    It is no longer than a path, because a sort key in a condition may be no longer than one in a table.
    """
    room_bytes = PATH_MAX_BYTES - len(folder.encode())
    return folder + next((last for last in _LAST if len(last.encode()) <= room_bytes), "")
