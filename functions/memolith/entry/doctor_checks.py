"""What `memolith doctor` looks at: one function a part of the folder or the machine, none of which changes anything."""

from __future__ import annotations

import ctypes.util
import http.client
import os
import platform
import shutil
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

from memolith import __version__
from memolith.adapters.local import is_open_elsewhere
from memolith.adapters.local.failures import explain, primary_code
from memolith.adapters.local.files import is_shared
from memolith.adapters.local.objects import OBJECTS, Look, look_at, look_at_file
from memolith.entry.laptop_files import ASIDE, SERVING, index_path, others, queue_path
from memolith.scanner.database import UnusableDatabaseError, load_matchers

HOST = "127.0.0.1"
LITTLE_BYTES, SCARCE_BYTES = 16_000_000, 200_000_000
TIMEOUT_S = 2.0
NAMED = 100
"""How many damaged objects a report names; all of them are counted."""

NEEDED = ("waitress", "hyperscan", "pydantic")
RESTART = "start `memolith serve`: it makes the file anew"
FIX = "end the server (`memolith serve --stop`) and run `memolith doctor --fix`"

NOT_OPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
"""What SQLite says of a file that it may not use, which is not damaged for that."""


class State(StrEnum):
    """How a part is: in order, worth knowing, or to be mended."""

    OK = "ok"
    NOTE = "note"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one part, and what to do if it is not in order."""

    part: str
    state: State
    found: str
    remedy: str = ""


@dataclass(slots=True)
class Looked:
    """Everything that was found out, and what a repair needs of it."""

    findings: list[Finding] = field(default_factory=list)
    unreadable: list[Path] = field(default_factory=list)
    broken: list[Path] = field(default_factory=list)
    served: bool = False


def examine(root: Path, port: int) -> Looked:
    """Look at all parts. Reads every object; takes about a second for ten thousand of them."""
    looked = Looked()
    parts: list[tuple[str, Callable[[], Finding | Iterable[Finding]]]] = [("folder", partial(_folder, root))]
    if is_folder(root):
        parts += [("disk", partial(_disk, root)), ("server", partial(_server, root, looked))]
        parts += [(name, partial(_database, name, path, looked)) for name, path in _databases(root)]
        parts += [("objects", partial(_objects, root, looked)), ("key", partial(_key, root))]
        parts += [("scanner", partial(_scanner, root)), ("set aside", partial(_set_aside, root))]
    looked.findings += _versions()
    for part, look in parts:
        looked.findings += _findings(part, root, look)
    looked.findings += [_port(port, served=looked.served), _fuse()]
    return looked


def is_folder(root: Path) -> bool:
    """Tell whether a folder is there that this user may see."""
    try:
        return root.is_dir()
    except OSError:
        return False


def _findings(part: str, root: Path, look: Callable[[], Finding | Iterable[Finding]]) -> Iterator[Finding]:
    """Look at one part; what the file system refuses is a finding, as in a folder of another user."""
    try:
        found = look()
        yield from [found] if isinstance(found, Finding) else found
    except OSError as error:
        yield Finding(part, State.ERROR, *explain(error, Path(error.filename or root)))


def look_again(root: Path, looked: Looked) -> Looked:
    """Look again at what a repair would move, once no server can begin: one may have run since, and changed it."""
    again = Looked()
    _server(root, again)
    for name, path in _databases(root):
        if path in looked.broken:
            _database(name, path, again)
    again.unreadable = [path for path in looked.unreadable if look_at_file(root, path) is Look.HEADER]
    return again


def _databases(root: Path) -> tuple[tuple[str, Path], ...]:
    return ("index", index_path(root)), ("queue", queue_path(root))


def _versions() -> Iterator[Finding]:
    python, sqlite = platform.python_version(), sqlite3.sqlite_version
    told = f"memolith {__version__}, Python {python}, SQLite {sqlite}, {sys.platform}"
    yield Finding("versions", State.OK, told)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        yield Finding("packages", State.ERROR, f"{', '.join(missing)} missing", "pip install '.[local]'")


def _folder(root: Path) -> Iterator[Finding]:
    """Try what every put needs: a new file, and a second name for it."""
    if not root.exists():
        yield Finding("folder", State.NOTE, f"{root} does not exist", "`memolith serve` makes it")
        return
    if not root.is_dir():
        yield Finding("folder", State.ERROR, f"{root} is not a folder", "choose another one with --root")
        return
    first, second = root / f".doctor-{uuid4().hex}", root / f".doctor-{uuid4().hex}"
    try:
        first.touch(0o600)
        os.link(first, second)
    except OSError as error:
        cause, hint = explain(error, root)
        yield Finding("folder", State.ERROR, cause, hint)
        return
    finally:
        for path in (first, second):
            with suppress(OSError):  # a file system that is read-only refuses this too
                path.unlink()
    open_to = root.stat().st_mode & 0o077
    if open_to:
        yield Finding("folder", State.NOTE, f"{root} is open to other users", f"chmod 700 {root}")
    else:
        yield Finding("folder", State.OK, f"{root} can be written, and is closed to other users")


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free
    told = f"{free / 1e6:,.0f} MB free on the disk of {root}"
    if free < LITTLE_BYTES:
        return Finding("disk", State.ERROR, told, "free some space: writes are refused, and succeed again after that")
    if free < SCARCE_BYTES:
        return Finding("disk", State.NOTE, told, "free some space soon")
    inodes = os.statvfs(root)
    if inodes.f_files and inodes.f_favail < 1_000:
        return Finding("disk", State.ERROR, f"{inodes.f_favail} files left on the disk of {root}", "remove files")
    return Finding("disk", State.OK, told)


def _server(root: Path, looked: Looked) -> Finding:
    foreign = [path for path in others(root) if is_open_elsewhere(path)]
    looked.served = bool(foreign) or is_shared(root / SERVING)
    if foreign:
        told = f"a server of another release has {foreign[0].name} open"
        return Finding("server", State.NOTE, told, "end it before you start one of this release")
    if looked.served:
        return Finding("server", State.OK, "a server of this release serves the folder")
    return Finding("server", State.OK, "none serves the folder")


def _database(name: str, path: Path, looked: Looked) -> Finding:
    """Read a database whole, without changing it, beside servers that use it."""
    if not path.exists():
        return Finding(name, State.OK, f"{path.name} is not there; the next start makes it")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=TIMEOUT_S)) as connection:
            answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if answer != "ok":
                raise sqlite3.DatabaseError(answer)
            buried = _dead_letters(connection) if name == "queue" else 0
    except sqlite3.Error as error:
        if path.is_file() and primary_code(error) in NOT_OPENED:
            told = f"{path} cannot be opened: {error}"
            return Finding(name, State.ERROR, told, "give the user that runs Memolith the right to read and write it")
        looked.broken.append(path)
        return Finding(name, State.ERROR, f"{path} is damaged: {error}", RESTART)
    if buried:
        looked.broken.append(path)  # a new queue requests the scans again that this one gave up
        told = f"{buried} messages were given up; the log said why"
        return Finding(
            name, State.NOTE, told, f"{FIX}: the next start projects every object and scans every text again"
        )
    return Finding(name, State.OK, f"{path.name} is whole, {path.stat().st_size / 1e6:,.1f} MB")


def _dead_letters(connection: sqlite3.Connection) -> int:
    try:
        return int(connection.execute("SELECT COUNT(*) FROM dead_letters").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def _objects(root: Path, looked: Looked) -> Iterator[Finding]:
    """Compare every object with its hashes."""
    count = damaged = refused = 0
    for path, look in look_at(root):
        count += 1
        if look is Look.WHOLE:
            continue
        refused += look is Look.REFUSED
        damaged += look in (Look.HEADER, Look.BODY)
        if look is Look.HEADER:
            looked.unreadable.append(path)
        if damaged + refused <= NAMED:
            yield _damaged(path, look, root)
    if refused:
        told = f"{refused} files or folders of objects may not be read, and were not compared"
        yield Finding("objects", State.ERROR, told, "give the user that runs Memolith the right to read them")
    if damaged:
        told = f"{damaged} of {count} objects are damaged; everything else is served"
        yield Finding("objects", State.ERROR, told, "restore them from a backup, if you have one")
    elif not refused:
        yield Finding("objects", State.OK, f"{count} objects, and each is what was put")


def _damaged(path: Path, look: Look, root: Path) -> Finding:
    told = f"{path}: {look.value}"
    if look is Look.FOREIGN:
        return Finding("objects", State.NOTE, told, "move it out of the folder")
    if look is Look.REFUSED:
        return Finding("objects", State.ERROR, told, "give the user that runs Memolith the right to read it")
    remedy = "copy the same file from a backup of the folder; without one, "
    kind = path.relative_to(root / OBJECTS).parts[1:2]
    if look is Look.BODY and kind == ("log",):
        remedy = (
            f"run `memolith repair --root {root}`: it restores the text where the search pack has it; else {remedy}"
        )
    if kind == ("store",):
        remedy += "its store is lost once the index has to be made anew: export the store now"
    elif look is Look.BODY:
        remedy += "the text of this version is lost, and no other"
    else:
        remedy += f"this version is lost, and no other; so that its memory can be written again, {FIX}"
    return Finding("objects", State.ERROR, told, remedy)


def _key(root: Path) -> Finding:
    path = root / "key"
    try:
        text = path.read_text().strip()
    except FileNotFoundError:
        return Finding("key", State.OK, "there is none yet; the next start makes one")
    except UnicodeDecodeError:
        return Finding("key", State.ERROR, f"{path} cannot be read", "start `memolith serve`: it makes a new one")
    if not text.startswith("sk-memolith-"):
        return Finding("key", State.ERROR, f"{path} holds no API key", "start `memolith serve`: it makes a new one")
    if path.stat().st_mode & 0o077:
        return Finding("key", State.ERROR, f"{path} can be read by other users", f"chmod 600 {path}")
    return Finding("key", State.OK, f"{path.name} holds an API key, and is closed to other users")


def _scanner(root: Path) -> Finding:
    path = root / "scanner.hsdb"
    if not path.exists():
        return Finding(
            "scanner", State.OK, "its patterns are not compiled yet; the next start does it, in some seconds"
        )
    try:
        load_matchers(path)
    except UnusableDatabaseError as error:
        return Finding("scanner", State.NOTE, f"{path.name} does not fit: {error}", RESTART)
    return Finding("scanner", State.OK, "its patterns are compiled for this machine")


def _set_aside(root: Path) -> Iterator[Finding]:
    files = [path for path in (root / ASIDE).rglob("*") if path.is_file()]
    if files:
        told = f"{len(files)} broken files in {root / ASIDE}"
        yield Finding("set aside", State.NOTE, told, "copy what you need out of it: the next erasure removes it")


def _port(port: int, *, served: bool) -> Finding:
    try:
        with closing(socket.create_connection((HOST, port), TIMEOUT_S)):
            pass
    except OSError:
        told = f"nothing listens on {HOST}:{port}" + ("; the server uses another port" if served else "")
        return Finding("port", State.OK, told)
    connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        ours, healthy = answer.getheader("x-memolith-region") is not None, answer.status == http.client.OK
    except (OSError, http.client.HTTPException):
        ours = healthy = False
    finally:
        connection.close()
    if not ours:
        told = f"another program listens on {HOST}:{port}"
        return Finding("port", State.ERROR, told, "end it, or choose another port with --port")
    if not healthy:
        return Finding(
            "port", State.ERROR, f"Memolith on {HOST}:{port} cannot use its index", "read its log, restart it"
        )
    return Finding("port", State.OK, f"Memolith answers on {HOST}:{port}")


def _fuse() -> Finding:
    wanting = [
        *(["libfuse"] if not (ctypes.util.find_library("fuse3") or ctypes.util.find_library("fuse")) else []),
        *(["/dev/fuse"] if sys.platform == "linux" and not Path("/dev/fuse").exists() else []),
        *(["mfusepy"] if find_spec("mfusepy") is None else []),
    ]
    if wanting:
        told = f"`memolith mount` lacks {', '.join(wanting)}; nothing else needs them"
        return Finding("FUSE", State.NOTE, told, "apt install fuse3; pip install '.[mount]'; or use `memolith sync`")
    return Finding("FUSE", State.OK, "`memolith mount` has what it needs")
