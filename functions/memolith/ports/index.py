"""The tables of one region: consistent reads, and transactions conditional on what was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memolith.core.rows.base import Attributes, RowKey


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a transaction.

    `before` is what was read (None: no row); the change happens only if the row is still exactly that. `after` is what
    it becomes (None: deleted); equal to `before`, it is a check alone. ``unconditional`` rows are put as they come.
    """

    key: RowKey
    before: Attributes | None
    after: Attributes | None
    unconditional: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """Rows of one partition in order of the sort key; `after` is exclusive, `prefix` restricts the sort key.

    `index` names a global index (`memolith.core.tables`), whose rows may lag behind the table's. `only` names the
    attributes that are wanted, where not all are: what is not sent need not be read here.
    """

    table: str
    pk: str
    prefix: str = ""
    after: str | None = None
    limit: int = 100
    descending: bool = False
    index: str | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """One row of a query, with its own key in the table and the sort key of the order that was asked for."""

    key: RowKey
    sort_key: str
    attributes: Attributes


class Index(Protocol):
    """The tables of one index generation, and those outside the generations."""

    @property
    def generation(self) -> int:
        """Which generation of tables this reads and writes."""

    def at(self, generation: int) -> Index:
        """Return the same region's index in another generation."""

    def read(self, keys: Sequence[RowKey]) -> Mapping[RowKey, Attributes]:
        """Read those of the rows that exist, each strongly consistent by itself. One batch for up to 100 keys.

        Raises:
            Unavailable: throttled, or a table is gone.
        """

    def query(self, query: Query) -> Sequence[Found]:
        """Return `limit` rows, fewer only at the end; consistent except through a global index. Raises Unavailable."""

    def count(self, table: str, pk: str) -> int:
        """Count the rows of a partition. Pages through it: for rare use. Raises Unavailable."""

    def commit(self, changes: Sequence[Change]) -> None:
        """Apply all of the changes or none. One transaction, at most 100 rows.

        Raises:
            Contended: a row is no longer what was read, or another transaction was at it.
            OutcomeUnknown: read the rows. Unavailable: nothing was done.
        """


class Tables(Protocol):
    """Making and dropping whole generations of tables; a rebuild's, never a request's."""

    def make_lasting(self) -> None:
        """Create those tables outside the generations that are missing, empty, and wait until they serve."""

    def make(self, generation: int) -> None:
        """Create every table of the generation that is missing, and wait until they serve."""

    def drop(self, generation: int) -> None:
        """Delete the generation's tables. Repeatable."""


RowMap = Mapping[RowKey, Attributes]
