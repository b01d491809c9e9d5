"""The tables of one region in one SQLite database: a table of SQL for each of `memolith.core.tables`, in each
generation.

A row is its two keys and its attributes as JSON; beside them stand, as columns of their own, only what a global index
orders by and what says when a row expires. Global indexes are indexes of SQL, and so never behind the table.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memolith.adapters.limits import after_all, check_changes, check_key, check_query, same_row, stored, wanted
from memolith.adapters.local.database import Database
from memolith.adapters.local.failures import DamagedDatabase
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.tables import BY_NAME, PARTITION_KEY, SORT_KEY, TABLES, GlobalIndex, Table
from memolith.ports.errors import Contended
from memolith.ports.index import Change, Found, Query, RowMap

KEYS_PER_STATEMENT = 500
"""A statement of SQLite may have 999 values, in its older releases."""


class LocalIndex:
    """`ports.index.Index` on one generation of the tables in a `Database`."""

    def __init__(self, database: Database, generation: int = 1) -> None:
        self._database = database
        self._generation = generation

    @property
    def generation(self) -> int:
        return self._generation

    def at(self, generation: int) -> LocalIndex:
        """Return the same database in another generation."""
        return LocalIndex(self._database, generation)

    def read(self, keys: Sequence[RowKey]) -> RowMap:
        """Read those of the rows that exist, all of them of one moment. A statement for each partition."""
        partitions: dict[tuple[str, str], dict[str, RowKey]] = {}
        for key in keys:
            check_key(key)
            partitions.setdefault((key.table, key.pk), {})[key.sk] = key
        found: dict[RowKey, Attributes] = {}
        with self._database.reading() as connection:
            for (name, pk), wanted in partitions.items():
                for sk, row in self._table(BY_NAME[name]).rows(connection, pk, list(wanted)):
                    found[wanted[sk]] = row
        return found

    def query(self, query: Query) -> Sequence[Found]:
        """Return rows in order of the sort key; rows with one sort key in an index, in order of their own keys."""
        check_query(query)
        table = self._table(BY_NAME[query.table])
        statement, values = table.selection(query)
        with self._database.reading() as connection:
            rows = connection.execute(statement, values).fetchall()
        return [
            Found(RowKey(query.table, pk, sk), sort, wanted(query, _row_of(attributes)))
            for pk, sk, sort, attributes in rows
        ]

    def count(self, table: str, pk: str) -> int:
        """Count the rows of the partition."""
        name = self._table(check_key(RowKey(table, pk, "any"))).name
        with self._database.reading() as connection:
            return int(connection.execute(f"SELECT COUNT(*) FROM {name} WHERE pk = ?", (pk,)).fetchone()[0])

    def commit(self, changes: Sequence[Change]) -> None:
        """Commit in one transaction, isolated from all others. Raises Contended, Unavailable, OutcomeUnknown."""
        check_changes(changes)
        rows = [
            (
                change,
                self._table(check_key(change.key)),
                _kept(change.key, change.before),
                _kept(change.key, change.after),
            )
            for change in changes
        ]
        with self._database.writing() as connection:
            for change, table, before, _ in rows:
                if not change.unconditional and not same_row(table.row(connection, change.key), before):
                    raise Contended(f"a row of {change.key.table} is no longer what was read")
            for change, table, before, after in rows:
                if change.unconditional or not same_row(before, after):
                    table.put(connection, change.key, after)

    def _table(self, table: Table) -> _SqlTable:
        return _SqlTable(table, self._generation)


class LocalTables:
    """`ports.index.Tables` in a `Database`; also does what DynamoDB does by itself with rows that expire."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def made(self) -> bool:
        """Tell whether any table was ever made here. Raises Unavailable."""
        with self._database.reading() as connection:
            return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None

    def make_lasting(self) -> None:
        """Make those tables outside the generations that are missing. Raises as `make`."""
        self._make([table for table in TABLES if not table.generational], 0)

    def make(self, generation: int) -> None:
        """Make every table that is missing, those outside the generations too. Raises Unavailable, OutcomeUnknown."""
        self._make(TABLES, generation)

    def drop(self, generation: int) -> None:
        """Drop the generation's tables. Raises Unavailable, OutcomeUnknown."""
        with self._database.writing() as connection:
            for table in TABLES:
                if table.generational:
                    connection.execute(f"DROP TABLE IF EXISTS {_SqlTable(table, generation).name}")

    def _make(self, tables: Iterable[Table], generation: int) -> None:
        with self._database.writing() as connection:
            for table in tables:
                for statement in _SqlTable(table, generation).definition():
                    connection.execute(statement)

    def expire(self, now_s: int) -> None:
        """Delete rows whose time was up before `now_s` in the tables outside the generations. Raises as `drop`."""
        with self._database.writing() as connection:
            for table in TABLES:
                if table.expires_attribute is not None and not table.generational:
                    name = _SqlTable(table, 0).name
                    connection.execute(f"DELETE FROM {name} WHERE {table.expires_attribute} < ?", (now_s,))


@dataclass(frozen=True, slots=True)
class _SqlTable:
    """One table of one generation, in SQL."""

    table: Table
    generation: int

    @property
    def name(self) -> str:
        return f"{self.table.name}_g{self.generation}" if self.table.generational else self.table.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes that have a column of their own."""
        ordered = {part for one in self.table.indexes for part in (one.partition_key, one.sort_key)}
        expires = {self.table.expires_attribute} if self.table.expires_attribute else set()
        return tuple(sorted((ordered | expires) - {PARTITION_KEY, SORT_KEY}))

    def definition(self) -> list[str]:
        """Return the statements that make the table and its indexes where they are missing."""
        columns = "".join(f", {name}" for name in self.columns)
        keys = "pk TEXT NOT NULL, sk TEXT NOT NULL, attributes TEXT NOT NULL"
        statements = [f"CREATE TABLE IF NOT EXISTS {self.name} ({keys}{columns}, PRIMARY KEY (pk, sk)) WITHOUT ROWID"]
        for one in self.table.indexes:
            place = ", ".join(dict.fromkeys((one.partition_key, one.sort_key, PARTITION_KEY, SORT_KEY)))
            statements.append(f"CREATE INDEX IF NOT EXISTS {self.name}_{one.name} ON {self.name} ({place})")
        return statements

    def row(self, connection: sqlite3.Connection, key: RowKey) -> dict[str, Any] | None:
        """Return the row's attributes, or None."""
        statement = f"SELECT attributes FROM {self.name} WHERE pk = ? AND sk = ?"
        found = connection.execute(statement, (key.pk, key.sk)).fetchone()
        return None if found is None else _row_of(found[0])

    def rows(self, connection: sqlite3.Connection, pk: str, wanted: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the rows of a partition that are there, with their sort keys."""
        for begin in range(0, len(wanted), KEYS_PER_STATEMENT):
            some = wanted[begin : begin + KEYS_PER_STATEMENT]
            places = ", ".join("?" * len(some))
            statement = f"SELECT sk, attributes FROM {self.name} WHERE pk = ? AND sk IN ({places})"
            for sk, attributes in connection.execute(statement, (pk, *some)):
                yield sk, _row_of(attributes)

    def put(self, connection: sqlite3.Connection, key: RowKey, row: Attributes | None) -> None:
        """Replace a row; None deletes it."""
        if row is None:
            connection.execute(f"DELETE FROM {self.name} WHERE pk = ? AND sk = ?", (key.pk, key.sk))
            return
        values = (key.pk, key.sk, json.dumps(row, separators=(",", ":")), *(row.get(name) for name in self.columns))
        places = ", ".join("?" * len(values))
        connection.execute(f"INSERT OR REPLACE INTO {self.name} VALUES ({places})", values)

    def selection(self, query: Query) -> tuple[str, list[Any]]:
        """Write the query's SQL and its values. Raises ValueError for an index that the table does not have.

        One bound at each end: of two, SQLite seeks to the first alone, and reads all rows up to the second.
        """
        order = self._order(query.index)
        partition, sort = order.partition_key, order.sort_key
        lower, upper = (">=", query.prefix), ("<", after_all(query.prefix))
        if query.after is not None and query.descending:
            upper = ("<", query.after if upper[1] is None else min(upper[1], query.after))
        elif query.after is not None and query.after >= query.prefix:
            lower = (">", query.after)
        bounds = [(sign, bound) for sign, bound in (lower, upper) if bound is not None]
        conditions = [f"{partition} = ?", *(f"{sort} {sign} ?" for sign, _ in bounds)]
        values = [query.pk, *(bound for _, bound in bounds)]
        direction = " DESC" if query.descending else ""
        places = ", ".join(place + direction for place in dict.fromkeys((sort, PARTITION_KEY, SORT_KEY)))
        statement = f"SELECT pk, sk, {sort}, attributes FROM {self.name} WHERE {' AND '.join(conditions)}"
        return f"{statement} ORDER BY {places} LIMIT ?", [*values, query.limit]

    def _order(self, index: str | None) -> GlobalIndex:
        if index is None:
            return GlobalIndex("", PARTITION_KEY, SORT_KEY)
        for one in self.table.indexes:
            if one.name == index:
                return one
        raise ValueError(f"{self.table.name} has no index {index!r}")


def _kept(key: RowKey, attributes: Attributes | None) -> dict[str, Any] | None:
    return None if attributes is None else stored(key, attributes)


def _row_of(text: str) -> dict[str, Any]:
    """Parse a row's attributes. Raises DamagedDatabase: SQLite has no checksums, and may give what nobody wrote."""
    try:
        row: dict[str, Any] = json.loads(text)
    except ValueError as error:
        hint = "end the server and run `memolith doctor --fix`, which has the index made anew"
        raise DamagedDatabase("a row of the index is damaged", cause="a row that is no JSON", hint=hint) from error
    return row
