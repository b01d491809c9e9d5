"""Names that never reach the store: temporary ones that programs write to and rename, and texts that are kept beside.

A name is looked at only where nothing of that name is in the store: what is there already is a memory, whatever it is
called.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_TEMPORARY = re.compile(
    r"""
      \..+\.sw[a-z]                # vim: .todo.md.swp, .swo, .swx
    | \.sw[a-z]                    # vim, a buffer without a name
    | .+~                          # vim and emacs: the backup
    | 4913 | 5036 | 5159 | 5282    # vim: whether a file can be made here (src/bufwrite.c counts on by 123)
    | \#.+\#                       # emacs: auto-save
    | sed[A-Za-z0-9]{6}            # GNU sed -i (sed/execute.c)
    | \..+\.[A-Za-z0-9]{6}         # rsync: .todo.md.Xa81fQ
    | \.goutputstream-[A-Z0-9]{6}  # GLib: gedit and others
    | .+\.tmp | .+\.temp | .+\.tmp\.[0-9A-Za-z.]+ # many: todo.md.tmp, todo.md.tmp.41.1763788000
    | tmp\.[A-Za-z0-9]{10}         # mktemp
    | tmp[a-z0-9_]{8}              # Python's tempfile
    | .+___jb_(tmp|old|bak)___     # JetBrains
    | \.nfs[0-9a-f]+               # NFS: deleted while open
    | \.fuse_hidden[0-9a-f]+       # libfuse: deleted while open
    | \.(.+)\.kate-swp             # Kate
    """,
    re.VERBOSE,
)
_BESIDE = re.compile(r".+\.(conflict|refused|unsaved)-\d{8}T\d{6}Z(-\d+)?")


def is_local(path: str) -> bool:
    """Whether a new file of this path stays on the desk."""
    name = path.rpartition("/")[2]
    return _TEMPORARY.fullmatch(name) is not None or _BESIDE.fullmatch(name) is not None


def is_kept(path: str) -> bool:
    """Whether this is the path of a text that was kept beside a file."""
    return _BESIDE.fullmatch(path.rpartition("/")[2]) is not None


def beside(path: str, why: str, now_us: int, taken: int = 0) -> str:
    """Where a text is kept beside the file at `path`: ``todo.md.conflict-20261122T052530Z``.

    Args:
        why: ``conflict``, ``refused`` or ``unsaved``.
        taken: how many such names of this second are taken already.
    """
    moment = datetime.fromtimestamp(now_us / 1_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{path}.{why}-{moment}" + (f"-{taken}" if taken else "")
