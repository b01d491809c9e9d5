"""The few things corrected inside the emulator, because no public call could: one file each, with its reason.

A patch names the attributes it replaces. If one is missing (another release), nothing is replaced, the emulator says
so in its log and in ``patches.json``, and ``up`` prints it: the cloud still works, less faithfully.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class PatchMissing(Exception):
    """The emulator has no such attribute: this release is not the one the patch was written for."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One correction: its name, what is wrong without it, and how to apply it."""

    name: str
    without_it: str
    apply: Callable[[], None]


def need(owner: object, *names: str) -> None:
    """Raise `PatchMissing` unless ``owner`` has every one of these attributes."""
    missing = [name for name in names if not hasattr(owner, name)]
    if missing:
        raise PatchMissing(f"{getattr(owner, '__name__', owner)} has no {', '.join(missing)}")
