"""A pack that arrives piece by piece: a small one in memory, a large one in a file where there is a folder for it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from memolith.adapters.sqlite.database import SharedDatabase
from memolith.adapters.sqlite.pack import FORMAT, SqlitePack
from memolith.ports.packs import DamagedPack, Pack

IN_MEMORY_MAX_BYTES = 8_000_000
"""Smaller packs are in memory: a process may hold very many of them, and each file is opened four times."""

MAGIC = b"SQLite format 3\0"


class SqliteIncoming:
    """`ports.packs.IncomingPack`. What does not fit on the disk is in memory after all."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self._database: SharedDatabase | None = None
        self._file: IO[bytes] | None = None

    def write(self, piece: bytes) -> None:
        """Append the piece, to the file from a certain size on."""
        self._pieces.append(piece)
        self._size_bytes += len(piece)
        if self._folder is not None and self._size_bytes > IN_MEMORY_MAX_BYTES:
            try:
                self._write_out(self._file or self._begin_file(self._folder))
            except (OSError, sqlite3.Error):  # no room: what is there already is read back when it is opened
                self._folder = self._database = None

    def open(self) -> Pack:
        """Open it where it is: a file at once, what is in memory as long as copying it twice takes."""
        if self._database is not None:
            return _checked(self._database)
        if self._file is not None:
            self._file.seek(0)
            self._pieces.insert(0, self._file.read())
        return open_body(b"".join(self._pieces))

    def close(self) -> None:
        """Let go of the file; a pack that was opened keeps it."""
        self._database = None
        if self._file is not None:
            self._file.close()

    def _begin_file(self, folder: Path) -> IO[bytes]:
        self._file = file = NamedTemporaryFile(prefix="memolith-pack-", dir=folder, buffering=0, delete=False)  # noqa: SIM115 - `close` does
        try:
            self._database = SharedDatabase(Path(file.name))
        finally:
            Path(file.name).unlink()
        return file

    def _write_out(self, file: IO[bytes]) -> None:
        while self._pieces:
            rest = self._pieces[0][file.write(self._pieces[0]) :]
            self._pieces[:1] = [rest] if rest else []


def open_body(body: bytes) -> Pack:
    """Open a segment from its bytes, in memory. Raises DamagedPack."""
    if not body.startswith(MAGIC):
        raise DamagedPack("not a database")
    stored, database = sqlite3.connect(":memory:"), SharedDatabase()
    try:
        stored.deserialize(body)
        with database.write() as connection:
            stored.backup(connection)
    except sqlite3.Error as error:
        raise DamagedPack("not a database") from error
    finally:
        stored.close()
    return _checked(database)


def _checked(database: SharedDatabase) -> Pack:
    try:
        with database.read() as connection:
            (format,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        raise DamagedPack("not a database") from error
    if format != FORMAT:
        raise DamagedPack(f"of format {format}, not {FORMAT}")
    return SqlitePack(database)
