"""Names that do not reach the store: temporary ones that programs write to and rename, and texts that are kept beside.

A name is looked at only where nothing of that name is in the store: what is there already is a memory, whatever it is
called. Some names only programs give (``.todo.md.swp``): these files stay in the working copy for good, and the mount
says so. Others a person may give as well (``.x.config``, ``plan.tmp``): these stay for as long as a program takes that
renames or deletes them, and are memories then, so that nothing is kept out in silence.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

STAYS_US = 60 * 1_000_000
"""So long a file named like a temporary one stays in the working copy, once it was left alone."""

_TEMPORARY = re.compile(
    r"""
      \.(.+\.)?sw[a-z]             # vim: .todo.md.swp, .swo, .swx; .swp of a buffer without a name
    | .+~                          # vim, emacs, nano and others: the backup
    | \#.+\# | \.\#.+             # emacs: auto-save, lock
    | \.goutputstream-[A-Z0-9]{6}  # GLib: gedit and others
    | .+___jb_(tmp|old|bak)___     # JetBrains
    | .+\.vsctmp                   # Visual Studio Code
    | \..+\.kate-swp               # Kate
    | \.~lock\..+\# | ~\$.+        # office programs
    | \.memolith-[0-9a-f]{16}      # memolith export
    | \.nfs[0-9a-f]+               # NFS: deleted while open
    | \.fuse_hidden[0-9a-f]+       # libfuse: deleted while open
    """,
    re.VERBOSE,
)
_PERHAPS = re.compile(
    r"""
      4913 | 5036 | 5159 | 5282    # vim: whether a file can be made here (src/bufwrite.c counts on by 123)
    | sed[A-Za-z0-9]{6}            # GNU sed -i (sed/execute.c)
    | \..+\.[A-Za-z0-9]{6}         # rsync: .todo.md.Xa81fQ
    | .+\.(tmp|temp)               # many: todo.md.tmp
    | .+\.tmp\.[0-9A-Za-z.]+       # todo.md.tmp.41.1763788000
    | tmp\.[A-Za-z0-9]{10}         # mktemp
    | tmp[a-z0-9_]{8}              # Python's tempfile
    | \.tmp[A-Za-z0-9]{6}          # Rust's tempfile
    | .+\.(?=.*[a-z])(?=.*[A-Z])[A-Za-z]{6}  # Qt's QSaveFile: todo.md.kWvXzQ
    """,
    re.VERBOSE,
)
_BESIDE = re.compile(r".+\.(conflict|refused|unsaved)-\d{8}T\d{6}Z(-\d+)?")


def is_local(path: str) -> bool:
    """Tell whether a new file of this path stays in the working copy: for good, or at first (`may_be_meant`)."""
    name = path.rpartition("/")[2]
    return any(pattern.fullmatch(name) for pattern in (_TEMPORARY, _PERHAPS, _BESIDE))


def may_be_meant(path: str) -> bool:
    """Tell whether a person may well give a file this name, though programs do: it stays for `STAYS_US` only."""
    name = path.rpartition("/")[2]
    return _PERHAPS.fullmatch(name) is not None and not any(one.fullmatch(name) for one in (_TEMPORARY, _BESIDE))


def why_local(path: str) -> str:
    """Explain to a person why a new file of this path is not in the store."""
    if may_be_meant(path):
        return "a temporary file could have this name: it becomes a memory once it was left alone for a minute"
    return "only a program's temporary file has such a name: it stays on this machine until it is renamed"


def is_kept(path: str) -> bool:
    """Tell whether this is the path of a text that was kept beside a file."""
    return _BESIDE.fullmatch(path.rpartition("/")[2]) is not None


def beside(path: str, why: str, now_us: int, taken: int = 0) -> str:
    """Return the path for a text kept beside the file at `path`: ``todo.md.conflict-20261122T052530Z``.

    Args:
        why: ``conflict``, ``refused`` or ``unsaved``.
        taken: how many such names of this second are taken already.
    """
    moment = datetime.fromtimestamp(now_us / 1_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{path}.{why}-{moment}" + (f"-{taken}" if taken else "")
