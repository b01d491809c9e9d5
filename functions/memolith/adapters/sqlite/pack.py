"""One pack as a SQLite database in memory.

    doc          a row a memory: what it is, its stems and its text, compressed
    words        FTS5 over the stems (t) and the names (n), without a copy of them: contentless

The stems are made outside, so that FTS5 parts them at blanks and does nothing else. A contentless index can only
forget a row that it is told word for word what it had (before SQLite 3.43, and Lambda has 3.40): that is why the stems
are kept. It has to know where each word stands (`detail=full`): with less, its ranking silently ranks nothing.
Source: https://www.sqlite.org/fts5.html, "Contentless Tables", "The detail Option".
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from memolith.ports.packs import DamagedPack, Document, Matching

FORMAT = 1
"""Another format, or other rules of taking a text apart, is another number: then packs are made anew."""

MAGIC = b"SQLite format 3\0"
PARAMETERS_MAX = 500
PARTED_MAX_DIFFERENCE = 1
COMPRESSION = 6

_SCHEMA = f"""
CREATE TABLE doc (
  id INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE, version_id TEXT NOT NULL, path TEXT NOT NULL,
  content_sha256 TEXT NOT NULL, content_size_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  names TEXT NOT NULL, length INTEGER NOT NULL, stems BLOB NOT NULL, content BLOB
);
CREATE INDEX doc_updated_at ON doc (updated_at);
CREATE INDEX doc_created_at ON doc (created_at);
CREATE VIRTUAL TABLE words USING fts5(t, n, content='', detail=full, tokenize="unicode61 remove_diacritics 0");
PRAGMA user_version = {FORMAT};
"""
_VOCABULARY = "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'words', 'col')"
_COLUMNS = (
    "id, memory_id, version_id, path, content_sha256, content_size_bytes, created_at, updated_at, names, length, stems"
)
_WITHIN = "((created_at >= :since AND created_at < :until) OR (updated_at >= :since AND updated_at < :until))"


class SqlitePack:
    """`ports.packs.Pack`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        with self._asking():
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(_VOCABULARY)

    @classmethod
    def new(cls) -> SqlitePack:
        """Make an empty segment."""
        connection = _connect()
        connection.executescript(_SCHEMA)
        return cls(connection)

    @classmethod
    def open(cls, body: bytes) -> SqlitePack:
        """Open a segment from its bytes. Raises DamagedPack."""
        if not body.startswith(MAGIC):
            raise DamagedPack("not a database")
        connection = _connect()
        try:
            connection.deserialize(body)
            (format,) = connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            connection.close()
            raise DamagedPack("not a database") from error
        if format != FORMAT:
            connection.close()
            raise DamagedPack(f"of format {format}, not {FORMAT}")
        return cls(connection)

    @property
    def size_bytes(self) -> int:
        """Its pages."""
        with self._asking() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
        return int(pages * size)

    def extent(self) -> tuple[int, float]:
        """Compute two figures from the rows."""
        with self._asking() as connection:
            count, length = connection.execute("SELECT count(*), coalesce(avg(length), 0) FROM doc").fetchone()
        return int(count), float(length)

    def heads(self, memory_ids: Sequence[str] | None = None) -> Mapping[str, str]:
        """Return versions by memory. One pass over the rows, or one query for some hundreds."""
        query = "SELECT memory_id, version_id FROM doc"
        with self._asking() as connection:
            if memory_ids is None:
                return dict(connection.execute(query).fetchall())
            found: dict[str, str] = {}
            for some in _parts(memory_ids):
                found |= dict(connection.execute(f"{query} WHERE memory_id IN ({_marks(some)})", some).fetchall())
            return found

    def sizes(self) -> Mapping[str, int]:
        """Return sizes by memory. One pass over the rows."""
        with self._asking() as connection:
            return dict(connection.execute("SELECT memory_id, content_size_bytes FROM doc").fetchall())

    def change(self, put: Sequence[Document], gone: Sequence[str]) -> None:
        """Apply the changes in one transaction."""
        with self._asking() as connection, connection:
            self._forget(connection, [*gone, *(document.memory_id for document in put)])
            for document in put:
                self._take_in(connection, document)

    def matching(self, wanted: Matching) -> list[str]:
        """Find memories with one query of FTS5, or of the rows where only a time is asked for."""
        parameters: dict[str, object] = {"limit": wanted.limit}
        conditions = []
        if wanted.interval is not None:
            parameters |= {"since": wanted.interval[0], "until": wanted.interval[1]}
            conditions.append(_WITHIN)
        if wanted.prefix is not None and wanted.prefix != "/":
            parameters |= {"first": wanted.prefix, "after": f"{wanted.prefix[:-1]}0"}
            conditions.append("(path >= :first AND path < :after)")
        if wanted.stems:
            parameters["match"] = _expression(wanted)
            found = "SELECT memory_id FROM words JOIN doc ON doc.id = words.rowid"
            conditions.append("words MATCH :match")
            order = "bm25(words, 1.0, 0.5)"
        elif wanted.interval is not None:
            found, order = "SELECT memory_id FROM doc", "updated_at DESC"
        else:
            return []
        found += f" WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT :limit"
        with self._asking() as connection:
            return [memory_id for (memory_id,) in connection.execute(found, parameters)]

    def frequencies(self, stems: Sequence[str]) -> Mapping[str, int]:
        """Count with one look into FTS5's own list of words for each."""
        return self._frequencies(stems, "t")

    def name_frequencies(self, names: Sequence[str]) -> Mapping[str, int]:
        """Count as `frequencies` does."""
        return self._frequencies(names, "n")

    def stems_like(self, stem: str) -> Mapping[str, int]:
        """Scan a range of FTS5's list of words."""
        first, shortest = stem[:1], len(stem) - PARTED_MAX_DIFFERENCE
        query = (
            "SELECT term, doc FROM temp.vocabulary WHERE term >= ? AND term < ? AND col = 't' "
            "AND length(term) BETWEEN ? AND ?"
        )
        after = chr(ord(first) + 1) if first else ""
        with self._asking() as connection:
            return dict(connection.execute(query, (first, after, shortest, len(stem) + PARTED_MAX_DIFFERENCE)))

    def documents(self, memory_ids: Sequence[str]) -> list[Document]:
        """Read the rows. One query for some hundreds."""
        return [_document(row) for row in self._rows(memory_ids)]

    def contents(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        """Read the texts. One query for some hundreds."""
        found: dict[str, str] = {}
        with self._asking() as connection:
            for some in _parts(memory_ids):
                query = (
                    f"SELECT memory_id, content FROM doc WHERE content IS NOT NULL AND memory_id IN ({_marks(some)})"
                )
                rows = connection.execute(query, some)
                found |= {memory_id: zlib.decompress(content).decode() for memory_id, content in rows}
        return found

    def to_bytes(self) -> bytes:
        """Merge FTS5's internal segments into one, which drops removed words, and rewrite every page."""
        with self._asking() as connection:
            with connection:
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            connection.execute("VACUUM")
            return bytes(connection.serialize())

    def close(self) -> None:
        """Close the database, which deletes it."""
        with self._lock:
            self._connection.close()

    # ---- rows -----------------------------------------------------------------------------------------------------

    def _rows(self, memory_ids: Sequence[str]) -> list[tuple[object, ...]]:
        found = []
        with self._asking() as connection:
            for some in _parts(memory_ids):
                query = f"SELECT {_COLUMNS} FROM doc WHERE memory_id IN ({_marks(some)})"
                found += connection.execute(query, some).fetchall()
        return found

    def _take_in(self, connection: sqlite3.Connection, document: Document) -> None:
        names, stems = " ".join(sorted(document.names)), _joined(document.passages)
        length = sum(map(len, document.passages))
        content = None if document.content is None else zlib.compress(document.content.encode(), COMPRESSION)
        row = (
            document.memory_id, document.version_id, document.path, document.content_sha256,
            document.content_size_bytes, document.created_at, document.updated_at, names, length,
            zlib.compress(stems.encode(), COMPRESSION), content,
        )  # fmt: skip
        id = connection.execute(
            "INSERT INTO doc (memory_id, version_id, path, content_sha256, content_size_bytes, created_at, updated_at, "
            "names, length, stems, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        connection.execute("INSERT INTO words (rowid, t, n) VALUES (?, ?, ?)", (id, stems, names))

    def _forget(self, connection: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
        for row in self._rows(memory_ids):
            id, names, stems = row[0], row[8], _decompressed(row[10])
            connection.execute("INSERT INTO words (words, rowid, t, n) VALUES ('delete', ?, ?, ?)", (id, stems, names))
            connection.execute("DELETE FROM doc WHERE id = ?", (id,))

    def _frequencies(self, words: Sequence[str], column: str) -> Mapping[str, int]:
        found = {}
        with self._asking() as connection:
            for word in dict.fromkeys(words):
                query = "SELECT doc FROM temp.vocabulary WHERE term = ? AND col = ?"
                row = connection.execute(query, (word, column)).fetchone()
                if row is not None:
                    found[word] = int(row[0])
        return found

    @contextmanager
    def _asking(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._connection
            except (sqlite3.Error, zlib.error, UnicodeDecodeError) as error:
                raise DamagedPack(type(error).__name__) from error


def _connect() -> sqlite3.Connection:
    """Connect; a transaction begins with the first change, and a segment goes from thread to thread, one at a time."""
    return sqlite3.connect(":memory:", check_same_thread=False)


def _expression(wanted: Matching) -> str:
    """Write the expression for FTS5, every word quoted, so that none of them is one of its operators."""
    any_stem = " OR ".join(f'"{stem}"' for stem in map(_plain, wanted.stems))
    if not wanted.names:
        return f"t : ({any_stem})"
    any_name = " OR ".join(f'"{name}"' for name in map(_plain, wanted.names))
    return f"t : ({any_stem}) AND n : ({any_name})"


def _plain(word: str) -> str:
    return word.replace('"', "")


def _joined(passages: tuple[tuple[str, ...], ...]) -> str:
    return "\n".join(" ".join(passage) for passage in passages)


def _decompressed(stems: object) -> str:
    if not isinstance(stems, bytes):
        raise zlib.error("no stems")
    return zlib.decompress(stems).decode()


def _document(row: Sequence[object]) -> Document:
    _, memory_id, version_id, path, content_sha256, size_bytes, created_at, updated_at, names, _, stems = row
    return Document(
        memory_id=str(memory_id),
        version_id=str(version_id),
        path=str(path),
        content_sha256=str(content_sha256),
        content_size_bytes=int(str(size_bytes)),
        created_at=int(str(created_at)),
        updated_at=int(str(updated_at)),
        passages=tuple(tuple(line.split()) for line in _decompressed(stems).split("\n")),
        names=frozenset(str(names).split()),
    )


def _parts(memory_ids: Sequence[str]) -> Iterator[list[str]]:
    ids = list(dict.fromkeys(memory_ids))
    for start in range(0, len(ids), PARAMETERS_MAX):
        yield ids[start : start + PARAMETERS_MAX]


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
