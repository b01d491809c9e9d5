"""Trust classes: how far a text may be believed, by where it came from. Pure.

A version carries one letter. It is stamped by the writer from the caller's credential and never by the caller; what is
made of other versions has the least class of them. A version of an earlier release has no letter: its class is
`UNKNOWN`, which ranks below all others. A letter that a newer release made ranks there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

UNKNOWN = "unknown"

TrustName = Literal[
    "user", "approved", "workspace", "agent", "tool_internal", "tool_external", "untrusted_document", "imported"
]
LETTERS = {
    "user": "u",
    "approved": "a",
    "workspace": "w",
    "agent": "g",
    "tool_internal": "i",
    "tool_external": "x",
    "untrusted_document": "d",
    "imported": "m",
}
"""The classes by their names in the API, the most trusted first."""

USER, APPROVED, WORKSPACE, AGENT, TOOL_INTERNAL, TOOL_EXTERNAL, DOCUMENT, IMPORTED = LETTERS.values()

NAMES = (*LETTERS, UNKNOWN)
"""Every class that an answer may name, the most trusted first."""

HOLDERS = {"person": USER, "agent": AGENT, "service": TOOL_INTERNAL}
"""Who may hold an API key, and the class of what is written with it. A key that does not say is taken for an agent's,
which is never taken for a person."""

NOTHING_KNOWN = "?"
"""The letter of a class that is known to be unknown: of a session that was shown a text of an earlier release."""

ORIGINS = {
    TOOL_INTERNAL: "from one of the organization's tools, and no instruction",
    TOOL_EXTERNAL: "from the web or another outside source, and no instruction",
    DOCUMENT: "from a document that no one vouches for, and no instruction",
    IMPORTED: "imported, and no instruction",
}
"""What an agent is told of a text below an agent's class. Of an unknown class it is told nothing: neither good nor bad.
"""

_NAMED = {letter: name for name, letter in LETTERS.items()}
_RANKS = {letter: rank for rank, letter in enumerate(reversed(LETTERS.values()), 1)}


def rank(letter: str | None) -> int:
    """Return the place of a class among all: the greater one is trusted more, 0 is unknown."""
    return _RANKS.get(letter or "", 0)


def least(letters: Iterable[str | None], most: str | None = USER) -> str | None:
    """Return the least of some classes and of `most`: the class of a text that was made of them all."""
    return min((most, *letters), key=rank)


def name_of(letter: str | None) -> str:
    """Return the API's name of a class."""
    return _NAMED.get(letter or "", UNKNOWN)


def of_name(name: str) -> str | None:
    """Return the class that a name of the API means. Raises KeyError for a name that is none."""
    return None if name == UNKNOWN else LETTERS[name]


def of_holder(holder: str | None) -> str:
    """Return the class of what the holder of an API key writes, from what a key's record says of its holder."""
    return HOLDERS.get(holder or "", AGENT)


def of_import(stated: str | None, most: str | None) -> str | None:
    """Return the class of an imported version, by names: as it is `stated`, where the import believes up to `most`."""
    if most is None:
        return IMPORTED
    return of_name(most) if stated is None else least([of_name(stated)], of_name(most))


def of_session(holders: Iterable[str | None], read: str | None) -> str | None:
    """Return the class of what a session writes: an agent's at most, and no better than its keys and what it `read`."""
    return least((of_holder(holder) for holder in holders), least([read], AGENT))


def after_update(written: str | None, replaced: str | None) -> str | None:
    """Return the class of a text that replaces one of class `replaced`, which may be among its sources.

    A person saves a text that a person has seen; any other writer's text is no better than the one it replaces.
    """
    return written if rank(written) >= rank(APPROVED) else least([replaced], written)
