"""Prompts: versioned files. The hash of the one that was used is in the record of every run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of a prompt."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of its text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def load_prompt(name: str) -> Prompt:
    """Return a prompt by the name of its file, such as ``consolidate.v1``. Read once in a process."""
    return Prompt(name, files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8"))
