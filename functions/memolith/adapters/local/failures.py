"""What a machine refuses, in words that name the file, the cause and the remedy.

A full disk, a file that may not be written and a damaged database need three different things done. Each of them is an
`Unavailable`, which says that nothing was done; its hint is what to do.
"""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from memolith.ports.errors import Unavailable

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY_CODE = 0xFF
"""The low byte of an extended result code. Source: https://www.sqlite.org/rescode.html"""

DOCTOR = "`memolith doctor` looks at every file"


class DamagedDatabase(Unavailable):
    """A file of SQLite is not one any more, or has pages that make no sense. What is in it can be made anew."""


def refused(what: str, error: OSError, path: Path) -> Unavailable:
    """Describe what the file system refused. `path` is the file or folder that it is about."""
    cause, hint = explain(error, path)
    return Unavailable(what, cause=cause, hint=hint)


def explain(error: OSError, path: Path) -> tuple[str, str]:
    """Return the cause and the remedy of a refusal of the file system."""
    told = error.strerror or type(error).__name__
    if error.errno in _FULL:
        return f"no space left on the disk of {path}", "free some space; what comes after that succeeds by itself"
    if error.errno in _FORBIDDEN:
        return f"{told}: {path}", "give the user that runs Memolith the right to read and write it"
    if error.errno == errno.EIO:
        return f"{told}: {path}", f"the disk may be failing: copy the folder to another one; {DOCTOR}"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{told}: {path}", "raise the limit of open files (`ulimit -n`)"
    return f"{told}: {path}", DOCTOR


def database_refused(error: sqlite3.Error, path: Path) -> Unavailable:
    """Describe what SQLite refused, of which nothing was done."""
    code = primary_code(error)
    if code in _DAMAGED:
        hint = "end every `memolith serve` of this folder and start it again, which makes the file anew"
        return DamagedDatabase("the database is damaged", cause=f"{error}: {path}", hint=hint)
    if code == sqlite3.SQLITE_FULL:
        cause, hint = explain(OSError(errno.ENOSPC, ""), path)
        return Unavailable("the database cannot grow", cause=cause, hint=hint)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH):
        hint = "give the user that runs Memolith the right to read and write the folder and its files"
        return Unavailable("the database cannot be opened", cause=f"{error}: {path}", hint=hint)
    return Unavailable("the database does not answer", cause=f"{error}: {path}")


def primary_code(error: sqlite3.Error) -> int | None:
    """Return SQLite's result code; None where the module itself refused."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE
