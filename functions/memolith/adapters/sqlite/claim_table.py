"""What notes claim, in a pack: a row a claim, with hashes of its key and its value, so that those that differ meet.

claim   doc and number of the statement: from 0 an observation, below 0 a relation, counted down from -1
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from memolith.core.graph.claims import Claim, of_observation, of_relation, own_subjects
from memolith.core.graph.grammar import Observation, Relation
from memolith.core.graph.note import Note
from memolith.ports.graph import ClaimRow

SCHEMA = """
CREATE TABLE claim (
  key INTEGER NOT NULL, doc INTEGER NOT NULL, number INTEGER NOT NULL, value INTEGER NOT NULL, free INTEGER NOT NULL,
  PRIMARY KEY (key, doc, number)
) WITHOUT ROWID;
CREATE INDEX claim_doc ON claim (doc);
"""

_KEYS = """
SELECT key, max(updated_at) FROM claim JOIN doc ON doc.id = claim.doc
WHERE key IN (SELECT key FROM claim GROUP BY key HAVING min(value) <> max(value))
GROUP BY key ORDER BY 2 DESC, key LIMIT ?
"""
_KEYS_AMONG = """
SELECT key, max(updated_at) FROM claim JOIN doc ON doc.id = claim.doc
WHERE key IN (
  SELECT mine.key FROM doc JOIN claim mine ON mine.doc = doc.id
  WHERE doc.memory_id IN (SELECT value FROM json_each(?))
  AND EXISTS (SELECT 1 FROM claim other WHERE other.key = mine.key AND other.value <> mine.value)
)
GROUP BY key ORDER BY 2 DESC, key LIMIT ?
"""
_STATEMENTS = """
SELECT memory_id, value, free, claim.number, o.line, o.category, o.text, o.tags, o.context, o.valid_since,
  o.valid_until, r.line, r.type, r.target, r.context
FROM claim JOIN doc ON doc.id = claim.doc
LEFT JOIN observation o ON o.doc = claim.doc AND o.number = claim.number
LEFT JOIN relation r ON r.doc = claim.doc AND r.number = -1 - claim.number
WHERE claim.key = ? ORDER BY updated_at DESC, doc.id, claim.number LIMIT ?
"""


def insert(connection: sqlite3.Connection, doc: int, path: str, note: Note) -> None:
    """Insert what a note claims."""
    subjects = own_subjects(path, note.title, note.permalink)
    for number, observation in enumerate(note.observations):
        _insert(connection, doc, number, of_observation(observation, subjects))
    for number, relation in enumerate(note.relations):
        _insert(connection, doc, -1 - number, of_relation(relation, subjects))


def differing(
    connection: sqlite3.Connection, limit: int, statements: int, among: Sequence[str] | None
) -> list[Sequence[ClaimRow]]:
    """Read some statements of each key that has several values, the newest notes' first. A query for each key."""
    found: list[Sequence[ClaimRow]] = []
    asked = (_KEYS, [limit]) if among is None else (_KEYS_AMONG, [json.dumps(among), limit])
    for key, _ in connection.execute(*asked).fetchall():
        found.append([_claim(row) for row in connection.execute(_STATEMENTS, [key, statements])])
    return found


def _claim(row: Sequence[Any]) -> ClaimRow:
    memory_id, value, free, number, *parts = row
    statement: Observation | Relation
    if number >= 0:
        line, category, text, tags, context, since, until = parts[:7]
        valid = None if since is None and until is None else (since, until)
        statement = Observation(line, category, text, tuple(json.loads(tags)), context, valid)
    else:
        statement = Relation(*parts[7:])
    return ClaimRow(memory_id, statement, value, bool(free))


def _insert(connection: sqlite3.Connection, doc: int, number: int, claims: Iterable[Claim]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO claim VALUES (?, ?, ?, ?, ?)",
        [(_hash(f"{one.subject}\n{one.key}"), doc, number, _hash(one.value), one.free) for one in claims],
    )


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), signed=True)
