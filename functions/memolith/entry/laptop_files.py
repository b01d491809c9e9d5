"""The files of a laptop's folder: which of them can be made anew, who uses them, and how a broken one is set aside.

ROOT/objects/        the truth; never touched by a start
ROOT/index-….sqlite  made anew from the objects
ROOT/queue.sqlite    made anew, empty: what was in it is found in the objects; as nothing there says which versions were
                     scanned after their commit, all of them are scanned again
ROOT/serving.lock    held by every process that has the folder open, as servers have, an audit or a repair
ROOT/servers.lock    held by every server from its start on, in a way that the kernel tells which process it is
ROOT/set-aside/      broken files that were replaced, in a folder of the moment; gone with the next erasure
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from memolith.adapters.local import DamagedDatabase, Database, is_open_elsewhere
from memolith.adapters.local.failures import refused
from memolith.adapters.local.files import is_shared, locked, make_folder
from memolith.core.errors import Unavailable
from memolith.core.tables import TABLES

ASIDE = "set-aside"
SERVING = "serving.lock"
SERVERS = "servers.lock"
START = "start.lock"

_log = logging.getLogger(__name__)


def index_path(root: Path) -> Path:
    """Return the path of the tables' file. Other table definitions use another file, rebuilt from the objects."""
    shape = hashlib.sha256(repr(TABLES).encode()).hexdigest()[:8]
    return root / f"index-{shape}.sqlite"


def queue_path(root: Path) -> Path:
    """Return the path of the queue's file."""
    return root / "queue.sqlite"


def others(root: Path) -> list[Path]:
    """List the tables' files of releases whose tables differ from this one's."""
    return sorted(path for path in root.glob("index-*.sqlite") if path != index_path(root))


@contextmanager
def starting(root: Path) -> Iterator[None]:
    """Let one process at a time begin in a folder; say so if another one does, because it may take long."""
    if is_shared(root / START):
        _log.warning("another server begins in %s; this one waits for it", root)
    with locked(root / START):
        yield


def require_alone(root: Path) -> None:
    """Check that no server of a release whose tables differ serves this folder: neither would show the other's writes.

    Raises:
        Unavailable: one does.
    """
    for path in others(root):
        if is_open_elsewhere(path):
            raise Unavailable(
                "a server of another release of Memolith serves this folder",
                cause=f"it has {path} open",
                hint="end it, then start this one",
            )


class Databases(NamedTuple):
    """The databases of a folder that one process has open.

    Attributes:
        tables: the index.
        queue: what is to be done. If the power fails, its last changes are lost, never older ones without those.
        announced: the same file, for a key that is about to be put: on disk before the put, with all changes before it.
            Only what follows can be lost, so that the key is there until its version's scan is requested and on disk.
    """

    tables: Database
    queue: Database
    announced: Database


def open_databases(root: Path, moment: str) -> Databases:
    """Open the databases of a folder, each made anew where it is damaged. See `open_database`."""
    tables, queue = open_database(index_path(root), moment, durable=True), queue_path(root)
    return Databases(tables, open_database(queue, moment, durable=False), Database(queue, durable=True))


def open_database(path: Path, moment: str, *, durable: bool) -> Database:
    """Open a database that can be made anew; one that is damaged is set aside, and an empty one takes its place.

    Reads all of it. Call it while `starting`.

    Raises:
        Unavailable: it is damaged and another server uses it; or it cannot be opened, with the reason.
    """
    try:
        return _checked(path, durable)
    except DamagedDatabase as damaged:
        if is_shared(path.parent / SERVING):
            hint = "end every `memolith serve` of this folder, then start one, which makes the file anew"
            raise Unavailable(
                "a database is damaged, and another server uses it", cause=damaged.cause, hint=hint
            ) from damaged
        moved = set_aside(path.parent, family(path), moment)
        facts = {"reason": damaged.cause, "set_aside": str(moved)}
        _log.error("%s is damaged; an empty one takes its place", path, extra=facts)
        return _checked(path, durable)


def _checked(path: Path, durable: bool) -> Database:
    database = Database(path, durable=durable)
    try:
        database.check()
    except BaseException:
        database.close()
        raise
    return database


def family(path: Path) -> list[Path]:
    """List a database's files: itself, its log of writes, and the memory that its users share."""
    return [found for ending in ("", "-wal", "-shm") if (found := path.with_name(path.name + ending)).exists()]


def set_aside(root: Path, paths: list[Path], moment: str) -> Path:
    """Move files into a folder of the moment below `ASIDE`, which is returned. Raises OSError."""
    folder = root / ASIDE / moment
    make_folder(folder)
    for path in paths:
        target = folder / path.relative_to(root)
        make_folder(target.parent)
        path.replace(target)
    return folder


def forget_set_aside(root: Path) -> None:
    """Remove what was set aside: a copy of a broken file may hold what has just been erased.

    Raises:
        Unavailable: some of it cannot be removed, with the reason.
    """
    aside = root / ASIDE
    try:
        while aside.exists():
            with suppress(FileNotFoundError):  # another process removes the same files
                shutil.rmtree(aside)
    except OSError as error:
        raise refused("what was set aside cannot be removed", error, aside) from error


def remove_others(root: Path, keep: Callable[[str], bool]) -> None:
    """Remove the tables' files of other releases."""
    for other in root.glob("index-*"):
        if not keep(other.name):
            other.unlink(missing_ok=True)
