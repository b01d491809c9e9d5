"""One pack as a SQLite database in memory.

    doc          a row a memory: what it is, its stems and its text, compressed
    words        FTS5 over the stems (t) and the names (n), without a copy of them: contentless
    stem         in how many memories each stem is, and in how many it is a name
    property     what memories say of themselves, to filter by
    note, name, relation, observation, claim   the graph of notes (`graph_tables`)
    vector       what a model makes of each memory's passages, where there is a model (`vector_table`)

The stems are made outside, so that FTS5 parts them at blanks and does nothing else (``ascii`` leaves every letter
beyond ASCII alone). A contentless index can only forget a row that it is told word for word what it had (before SQLite
3.43, and Lambda has 3.40): that is why the stems are kept. It has to know where each word stands (`detail=full`): with
less, its ranking silently ranks nothing.
Source: https://www.sqlite.org/fts5.html, "Contentless Tables", "The detail Option".

A table that is derived from a memory's text is added in four places: to `_SCHEMA` with `doc` as the number of the
memory's row, to `_insert`, to `_forget` (or an erased text stays in it), and to `FORMAT`, so that older packs are made
again. `SqlitePack.change` is the only way in.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from memolith.adapters.sqlite import graph_tables, vector_table
from memolith.adapters.sqlite.database import SharedDatabase, in_parts, marks
from memolith.ports.packs import DamagedPack, Document, Matching, Restriction

FORMAT = 6
"""Another format, or other rules of taking a text apart, is another number: then packs are made anew."""

NEAR_TOKENS = 4
"""How far words that stand side by side may be apart in the index: some of them stand there with parts of them."""

COMPRESSION = 6
STEMS_MAX = 5_000
"""How many stems are offered that begin or end alike."""

_SCHEMA = f"""
CREATE TABLE doc (
  id INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE, version_id TEXT NOT NULL, path TEXT NOT NULL,
  content_sha256 TEXT NOT NULL, content_size_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  names TEXT NOT NULL, length INTEGER NOT NULL, stems BLOB NOT NULL, starts TEXT NOT NULL, content BLOB
);
CREATE INDEX doc_updated_at ON doc (updated_at);
CREATE INDEX doc_created_at ON doc (created_at);
CREATE TABLE stem (stem TEXT PRIMARY KEY, texts INTEGER NOT NULL, names INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE property (
  name TEXT NOT NULL, value TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (name, value, doc)
) WITHOUT ROWID;
CREATE INDEX property_doc ON property (doc);
CREATE VIRTUAL TABLE words USING fts5(t, n, content='', detail=full, tokenize="ascii");
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(1.0, 0.5)');
{graph_tables.SCHEMA}
{vector_table.SCHEMA}
PRAGMA user_version = {FORMAT};
"""
_COLUMNS = (
    "id, memory_id, version_id, path, content_sha256, content_size_bytes, created_at, updated_at, names, length, "
    "stems, starts"
)
_WITHIN = "((created_at >= :since AND created_at < :until) OR (updated_at >= :since AND updated_at < :until))"


class SqlitePack(graph_tables.GraphTables, vector_table.VectorTable):
    """`ports.packs.Pack`."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self._extent: tuple[int, float] | None = None
        self._size_bytes: int | None = None
        self.changes = 0

    @classmethod
    def new(cls) -> SqlitePack:
        """Make an empty segment."""
        database = SharedDatabase()
        with database.write() as connection:
            connection.executescript(_SCHEMA)
        return cls(database)

    @property
    def size_bytes(self) -> int:
        """Its pages."""
        if self._size_bytes is None:
            with self._asking() as connection:
                (pages,) = connection.execute("PRAGMA page_count").fetchone()
                (size,) = connection.execute("PRAGMA page_size").fetchone()
            self._size_bytes = int(pages * size)
        return self._size_bytes

    def extent(self) -> tuple[int, float]:
        """Compute two figures from the rows, once for each change."""
        if self._extent is None:
            with self._asking() as connection:
                count, length = connection.execute("SELECT count(*), coalesce(avg(length), 0) FROM doc").fetchone()
            self._extent = int(count), float(length)
        return self._extent

    def heads(self, memory_ids: Sequence[str] | None = None) -> Mapping[str, str]:
        """Return versions by memory. One pass over the rows, or one query for some hundreds."""
        query = "SELECT memory_id, version_id FROM doc"
        with self._asking() as connection:
            if memory_ids is None:
                return dict(connection.execute(query).fetchall())
            found: dict[str, str] = {}
            for some in in_parts(memory_ids):
                found |= dict(connection.execute(f"{query} WHERE memory_id IN ({marks(some)})", some).fetchall())
            return found

    def sizes(self) -> Mapping[str, int]:
        """Return sizes by memory. One pass over the rows."""
        with self._asking() as connection:
            return dict(connection.execute("SELECT memory_id, content_size_bytes FROM doc").fetchall())

    def cut(self, text_max_bytes: int) -> list[str]:
        """List them. One pass over the rows."""
        query = "SELECT memory_id FROM doc WHERE content_size_bytes <= ? AND content IS NULL"
        with self._asking() as connection:
            return [memory_id for (memory_id,) in connection.execute(query, (text_max_bytes,))]

    def change(self, put: Sequence[Document], gone: Sequence[str]) -> None:
        """Apply the changes in one transaction."""
        with self._changing() as connection, connection:
            counted: Counter[tuple[str, bool]] = Counter()
            _forget(connection, [*gone, *(document.memory_id for document in put)], counted)
            for document in put:
                _insert(connection, document, counted)
            _count(connection, counted)

    def matching(self, wanted: Matching) -> list[str]:
        """Find memories with one query of FTS5, or of the rows where only a time is asked for.

        Without a restriction FTS5 finds the best by itself and only their rows are read; with one, the rows of all that
        match are.
        """
        conditions, parameters = _conditions(wanted.within)
        parameters["limit"] = wanted.limit
        if wanted.interval is not None:
            parameters |= {"since": wanted.interval[0], "until": wanted.interval[1]}
            conditions.append(_WITHIN)
        if wanted.stems or wanted.near:
            parameters["match"] = _expression(wanted)
            if conditions:
                query = (
                    "SELECT memory_id FROM words JOIN doc ON doc.id = words.rowid "
                    f"WHERE words MATCH :match AND {' AND '.join(conditions)} ORDER BY rank LIMIT :limit"
                )
            else:
                query = (
                    "SELECT memory_id FROM (SELECT rowid AS id, rank AS worth FROM words WHERE words MATCH :match "
                    "ORDER BY rank LIMIT :limit) JOIN doc USING (id) ORDER BY worth"
                )
        elif wanted.interval is not None:
            query = f"SELECT memory_id FROM doc WHERE {' AND '.join(conditions)} ORDER BY updated_at DESC LIMIT :limit"
        else:
            return []
        with self._asking() as connection:
            return [memory_id for (memory_id,) in connection.execute(query, parameters)]

    def vectors_within(self, model: str, within: Restriction, limit: int) -> Mapping[str, bytes]:
        """Read rows with one query."""
        conditions, parameters = _conditions(within)
        query = (
            "SELECT memory_id, passages FROM vector JOIN doc ON doc.id = vector.doc "
            f"WHERE {' AND '.join(['model = :model', *conditions])} ORDER BY updated_at DESC LIMIT :limit"
        )
        with self._asking() as connection:
            return dict(connection.execute(query, {**parameters, "model": model, "limit": limit}).fetchall())

    def frequencies(self, stems: Sequence[str]) -> Mapping[str, int]:
        """Count with one query for some hundreds."""
        return self._frequencies(stems, "texts")

    def name_frequencies(self, names: Sequence[str]) -> Mapping[str, int]:
        """Count as `frequencies` does."""
        return self._frequencies(names, "names")

    def stems_from(self, beginning: str) -> Mapping[str, int]:
        """Scan a range of the stems."""
        return self._stems("stem >= ? AND stem < ?", beginning, f"{beginning}\U0010ffff")

    def stems_to(self, ending: str) -> Mapping[str, int]:
        """Scan all stems."""
        return self._stems("substr(stem, ?) = ? AND stem <> ?", -len(ending), ending, ending)

    def documents(self, memory_ids: Sequence[str]) -> list[Document]:
        """Read the rows. One query for some hundreds."""
        with self._asking() as connection:
            return [_document(row) for row in _rows(connection, memory_ids)]

    def contents(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        """Read the texts. One query for some hundreds."""
        found: dict[str, str] = {}
        with self._asking() as connection:
            for some in in_parts(memory_ids):
                query = f"SELECT memory_id, content FROM doc WHERE content IS NOT NULL AND memory_id IN ({marks(some)})"
                rows = connection.execute(query, some)
                found |= {memory_id: zlib.decompress(content).decode() for memory_id, content in rows}
        return found

    def copy(self) -> SqlitePack:
        """Copy page by page, beside other reads."""
        database = SharedDatabase()
        with self._asking() as source, database.write() as target:
            source.backup(target)
        return SqlitePack(database)

    def to_bytes(self) -> bytes:
        """Merge FTS5's internal segments into one, which drops removed words, and rewrite every page."""
        with self._changing() as connection:
            with connection:
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.execute("VACUUM")
            return bytes(connection.serialize())

    def close(self) -> None:
        """Close the database, which deletes it."""
        self._database.close()

    def _stems(self, condition: str, *parameters: object) -> Mapping[str, int]:
        query = f"SELECT stem, texts FROM stem WHERE {condition} AND texts > 0 LIMIT {STEMS_MAX}"
        with self._asking() as connection:
            return dict(connection.execute(query, parameters).fetchall())

    def _frequencies(self, words: Sequence[str], column: str) -> Mapping[str, int]:
        found: dict[str, int] = {}
        with self._asking() as connection:
            for some in in_parts(words):
                query = f"SELECT stem, {column} FROM stem WHERE {column} > 0 AND stem IN ({marks(some)})"
                found |= dict(connection.execute(query, some).fetchall())
        return found

    @contextmanager
    def _asking(self) -> Iterator[sqlite3.Connection]:
        with _damage_named(), self._database.read() as connection:
            yield connection

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        with _damage_named(), self._database.write() as connection:
            try:
                yield connection
            finally:
                self._extent = self._size_bytes = None
                self.changes += 1


@contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, zlib.error, UnicodeDecodeError) as error:
        raise DamagedPack(type(error).__name__) from error


# ---- rows -----------------------------------------------------------------------------------------------------------


def _rows(connection: sqlite3.Connection, memory_ids: Sequence[str]) -> list[tuple[object, ...]]:
    found = []
    for some in in_parts(memory_ids):
        query = f"SELECT {_COLUMNS} FROM doc WHERE memory_id IN ({marks(some)})"
        found += connection.execute(query, some).fetchall()
    return found


def _insert(connection: sqlite3.Connection, document: Document, counted: Counter[tuple[str, bool]]) -> None:
    names, stems = " ".join(sorted(document.names)), "\n".join(document.passages)
    content = None if document.content is None else zlib.compress(document.content.encode(), COMPRESSION)
    row = (
        document.memory_id, document.version_id, document.path, document.content_sha256,
        document.content_size_bytes, document.created_at, document.updated_at, names, document.length,
        zlib.compress(stems.encode(), COMPRESSION), " ".join(map(str, document.starts)), content,
    )  # fmt: skip
    id = connection.execute(
        "INSERT INTO doc (memory_id, version_id, path, content_sha256, content_size_bytes, created_at, updated_at, "
        "names, length, stems, starts, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    ).lastrowid
    connection.execute("INSERT INTO words (rowid, t, n) VALUES (?, ?, ?)", (id, stems, names))
    properties = [(name, value, id) for name, value in document.properties]
    connection.executemany("INSERT INTO property (name, value, doc) VALUES (?, ?, ?)", properties)
    if document.note is not None and id is not None:
        graph_tables.insert(connection, id, document.path, document.note)
    counted.update((stem, False) for stem in set(stems.split()))
    counted.update((name, True) for name in document.names)


def _forget(connection: sqlite3.Connection, memory_ids: Sequence[str], counted: Counter[tuple[str, bool]]) -> None:
    for row in _rows(connection, memory_ids):
        id, names, stems = row[0], str(row[8]), _decompressed(row[10])
        connection.execute("INSERT INTO words (words, rowid, t, n) VALUES ('delete', ?, ?, ?)", (id, stems, names))
        graph_tables.remove(connection, id)
        for table, column in (("property", "doc"), ("vector", "doc"), ("doc", "id")):
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (id,))
        counted.subtract((stem, False) for stem in set(stems.split()))
        counted.subtract((name, True) for name in names.split())


def _count(connection: sqlite3.Connection, counted: Mapping[tuple[str, bool], int]) -> None:
    """Add to the counts of stems and names; what no memory has any more is removed."""
    changed = [(word, 0 if is_name else by, by if is_name else 0) for (word, is_name), by in counted.items() if by]
    connection.executemany(
        "INSERT INTO stem (stem, texts, names) VALUES (?, ?, ?) "
        "ON CONFLICT (stem) DO UPDATE SET texts = texts + excluded.texts, names = names + excluded.names",
        changed,
    )
    less = [(word,) for word, texts, names in changed if texts < 0 or names < 0]
    connection.executemany("DELETE FROM stem WHERE stem = ? AND texts <= 0 AND names <= 0", less)


def _conditions(within: Restriction) -> tuple[list[str], dict[str, object]]:
    conditions: list[str] = []
    parameters: dict[str, object] = {}
    if within.prefix is not None and within.prefix != "/":
        parameters |= {"first": within.prefix, "after": f"{within.prefix[:-1]}0"}
        conditions.append("(path >= :first AND path < :after)")
    for column, interval in (("created_at", within.created), ("updated_at", within.updated)):
        if interval is not None:
            parameters |= {f"{column}_since": interval[0], f"{column}_until": interval[1]}
            conditions.append(f"({column} >= :{column}_since AND {column} < :{column}_until)")
    for number, (name, value) in enumerate(within.properties):
        parameters |= {f"name{number}": name, f"value{number}": value}
        conditions.append(f"doc.id IN (SELECT doc FROM property WHERE name = :name{number} AND value = :value{number})")
    return conditions, parameters


def _expression(wanted: Matching) -> str:
    """Write the expression for FTS5, every word quoted, so that none of them is one of its operators."""
    stems = (" AND " if wanted.every else " OR ").join(f'"{stem}"' for stem in map(_plain, wanted.stems))
    parts = [f"t : ({stems})"] if stems else []
    for group in wanted.near:
        quoted = " ".join(f'"{stem}"' for stem in map(_plain, group))
        parts.append(f"t : NEAR({quoted}, {NEAR_TOKENS * (len(group) + 1)})")
    if wanted.names:
        any_name = " OR ".join(f'"{name}"' for name in map(_plain, wanted.names))
        parts.append(f"n : ({any_name})")
    return " AND ".join(parts)


def _plain(word: str) -> str:
    return word.replace('"', "")


def _decompressed(stems: object) -> str:
    if not isinstance(stems, bytes):
        raise zlib.error("no stems")
    return zlib.decompress(stems).decode()


def _document(row: Sequence[Any]) -> Document:
    _, memory_id, version_id, path, content_sha256, size_bytes, created_at, updated_at, names, length, stems, starts = (
        row
    )
    return Document(
        memory_id=memory_id,
        version_id=version_id,
        path=path,
        content_sha256=content_sha256,
        content_size_bytes=size_bytes,
        created_at=created_at,
        updated_at=updated_at,
        passages=tuple(_decompressed(stems).split("\n")),
        starts=tuple(map(int, starts.split())),
        length=length,
        names=frozenset(names.split()),
    )
