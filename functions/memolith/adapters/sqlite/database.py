"""A SQLite database of this process alone, in its memory or in a file, that many threads read at once.

Connections to one name of SQLite's ``memdb`` share one database. Each thread that reads has a connection of its own,
so that searches run side by side: SQLite lets go of the interpreter while it works. A change has the database for
itself, which this class sees to, as ``memdb`` would answer a reader that comes meanwhile with SQLITE_BUSY.
Source: https://www.sqlite.org/src/file/src/memdb.c (since SQLite 3.36).

A database that arrives is written to a file once, and read from there: the copies that one in memory needs cost more
than its transfer. The file has lost its name by then, so that it is gone with its process however that ends, and all of
its connections are made before.
"""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

PARAMETERS_MAX = 500
"""How many values one statement names: older builds of SQLite take 999."""

IDLE_MAX = 8
"""How many connections are kept for reads to come; each has a cache of up to 2 MB."""

MAPPED_MAX_BYTES = 2**30
"""How much of a file is read where the system has it, instead of being copied page by page for each connection: all of
any. Nobody else can shorten the file meanwhile, as it has no name."""

READERS_OF_A_FILE = 3
"""How many read from a file at once; others wait. One call has one or two, and each is an open file."""

_numbers = itertools.count()


class SharedDatabase:
    """One database, empty at first."""

    def __init__(self, file: Path | None = None) -> None:
        """Make it in memory, or in an empty file, whose name is not needed afterwards; it may be filled by hand before
        the first read.

        Raises:
            sqlite3.Error: the file cannot be opened.
        """
        self._name = f"file:/memolith-pack-{next(_numbers)}?vfs=memdb" if file is None else f"{file.as_uri()}?nolock=1"
        self._named = file is None
        self._idle: list[sqlite3.Connection] = []
        self._writer = self._connect()
        self._idle += [self._connect() for _ in range(0 if self._named else READERS_OF_A_FILE)]
        if not self._named:  # a file beside it could not be found again, and nothing has to outlive the process
            self._writer.executescript("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        self._turn = threading.Condition()
        self._reading = 0
        self._writing = False
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to read with, beside other readers. Not to be used within `write`."""
        with self._turn:
            self._turn.wait_for(lambda: not self._writing and (self._idle or self._named or self._closed))
            if self._closed:
                raise sqlite3.ProgrammingError("the database is closed")
            self._reading += 1
            connection = self._idle.pop() if self._idle else None
        try:
            connection = connection or self._connect()
            yield connection
        finally:
            with self._turn:
                self._reading -= 1
                if connection is not None and len(self._idle) < IDLE_MAX and not self._closed:
                    self._idle.append(connection)
                elif connection is not None:
                    connection.close()
                self._turn.notify_all()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection that changes the database, once no one reads; readers wait until it is given back."""
        with self._turn:
            self._turn.wait_for(lambda: not self._writing)
            self._writing = True
            self._turn.wait_for(lambda: not self._reading)
        try:
            yield self._writer
        finally:
            with self._turn:
                self._writing = False
                self._turn.notify_all()

    def close(self) -> None:
        """Close it, which deletes it once the last reader is done. Repeatable."""
        with self.write() as connection:
            self._closed = True
            for idle in self._idle:
                idle.close()
            self._idle.clear()
            connection.close()

    def __del__(self) -> None:
        """Close it once its last user has dropped it. A connection is a cycle, which Python would find much later."""
        with suppress(AttributeError):  # it was never made
            for connection in (*self._idle, self._writer):
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._name, uri=True, check_same_thread=False)
        connection.execute("PRAGMA temp_store = MEMORY")
        if not self._named:
            connection.execute(f"PRAGMA mmap_size = {MAPPED_MAX_BYTES}")
        return connection


def in_parts(values: Sequence[str]) -> Iterator[list[str]]:
    """Yield the distinct values, as many at a time as one statement may name."""
    distinct = list(dict.fromkeys(values))
    for start in range(0, len(distinct), PARAMETERS_MAX):
        yield distinct[start : start + PARAMETERS_MAX]


def marks(values: Sequence[str]) -> str:
    """Return a placeholder for each value."""
    return ", ".join("?" * len(values))
