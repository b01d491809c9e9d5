"""What a link may call a note, and what a note is called, as keys that meet.

A key is in small letters, with hyphens for blanks and underscores and without the ending ``.md``, so that a title and
the permalink that Basic Memory makes of it are one key. What is more exact comes first (`Rank`): of several notes that
a target may mean, only those of the first rank that has any are meant.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from enum import IntEnum

KEY_MAX_CHARS = 1_024
_BLANKS = re.compile(r"[\s_-]+")


class Rank(IntEnum):
    """By what a note is meant; the lowest wins."""

    PATH = 0
    PERMALINK = 1
    TITLE = 2
    STEM = 3
    FORMER_PATH = 4


def target_key(target: str) -> str:
    """Return the key of a link's target, ``Title``, ``Title|shown``, ``folder/note#heading`` or ``/folder/note.md``."""
    named = target.removeprefix("memory://").split("|", 1)[0].split("#", 1)[0]
    named = named.strip().lstrip("/").removeprefix("memories/") or target
    return _key(named)


def paths_named(target: str) -> tuple[str, ...]:
    """Return the paths that a link's target may name, written as it writes them; none for what can be no path."""
    named = target.removeprefix("memory://").split("|", 1)[0].split("#", 1)[0]
    named = unicodedata.normalize("NFC", named.strip().lstrip("/").removeprefix("memories/"))
    if not named or len(named) > KEY_MAX_CHARS:
        return ()
    return (f"/{named}",) if named.endswith(".md") else (f"/{named}", f"/{named}.md")


def note_keys(path: str, title: str, permalink: str | None) -> dict[str, Rank]:
    """Return what a note can be called, each key with the most exact rank."""
    named = [(path.lstrip("/"), Rank.PATH), (permalink or "", Rank.PERMALINK), (title, Rank.TITLE)]
    named.append((posixpath.basename(path), Rank.STEM))
    keys: dict[str, Rank] = {}
    for text, rank in named:
        if key := _key(text):
            keys.setdefault(key, rank)
    return keys


def _key(text: str) -> str:
    plain = unicodedata.normalize("NFC", text[:KEY_MAX_CHARS]).casefold().strip()
    return _BLANKS.sub("-", plain.removesuffix(".md"))
