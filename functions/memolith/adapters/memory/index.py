"""Tables in memory: what DynamoDB does, as far as Memolith leans on it.

One `MemoryDatabase` holds one region's tables, in any number of generations; `MemoryIndex` reads and writes one
generation of them, `MemoryTables` makes and drops whole ones. Transactions are atomic under one lock, and rows are
compared whole. Global indexes follow at once, or, with ``lagging=True``, only when `MemoryDatabase.settle` is called:
the contract promises nothing sooner.

With ``hold`` a transaction takes time, and conflicts as DynamoDB's do: until it has ended, another transaction that
writes or checks one of its rows, and a single write of such a row, are refused. Reads see the rows as they were.

Source: DynamoDB developer guide, "Transaction conflict handling in DynamoDB".
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memolith.adapters.limits import check_changes, check_key, check_query, same_row, stored, wanted
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.tables import BY_NAME, PARTITION_KEY, SORT_KEY, TABLES
from memolith.ports.errors import Contended, Unavailable
from memolith.ports.index import Change, Found, Query, RowMap

_Sort = tuple[str, str, str]
"""A row's place within a partition: sort key, then its key in the table, which tells rows of one sort key apart."""


@dataclass(slots=True)
class _Order:
    """Rows in the order of one partition key and one sort key: a table's own, or a global index's."""

    partition_attribute: str
    sort_attribute: str
    partitions: dict[str, list[_Sort]] = field(default_factory=dict)
    rows: dict[tuple[str, str], tuple[str, _Sort, dict[str, Any]]] = field(default_factory=dict)

    def replace(self, key: RowKey, row: dict[str, Any] | None) -> None:
        """Remove the row and insert it where its attributes say; a row that lacks one of them is left out."""
        old = self.rows.pop((key.pk, key.sk), None)
        if old is not None:
            places = self.partitions[old[0]]
            del places[bisect_left(places, old[1])]
        if row is None:
            return
        whole = {PARTITION_KEY: key.pk, SORT_KEY: key.sk, **row}
        partition, sort = whole.get(self.partition_attribute), whole.get(self.sort_attribute)
        if partition is None or sort is None:
            return
        place = (sort, key.pk, key.sk)
        insort(self.partitions.setdefault(partition, []), place)
        self.rows[key.pk, key.sk] = (partition, place, row)

    def select(self, query: Query) -> list[tuple[_Sort, dict[str, Any]]]:
        """Return at most `query.limit` places with their rows."""
        places = self.partitions.get(query.pk, [])
        low = bisect_left(places, (query.prefix,))
        high = bisect_right(places, query.prefix, key=lambda place: place[0][: len(query.prefix)])
        if query.after is not None and query.descending:
            high = min(high, bisect_left(places, (query.after,)))
        elif query.after is not None:
            low = max(low, bisect_right(places, query.after, key=lambda place: place[0]))
        chosen = places[low:high][::-1] if query.descending else places[low:high]
        return [(place, self.rows[place[1], place[2]][2]) for place in chosen[: query.limit]]


class _Table:
    """One table of one generation, with its indexes."""

    def __init__(self, name: str) -> None:
        self.order = _Order(PARTITION_KEY, SORT_KEY)
        self.indexes = {one.name: _Order(one.partition_key, one.sort_key) for one in BY_NAME[name].indexes}

    def get(self, key: RowKey) -> dict[str, Any] | None:
        found = self.order.rows.get((key.pk, key.sk))
        return None if found is None else found[2]


_Staged = tuple[Change, dict[str, Any] | None, dict[str, Any] | None]
"""A change, and the row before and after it as they are stored."""


class MemoryDatabase:
    """The tables of one region. Those outside the generations are there from the start. Safe for threads.

    `hold` is called in the middle of every transaction, without the lock: it lasts for as long as the transaction holds
    its rows. If it raises, the caller is dead, and the transaction ends all the same. `refused` counts conflicts.
    """

    def __init__(
        self, generations: Iterable[int] = (1,), *, lagging: bool = False, hold: Callable[[], None] | None = None
    ) -> None:
        self.lock = threading.RLock()
        self.hold = hold
        self.held: set[tuple[_Table, str, str]] = set()
        self.refused = 0
        self._lagging = lagging
        self._late: list[tuple[_Table, RowKey, dict[str, Any] | None]] = []
        self._tables: dict[tuple[str, int], _Table] = {}
        self.make_lasting()
        for generation in generations:
            self.make(generation)

    def make_lasting(self) -> None:
        """Make those tables outside the generations that are missing."""
        with self.lock:
            for table in TABLES:
                if not table.generational:
                    self._tables.setdefault((table.name, 0), _Table(table.name))

    def lose(self, name: str) -> None:
        """Delete a table outside the generations, as an accident would."""
        with self.lock:
            del self._tables[name, 0]

    def make(self, generation: int) -> None:
        """Make every table of the generation that is missing."""
        with self.lock:
            for table in TABLES:
                if table.generational:
                    self._tables.setdefault((table.name, generation), _Table(table.name))

    def drop(self, generation: int) -> None:
        """Drop the generation's tables."""
        with self.lock:
            for table in TABLES:
                if table.generational:
                    self._tables.pop((table.name, generation), None)

    def table(self, name: str, generation: int) -> _Table:
        """Return a table. Raises Unavailable for a generation that does not exist, ValueError for an unknown table."""
        if name not in BY_NAME:
            raise ValueError(f"there is no table {name!r}")
        found = self._tables.get((name, generation if BY_NAME[name].generational else 0))
        if found is None:
            raise Unavailable(f"no table {name} of generation {generation}")
        return found

    def everything(self) -> list[tuple[RowKey, Attributes]]:
        """List every row of every table of every generation, so that a test can see what an erasure left."""
        with self.lock:
            return [
                (RowKey(name, pk, sk), row)
                for (name, _), table in self._tables.items()
                for (pk, sk), (_, _, row) in table.order.rows.items()
            ]

    def put(self, table: _Table, key: RowKey, row: dict[str, Any] | None) -> None:
        """Replace one row (None: remove it), and let the indexes follow, now or late. The caller holds the lock."""
        table.order.replace(key, row)
        if table.indexes:
            self._late.append((table, key, row))
        if not self._lagging:
            self.settle()

    def settle(self) -> None:
        """Let every global index catch up."""
        with self.lock:
            late, self._late = self._late, []
            for table, key, row in late:
                for order in table.indexes.values():
                    order.replace(key, row)


class MemoryIndex:
    """`ports.index.Index` on one generation of a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase, generation: int = 1) -> None:
        self._database = database
        self._generation = generation

    @property
    def generation(self) -> int:
        return self._generation

    def at(self, generation: int) -> MemoryIndex:
        """Return the same tables in another generation."""
        return MemoryIndex(self._database, generation)

    def read(self, keys: Sequence[RowKey]) -> RowMap:
        """Return copies of the rows that exist."""
        found: dict[RowKey, Attributes] = {}
        with self._database.lock:
            for key in keys:
                check_key(key)
                row = self._table(key.table).get(key)
                if row is not None:
                    found[key] = _copy(row)
        return found

    def query(self, query: Query) -> Sequence[Found]:
        """Return rows in order of the sort key; rows with one sort key in an index, in order of their own keys."""
        check_query(query)
        with self._database.lock:
            table = self._table(query.table)
            order = table.order if query.index is None else _index_of(table, query)
            return [
                Found(RowKey(query.table, place[1], place[2]), place[0], wanted(query, _copy(row)))
                for place, row in order.select(query)
            ]

    def count(self, table: str, pk: str) -> int:
        """Count the rows of the partition."""
        with self._database.lock:
            return len(self._table(table).order.partitions.get(pk, ()))

    def commit(self, changes: Sequence[Change]) -> None:
        """Commit atomically. Raises Contended for the first row that is held, or is not what was read."""
        check_changes(changes)
        rows = [
            (change, _stored_or_none(change.key, change.before), _stored_or_none(change.key, change.after))
            for change in changes
        ]
        if self._database.hold is None or not _is_transaction(rows):
            self._apply(rows)
        else:
            self._apply_after(self._database.hold, rows)

    def _apply_after(self, hold: Callable[[], None], rows: Sequence[_Staged]) -> None:
        """Hold the rows while `hold` lasts, and then apply them."""
        database = self._database
        with database.lock:
            self._check(rows)
            held = {self._place(change.key) for change, _, _ in rows}
            database.held |= held
        try:
            hold()
        finally:
            with database.lock:
                database.held -= held
                self._apply(rows)

    def _apply(self, rows: Sequence[_Staged]) -> None:
        """Check and change the rows in one moment; all or none."""
        with self._database.lock:
            self._check(rows)
            for change, before, after in rows:
                if change.unconditional or not same_row(before, after):
                    self._database.put(self._table(change.key.table), change.key, after)

    def _check(self, rows: Sequence[_Staged]) -> None:
        for change, before, _ in rows:
            table = self._table(change.key.table)
            if not change.unconditional and not same_row(table.get(change.key), before):
                raise Contended(f"a row of {change.key.table} is no longer what was read")
        busy = [change.key for change, _, _ in rows if self._place(change.key) in self._database.held]
        if busy:
            self._database.refused += 1
            raise Contended(f"another transaction is at a row of {busy[0].table}", busy)

    def _place(self, key: RowKey) -> tuple[_Table, str, str]:
        return self._table(key.table), key.pk, key.sk

    def _table(self, name: str) -> _Table:
        return self._database.table(name, self._generation)


class MemoryTables:
    """`ports.index.Tables` on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def make_lasting(self) -> None:
        self._database.make_lasting()

    def make(self, generation: int) -> None:
        self._database.make(generation)

    def drop(self, generation: int) -> None:
        self._database.drop(generation)


def _index_of(table: _Table, query: Query) -> _Order:
    try:
        return table.indexes[query.index or ""]
    except KeyError:
        raise ValueError(f"{query.table} has no index {query.index!r}") from None


def _is_transaction(rows: Sequence[_Staged]) -> bool:
    """Tell whether DynamoDB needs a transaction for it: for more than one row, or for a check alone."""
    return len(rows) > 1 or any(not change.unconditional and same_row(before, after) for change, before, after in rows)


def _stored_or_none(key: RowKey, attributes: Attributes | None) -> dict[str, Any] | None:
    check_key(key)
    return None if attributes is None else stored(key, attributes)


def _copy(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, dict | list) else value for name, value in row.items()}
