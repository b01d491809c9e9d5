"""Folders in a listing of paths."""

from __future__ import annotations

_LAST = "\U0010ffff"


def direct_child(prefix: str, path: str) -> str | None:
    """The folder directly below `prefix` that holds `path`; None when `path` itself stands directly below it."""
    segment, slash, _ = path[len(prefix) :].partition("/")
    return f"{prefix}{segment}/" if slash else None


def past(folder: str) -> str:
    """A position in byte order after everything in `folder`, and before whatever comes next."""
    return folder + _LAST
