"""Paths that look like one another, or are one file where case, width and invisible characters do not count.

The store keeps them apart: Unicode's rules for identifiers would refuse names that people use. Where they end up, on a
disk that folds case or before somebody's eyes, one of them is taken for the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from memolith.core.memory_conventions import Remark
from memolith.core.paths import ancestors

_SHOWS_NOTHING = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point, a part of which paths may have. Source: DerivedCoreProperties.txt."""


def skeleton(path: str) -> str:
    """Return what is left of a path without case, width, invisible characters, and dots or spaces that end a name.

    Letters of other scripts that look alike stay what they are.
    """
    folded = unicodedata.normalize("NFKC", _SHOWS_NOTHING.sub("", unicodedata.normalize("NFKC", path)).casefold())
    return "/".join(name.rstrip(". ") or name for name in folded.split("/"))


def twins(paths: Iterable[str]) -> Iterator[Remark]:
    """Yield a remark for every spelling of one place but the first, at the first memory there.

    A place is a memory or a folder. Of folders that differ because the folder around them does, that one alone is told.
    """
    spelled: dict[str, dict[str, str]] = {}
    memories = sorted(set(paths))
    for path in memories:
        for place in (*ancestors(path), path):
            spelled.setdefault(skeleton(place), {}).setdefault(place, path)
    for spellings in spelled.values():
        first, *others = sorted(spellings)
        names = {place.rpartition("/")[2] for place in spellings}
        if others and (len(names) > 1 or any(place == memory for place, memory in spellings.items())):
            for place in others:
                yield Remark(
                    spellings[place], 1, "path-twin", f"{_visible(place)} is easily taken for {_visible(first)}"
                )


def _visible(path: str) -> str:
    return _SHOWS_NOTHING.sub(lambda found: f"\\u{{{ord(found[0]):04x}}}", path)
