"""The graph's tables in a pack: what notes are called, and their observations and relations.

    note          a row a memory that is Markdown
    name          what it is called, as keys (`core.graph.names`)
    relation      its relations, with the keys of their targets: which note a target means is found when that is asked
                  for, so that a link to a note that does not exist yet leads to it once it does
    observation   its observations
    claim         what these claim (`claim_table`)

All are keyed by the memory's row in ``doc`` and are removed with it.
"""

from __future__ import annotations

import json
import sqlite3
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from memolith.adapters.sqlite import claim_table
from memolith.adapters.sqlite.database import in_parts, marks
from memolith.core.graph.grammar import Observation, Relation
from memolith.core.graph.names import Rank, note_keys, target_key
from memolith.core.graph.note import TEXT_MAX_CHARS, Note
from memolith.core.graph.resolution import Named
from memolith.core.graph.valid_time import Interval
from memolith.ports.graph import ClaimRow, NoteRow, ObservationFilter

SCHEMA = f"""
{claim_table.SCHEMA}
CREATE TABLE note (
  doc INTEGER PRIMARY KEY, title TEXT NOT NULL, type TEXT NOT NULL, permalink TEXT, tags TEXT NOT NULL,
  valid_since INTEGER, valid_until INTEGER
);
CREATE TABLE name (
  key TEXT NOT NULL, doc INTEGER NOT NULL, rank INTEGER NOT NULL, PRIMARY KEY (key, doc)
) WITHOUT ROWID;
CREATE INDEX name_doc ON name (doc);
CREATE TABLE relation (
  doc INTEGER NOT NULL, number INTEGER NOT NULL, line INTEGER NOT NULL, type TEXT NOT NULL, target TEXT NOT NULL,
  key TEXT NOT NULL, context TEXT, PRIMARY KEY (doc, number)
) WITHOUT ROWID;
CREATE INDEX relation_key ON relation (key);
CREATE INDEX relation_type ON relation (type);
CREATE TABLE observation (
  doc INTEGER NOT NULL, number INTEGER NOT NULL, line INTEGER NOT NULL, category TEXT, text TEXT NOT NULL,
  tags TEXT NOT NULL, context TEXT, valid_since INTEGER, valid_until INTEGER, PRIMARY KEY (doc, number)
) WITHOUT ROWID;
CREATE INDEX observation_category ON observation (category);
"""
TABLES = ("note", "name", "relation", "observation", "claim")
_NOTE = (
    "SELECT memory_id, version_id, path, title, type, permalink, tags, created_at, updated_at, valid_since, "
    "valid_until FROM note JOIN doc ON doc.id = note.doc"
)
_RELATION = "SELECT memory_id, line, relation.type, target, context FROM relation JOIN doc ON doc.id = relation.doc"
_OBSERVATION = (
    "SELECT memory_id, line, category, text, observation.tags, context, observation.valid_since, "
    "observation.valid_until FROM observation JOIN doc ON doc.id = observation.doc "
    "JOIN note ON note.doc = observation.doc"
)


def insert(connection: sqlite3.Connection, doc: int, path: str, note: Note) -> None:
    """Insert a note's rows."""
    since, until = note.valid or (None, None)
    connection.execute(
        "INSERT INTO note VALUES (?, ?, ?, ?, ?, ?, ?)",
        (doc, note.title, note.type, note.permalink, json.dumps(note.tags, ensure_ascii=False), since, until),
    )
    names = [(key, doc, int(rank)) for key, rank in note_keys(path, note.title, note.permalink).items()]
    connection.executemany("INSERT INTO name (key, doc, rank) VALUES (?, ?, ?)", names)
    connection.executemany(
        "INSERT INTO relation VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (doc, number, one.line, _cut(one.type), _cut(one.target), target_key(one.target), _cut(one.context))
            for number, one in enumerate(note.relations)
        ],
    )
    connection.executemany(
        "INSERT INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                doc, number, one.line, _cut(one.category), _cut(one.text), json.dumps(one.tags, ensure_ascii=False),
                _cut(one.context), *(one.valid or (None, None)),
            )
            for number, one in enumerate(note.observations)
        ],
    )  # fmt: skip
    claim_table.insert(connection, doc, path, note)


def remove(connection: sqlite3.Connection, doc: object) -> None:
    """Remove a note's rows."""
    for table in TABLES:
        connection.execute(f"DELETE FROM {table} WHERE doc = ?", (doc,))


def notes(connection: sqlite3.Connection, memory_ids: Sequence[str]) -> list[NoteRow]:
    """Read notes. One query for some hundreds."""
    return [
        _note(row)
        for some in in_parts(memory_ids)
        for row in connection.execute(f"{_NOTE} WHERE memory_id IN ({marks(some)})", some)
    ]


def newest_notes(connection: sqlite3.Connection, limit: int, prefix: str | None) -> list[NoteRow]:
    """Read the notes that were changed last, by the index of that."""
    bounds = "" if prefix is None or prefix == "/" else "WHERE path >= :first AND path < :after"
    asked = {"limit": limit, "first": prefix, "after": None if prefix is None else f"{prefix[:-1]}0"}
    query = f"{_NOTE} {bounds} ORDER BY updated_at DESC, memory_id LIMIT :limit"
    return [_note(row) for row in connection.execute(query, asked)]


def named(connection: sqlite3.Connection, keys: Sequence[str]) -> Mapping[str, list[Named]]:
    """Look keys up. One query for some hundreds."""
    found: dict[str, list[Named]] = {}
    for some in in_parts(keys):
        query = (
            f"SELECT key, rank, path, memory_id FROM name JOIN doc ON doc.id = name.doc WHERE key IN ({marks(some)})"
        )
        for key, rank, path, memory_id in connection.execute(query, some):
            found.setdefault(key, []).append(Named(Rank(rank), path, memory_id))
    return found


def relations(
    connection: sqlite3.Connection, memory_ids: Sequence[str], limit: int, types: Sequence[str]
) -> list[tuple[str, Relation]]:
    """Read relations by their notes. One query for some hundreds."""
    return _relations(connection, "memory_id", memory_ids, "doc.id, number", limit, types)


def relations_to(
    connection: sqlite3.Connection, keys: Sequence[str], limit: int, types: Sequence[str]
) -> list[tuple[str, Relation]]:
    """Read relations by the keys of their targets. One query for some hundreds."""
    return _relations(connection, "relation.key", keys, "updated_at DESC, doc.id, number", limit, types)


def _relations(
    connection: sqlite3.Connection, column: str, values: Sequence[str], order: str, limit: int, types: Sequence[str]
) -> list[tuple[str, Relation]]:
    found = []
    for some in in_parts(values):
        within = f"WHERE {column} IN ({marks(some)}) {_of(types)}"
        query = f"{_RELATION} {within} ORDER BY {order} LIMIT ?"
        found += [_relation(row) for row in connection.execute(query, [*some, *types, limit])]
    return found[:limit]


def _of(types: Sequence[str]) -> str:
    """Write the condition for types. The plus keeps it from their index, which would read every note's relations."""
    return f"AND +relation.type IN ({marks(types)})" if types else ""


def relations_of_types(connection: sqlite3.Connection, types: Sequence[str], limit: int) -> list[tuple[str, Relation]]:
    """Read relations by their types."""
    query = f"{_RELATION} WHERE relation.type IN ({marks(types)}) ORDER BY updated_at DESC, doc.id, number LIMIT ?"
    return [_relation(row) for row in connection.execute(query, [*types, limit])]


def observations(connection: sqlite3.Connection, wanted: ObservationFilter) -> list[tuple[str, Observation]]:
    """Read observations. One query for some hundreds of memories."""
    conditions = ["1"]
    asked: list[object] = []
    if wanted.category is not None:
        conditions.append("category = ?")
        asked.append(wanted.category)
    if wanted.tag is not None:
        conditions.append("EXISTS (SELECT 1 FROM json_each(observation.tags) WHERE value = ?)")
        asked.append(wanted.tag)
    if wanted.valid_at is not None:
        for table in ("observation", "note"):
            conditions.append(f"coalesce({table}.valid_since, ?) <= ? AND ? < coalesce({table}.valid_until, ? + 1)")
            asked += [wanted.valid_at] * 4
    parts: list[list[str] | None] = [None] if wanted.memory_ids is None else list(in_parts(wanted.memory_ids))
    found: list[tuple[str, Observation]] = []
    for some in parts:
        within = "" if some is None else f"AND memory_id IN ({marks(some)})"
        query = (
            f"{_OBSERVATION} WHERE {' AND '.join(conditions)} {within} ORDER BY updated_at DESC, doc.id, number LIMIT ?"
        )
        rows = connection.execute(query, [*asked, *(some or ()), wanted.limit])
        found += [_observation(row) for row in rows]
    return found[: wanted.limit]


class GraphTables:
    """`ports.graph.GraphPack`, for the database that `_asking` gives."""

    @abstractmethod
    def _asking(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yield the database; turn what it raises into DamagedPack."""

    def notes(self, memory_ids: Sequence[str]) -> list[NoteRow]:
        with self._asking() as connection:
            return notes(connection, memory_ids)

    def newest_notes(self, limit: int, prefix: str | None = None) -> list[NoteRow]:
        with self._asking() as connection:
            return newest_notes(connection, limit, prefix)

    def named(self, keys: Sequence[str]) -> Mapping[str, list[Named]]:
        with self._asking() as connection:
            return named(connection, keys)

    def relations(self, memory_ids: Sequence[str], limit: int, types: Sequence[str] = ()) -> list[tuple[str, Relation]]:
        with self._asking() as connection:
            return relations(connection, memory_ids, limit, types)

    def relations_to(self, keys: Sequence[str], limit: int, types: Sequence[str] = ()) -> list[tuple[str, Relation]]:
        with self._asking() as connection:
            return relations_to(connection, keys, limit, types)

    def observations(self, wanted: ObservationFilter) -> list[tuple[str, Observation]]:
        with self._asking() as connection:
            return observations(connection, wanted)

    def claims_that_differ(
        self, limit: int, statements: int, among: Sequence[str] | None = None
    ) -> list[Sequence[ClaimRow]]:
        with self._asking() as connection:
            return claim_table.differing(connection, limit, statements, among)

    def relations_of_types(self, types: Sequence[str], limit: int) -> list[tuple[str, Relation]]:
        with self._asking() as connection:
            return relations_of_types(connection, types, limit)


def _note(row: Sequence[object]) -> NoteRow:
    memory_id, version_id, path, title, type, permalink, tags, created_at, updated_at, since, until = row
    return NoteRow(
        str(memory_id), str(version_id), str(path), str(title), str(type),
        None if permalink is None else str(permalink),
        tuple(json.loads(str(tags))), int(str(created_at)), int(str(updated_at)), _interval(since, until),
    )  # fmt: skip


def _relation(row: Sequence[object]) -> tuple[str, Relation]:
    memory_id, line, type, target, context = row
    return str(memory_id), Relation(int(str(line)), str(type), str(target), None if context is None else str(context))


def _observation(row: Sequence[object]) -> tuple[str, Observation]:
    memory_id, line, category, text, tags, context, since, until = row
    return str(memory_id), Observation(
        int(str(line)), None if category is None else str(category), str(text), tuple(json.loads(str(tags))),
        None if context is None else str(context), _interval(since, until),
    )  # fmt: skip


def _interval(since: object, until: object) -> Interval | None:
    if since is None and until is None:
        return None
    return None if since is None else int(str(since)), None if until is None else int(str(until))


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:TEXT_MAX_CHARS]
