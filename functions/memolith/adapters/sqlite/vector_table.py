"""The vectors in a pack: of each memory those of its passages, one behind the other, and which model made them."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from memolith.adapters.sqlite.database import in_parts, marks

SCHEMA = "CREATE TABLE vector (doc INTEGER PRIMARY KEY, model TEXT NOT NULL, passages BLOB NOT NULL);"


class VectorTable:
    """`ports.vectors.VectorPack`. They are removed with their memory's row (`SqlitePack.change`)."""

    @abstractmethod
    def _asking(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yield a connection to read with."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yield the connection that changes the pack."""

    def without_vectors(self, model: str, limit: int) -> list[str]:
        """Look through the rows, by the index of their times."""
        query = (
            "SELECT memory_id FROM doc LEFT JOIN vector ON vector.doc = doc.id AND vector.model = :model "
            "WHERE vector.doc IS NULL AND content IS NOT NULL ORDER BY updated_at DESC LIMIT :limit"
        )
        with self._asking() as connection:
            return [id for (id,) in connection.execute(query, {"model": model, "limit": limit})]

    def put_vectors(self, model: str, encoded: Mapping[str, bytes]) -> None:
        """Put rows, all or none."""
        rows = [(model, vectors, id) for id, vectors in encoded.items()]
        with self._changing() as connection, connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vector (doc, model, passages) SELECT id, ?, ? FROM doc WHERE memory_id = ?",
                rows,
            )

    def vectors(self, model: str, memory_ids: Sequence[str]) -> Mapping[str, bytes]:
        """Read rows. One query for some hundreds."""
        found: dict[str, bytes] = {}
        with self._asking() as connection:
            for some in in_parts(memory_ids):
                query = (
                    "SELECT memory_id, passages FROM vector JOIN doc ON doc.id = vector.doc "
                    f"WHERE model = ? AND memory_id IN ({marks(some)})"
                )
                found |= dict(connection.execute(query, (model, *some)).fetchall())
        return found
