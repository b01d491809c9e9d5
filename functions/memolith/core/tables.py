"""The tables of one region, as plain data.

One record of their shape serves all: the CDK app declares them from here, a rebuild makes the next generation
of them from here, and the adapters read and write by these names. Every table has a string partition key ``pk`` and a
string sort key ``sk``; what stands in them is `memolith.core.rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

PARTITION_KEY = "pk"
SORT_KEY = "sk"


@dataclass(frozen=True, slots=True)
class GlobalIndex:
    """A second order over a table's rows; eventually consistent, so never the only way to an answer."""

    name: str
    partition_key: str
    sort_key: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its short name, its indexes, and whether each index generation has one of its own."""

    name: str
    indexes: tuple[GlobalIndex, ...] = ()
    generational: bool = True
    expires_attribute: str | None = None

    def physical_name(self, prefix: str, generation: int) -> str:
        """Return the DynamoDB name: ``memolith-dev-memories-g1``, or without a generation ``memolith-dev-journal``."""
        return f"{prefix}-{self.name}-g{generation}" if self.generational else f"{prefix}-{self.name}"


BY_MEMORY = GlobalIndex("by_memory", "memory_key", "generation_key")
BY_TIME = GlobalIndex("by_time", PARTITION_KEY, "time_key")

TABLES: tuple[Table, ...] = (
    Table("memories"),
    Table("logs"),
    Table("paths"),
    Table("versions", indexes=(BY_MEMORY, BY_TIME)),
    Table("verdicts"),
    Table("stores"),
    Table("keys"),
    Table("journal", generational=False, expires_attribute="expires_at"),
    Table("control", generational=False),
)
"""Every table of a region. `journal` and `control` stand outside the index generations: a rebuild leaves them alone."""

BY_NAME: dict[str, Table] = {table.name: table for table in TABLES}
