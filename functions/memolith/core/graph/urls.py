"""What a context is asked for: ``memory://folder/note``, ``folder/note``, ``folder/*``, ``*``, a title or an id."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

URL_MAX_CHARS = 2_028
"""As in Basic Memory."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One note by what it is called, or with a prefix all notes below a folder, newest first."""

    target: str = ""
    prefix: str | None = None


def parse_url(url: str) -> Asked:
    """Parse what a context is asked for. Raises ValueError, with the rule as its message."""
    if len(url) > URL_MAX_CHARS:
        raise ValueError(f"must be at most {URL_MAX_CHARS} characters long")
    named = unquote(url.strip().removeprefix("memory://")).strip()
    if "://" in named:
        raise ValueError("must be a memory:// URL, a path or a title; no other scheme is known")
    if not named.strip("/") or "\x00" in named:
        raise ValueError("must name a note, or a folder as folder/*")
    if ".." in named.split("/") or "//" in named:
        raise ValueError("must be a path without .. and without //")
    path = named.lstrip("/").removeprefix("memories/")
    if path == "*" or path.endswith("/*"):
        if "*" in path[:-1]:
            raise ValueError("may have * only as its last part")
        return Asked(prefix=f"/{path[:-1]}")
    if "*" in named:
        raise ValueError("may have * only as its last part")
    return Asked(named)
