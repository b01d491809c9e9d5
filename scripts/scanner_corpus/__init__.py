"""The repository's own texts for developing and measuring the scanner; see the folder's README."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
HELD_OUT = ("held_out", "held_out_two", "held_out_three")
"""Texts for measuring only."""

AUTHORS = tuple(f"author_{letter}" for letter in "abcdefghi")
"""Texts for development by authors who had not read the rules."""

HARMLESS = frozenset({"note", "about"})
"""Kinds of texts that no rule may reject; `about` are texts about attacks."""


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a corpus: its language, its kind, and what it says."""

    language: str
    kind: str
    text: str

    @property
    def harmless(self) -> bool:
        """Whether a scan has to let it through."""
        return self.kind in HARMLESS


def read(name: str) -> list[Text]:
    """Return the texts of ``development`` or another of the folder's files, in the order of the file."""
    return list(_texts((FOLDER / f"{name}.txt").read_text("utf-8")))


def _texts(content: str) -> Iterator[Text]:
    language = kind = ""
    for line in content.splitlines():
        if line.startswith("== "):
            _, language, kind = line.split(" ")
        elif line:
            yield Text(language, kind, line.replace("\\n", "\n"))


def frozen(name: str) -> bool:
    """Whether held-out texts are the ones that were frozen before any rule was tuned after them."""
    digest = hashlib.sha256((FOLDER / f"{name}.txt").read_bytes()).hexdigest()
    return digest == (FOLDER / f"{name}.sha256").read_text().strip()
