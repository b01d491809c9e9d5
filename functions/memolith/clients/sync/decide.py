"""What is to be done at one path. Pure.

Each side is a text's hash, or None where nothing is: `here` in the folder, `there` in the store, `base` as both had it
when they were last equal. Who has not changed since takes over what the other has; where both have changed, neither
text is given up: the folder's is put beside the file, and the store's is taken.
"""

from __future__ import annotations

from enum import StrEnum


class Step(StrEnum):
    """What one pass does at one path."""

    AGREE = "agree"
    """Both are equal: remember it."""
    SEND = "send"
    DELETE_THERE = "delete there"
    FETCH = "fetch"
    DELETE_HERE = "delete here"
    CONFLICT = "conflict"
    """Both have changed, and the folder has a text: it goes beside the file, and what the store has is fetched."""


def step(here: str | None, there: str | None, base: str | None) -> Step:
    """Choose the step for one path. No step loses a text that only one side has."""
    if here == there:
        return Step.AGREE
    if here == base:
        return Step.DELETE_HERE if there is None else Step.FETCH
    if there == base:
        return Step.DELETE_THERE if here is None else Step.SEND
    return Step.FETCH if here is None else Step.CONFLICT
