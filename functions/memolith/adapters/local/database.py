"""One SQLite file, used by any number of threads and processes at once.

Readers see a snapshot and never wait; writers take turns (``BEGIN IMMEDIATE``), each waiting up to `WAIT_S`.
A transaction is durable when it returns unless the database was opened with ``durable=False``: then it outlives the
process, but the last moments may be missing after the machine itself stopped. What is deleted is overwritten; copies of
it stay in the log of writes until that is emptied (`forget`).
Source: https://www.sqlite.org/wal.html, https://www.sqlite.org/pragma.html#pragma_secure_delete
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from memolith.adapters.local.failures import DamagedDatabase, database_refused, primary_code, refused
from memolith.adapters.local.files import PRIVATE_FILE, locked, make_folder
from memolith.ports.errors import OutcomeUnknown

WAIT_S = 10.0


class Database:
    """Connections to one file: as many as were ever used at the same moment, kept until `close`."""

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path = path
        self._synchronous = "FULL" if durable else "NORMAL"
        self._free: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        make_folder(path.parent)
        with locked(path.with_suffix(".lock")), self._mapped():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
            connection = self._connect()
            connection.execute("PRAGMA journal_mode = WAL")
            self._free.append(connection)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a snapshot: everything committed before its first statement, and nothing after. Raises Unavailable."""
        with self._connection() as connection, self._mapped():
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open one transaction: committed when the block ends, nothing done when it raises.

        Raises:
            Unavailable: the database is busy, full or damaged, or a table is missing; nothing was done.
            OutcomeUnknown: the commit itself failed.
        """
        with self._connection() as connection:
            with self._mapped():
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    _roll_back(connection)
                    raise
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                _roll_back(connection)
                if primary_code(error) == sqlite3.SQLITE_FULL:  # the log of writes had no room for all of it
                    raise database_refused(error, self._path) from error
                raise OutcomeUnknown("the commit failed", cause=f"{error}: {self._path}") from error

    def forget(self) -> None:
        """Empty the log of writes, as far as no reader needs it, so that nothing deleted is left in it.

        Raises:
            Unavailable: not done now.
        """
        with self._connection() as connection, self._mapped():
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check(self) -> None:
        """Read every page, and compare the tables' and indexes' forms. Takes a second for a few hundred megabytes.

        Raises:
            DamagedDatabase: a page makes no sense. Unavailable: not done now.
        """
        with self.reading() as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found is None or found[0] != "ok":
            told = "unknown" if found is None else found[0]
            raise DamagedDatabase("the database is damaged", cause=f"{told}: {self._path}")

    def close(self) -> None:
        """Close the connections that are not in use."""
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._free.pop() if self._free else None
        if connection is None:
            with self._mapped():
                connection = self._connect()
        try:
            yield connection
        finally:
            if connection.in_transaction:
                connection.close()
            else:
                with self._lock:
                    self._free.append(connection)

    def _connect(self) -> sqlite3.Connection:
        """Open a connection that any thread may use, one at a time, with transactions begun and ended by hand."""
        connection = sqlite3.connect(self._path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA secure_delete = 1")
        return connection

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        """Translate what SQLite refuses before a commit: nothing was changed."""
        try:
            yield
        except sqlite3.Error as error:
            raise database_refused(error, self._path) from error
        except OSError as error:
            raise refused("the database cannot be opened", error, self._path) from error


def is_open_elsewhere(path: Path) -> bool:
    """Tell whether any other connection to this database is open, in whatever process, idle ones too.

    For one that writes ahead holds a shared lock on the file as long as it is open, which an exclusive one meets.
    Source: https://www.sqlite.org/pragma.html#pragma_locking_mode
    """
    try:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return False


def _roll_back(connection: sqlite3.Connection) -> None:
    """End the transaction, which SQLite may have ended itself; one that will not end is closed with its connection."""
    with suppress(sqlite3.Error):
        connection.execute("ROLLBACK")
