"""What has been seen and what is still owed, on disk: a replicator that was killed goes on where it stopped.

One SQLite file. An object version is recorded once, with one row for each bucket it is owed to; the row goes when the
copy is there. Between the copy and the row's removal a crash makes the copy a second time: at least once, as in S3.
A version that no rule named when it was seen is recorded as seen and never copied, as in S3.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class ObjectVersion(NamedTuple):
    """One version of an object: where it stands, and when it was written (milliseconds since 1970)."""

    bucket: str
    key: str
    version_id: str
    written_ms: int


@dataclass(frozen=True, slots=True)
class Owed:
    """A version and a bucket that it must still be copied to; ``sequence`` is the order of being seen."""

    sequence: int
    version: ObjectVersion
    destination: str


_SCHEMA = """
CREATE TABLE IF NOT EXISTS seen (bucket TEXT, key TEXT, version_id TEXT, PRIMARY KEY (bucket, key, version_id))
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owed (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, bucket TEXT, key TEXT, version_id TEXT, written_ms INTEGER,
  destination TEXT, UNIQUE (bucket, key, version_id, destination));
CREATE TABLE IF NOT EXISTS copied (bucket TEXT, destination TEXT, key TEXT, PRIMARY KEY (bucket, destination, key))
  WITHOUT ROWID;
"""


class Ledger:
    """The file. Safe to share between threads; each call is one transaction.

    Cost: tens of microseconds a call. Nothing is forced to the disk, so it survives the process, not a power cut.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.executescript(_SCHEMA)

    def record(self, found: Iterable[tuple[ObjectVersion, Sequence[str]]]) -> list[Owed]:
        """Record versions with the buckets each is owed to; returns what is new: a version seen before owes nothing."""
        new: list[Owed] = []
        with self._lock, self._db:
            self._db.execute("BEGIN")
            for version, destinations in found:
                inserted = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", version[:3]).rowcount
                for destination in destinations if inserted else ():
                    cursor = self._db.execute(
                        "INSERT INTO owed (bucket, key, version_id, written_ms, destination) VALUES (?, ?, ?, ?, ?)",
                        (*version, destination),
                    )
                    new.append(Owed(int(cursor.lastrowid or 0), version, destination))
        return new

    def unseen(self, versions: Iterable[ObjectVersion]) -> list[ObjectVersion]:
        """Return those of the versions that are not recorded yet."""
        with self._lock:
            query = "SELECT 1 FROM seen WHERE bucket = ? AND key = ? AND version_id = ?"
            return [version for version in versions if self._db.execute(query, version[:3]).fetchone() is None]

    def copied_before(self, owed: Owed) -> bool:
        """Tell whether some version of the key has been copied to this bucket already."""
        query = "SELECT 1 FROM copied WHERE bucket = ? AND destination = ? AND key = ?"
        with self._lock:
            row = self._db.execute(query, (owed.version.bucket, owed.destination, owed.version.key)).fetchone()
        return row is not None

    def settle(self, owed: Owed, *, copied: bool) -> None:
        """Remove what was owed: the copy is there, or there is nothing left to copy."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM owed WHERE sequence = ?", (owed.sequence,))
            if copied:
                values = (owed.version.bucket, owed.destination, owed.version.key)
                self._db.execute("INSERT OR IGNORE INTO copied VALUES (?, ?, ?)", values)

    def outstanding(self) -> list[Owed]:
        """List everything still owed, in the order of being seen."""
        query = "SELECT sequence, bucket, key, version_id, written_ms, destination FROM owed ORDER BY sequence"
        with self._lock:
            rows = self._db.execute(query).fetchall()
        return [Owed(row[0], ObjectVersion(*row[1:5]), row[5]) for row in rows]

    @property
    def empty(self) -> bool:
        """Whether nothing was ever seen: a new ledger."""
        with self._lock:
            return self._db.execute("SELECT 1 FROM seen LIMIT 1").fetchone() is None
