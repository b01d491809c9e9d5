"""The table that the drill ends with, and what of it is broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from scripts.drill.accounting import Account
from scripts.drill.load import Told


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the drill saw.

    Attributes:
        acknowledged: how many versions.
        account: where they are.
        told: what each client was told.
        pauses_s: for each store, the longest time without an acknowledged write.
        lag_ms: by region, the most that it said it was behind.
        doubled: versions acknowledged in the store that asks for two regions.
        noted: what the steps measured.
        failed: steps that did not bring about what they should.
    """

    acknowledged: int
    account: Account
    told: tuple[Told, ...]
    pauses_s: Mapping[str, float]
    lag_ms: Mapping[str, int]
    doubled: frozenset[str]
    noted: Mapping[str, str]
    failed: tuple[str, ...] = ()

    @property
    def broken(self) -> list[str]:
        """Promises that did not hold, in words."""
        found = list(self.failed)
        for region, missing in self.account.missing.items():
            if missing:
                found.append(
                    f"{len(missing)} acknowledged writes are neither kept nor listed as divergent in {region}: "
                    f"{', '.join(sorted(missing)[:5])}"
                )
        if disputed := self.account.disputed:
            found.append(
                f"{len(disputed)} acknowledged writes are kept in one region and divergent in another: "
                f"{', '.join(sorted(disputed)[:5])}"
            )
        if doubled := self.account.divergent & self.doubled:
            found.append(f"{len(doubled)} writes of the store that asks for two regions are divergent")
        if not self.acknowledged:
            found.append("nothing was acknowledged")
        return found

    @property
    def exit_code(self) -> int:
        """0 when every promise held."""
        return 1 if self.broken else 0

    def show(self, console: Console) -> None:
        """Print it."""
        table = Table(title="What the drill saw", show_header=False, title_justify="left")
        refused = sum(told.refused + told.conflicts for told in self.told)
        rows = {
            "writes acknowledged": self.acknowledged,
            "of them in the store that asks for two regions": len(self.doubled),
            "kept, in every region": len(self.account.kept),
            "divergent, kept apart in every region": len(self.account.divergent),
            "neither (must be 0)": len(self.account.disputed.union(*self.account.missing.values())),
            "refused: nothing was done": refused,
            "told that the outcome is unknown": sum(told.unknown for told in self.told),
            "longest write pause of a store": f"{max(self.pauses_s.values(), default=0.0):.1f} s",
            "longest lag that a region told": f"{max(self.lag_ms.values(), default=0) / 1000:.1f} s",
            **self.noted,
        }
        for name, value in rows.items():
            table.add_row(name, str(value))
        console.print(table)
        for problem in self.broken:
            console.print(f"BROKEN: {problem}", style="bold red", highlight=False, markup=False, soft_wrap=True)
