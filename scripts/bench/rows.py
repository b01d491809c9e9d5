"""One line of a measurement: a figure beside its target."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the result: what was measured, the target, the figure, and whether it is met."""

    family: str
    what: str
    target: str
    figure: str
    met: bool | None

    def __str__(self) -> str:
        mark = {True: "met", False: "MISSED", None: ""}[self.met]
        return f"{self.family:<10} {self.what:<58} {self.target:>12}  {self.figure:<30} {mark}"
