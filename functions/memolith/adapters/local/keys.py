"""Where an object stands on disk: every key a path of its own, on any file system, and back.

Each part of a key becomes a folder, the last one a file whose name ends in ``@``, so that the object ``a`` and the
folder of ``a/b`` stand side by side. Whatever is not a lower-case letter, a digit, ``-``, ``_`` or an inner ``.`` is
written as the ``%xx`` of its UTF-8 bytes: names that differ stay different where case or Unicode form does not count,
and none is ``.``, ``..`` or hidden. Memolith's own keys come through unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote_to_bytes

NAME_MAX_BYTES = 255
"""What one name of a file may have. Source: limits.h of Linux and macOS."""

EMPTY = "%"
"""The part between two slashes that follow each other; no other part is written so."""

OBJECT_SUFFIX = "@"

_UNSAFE = re.compile(rb"[^a-z0-9_.-]|^\.")


def path_of(folder: Path, key: str) -> Path:
    """Return the file of an object. Raises ValueError for a key with a part longer than a name may be."""
    *folders, last = map(_written, key.split("/"))
    names = [*folders, last + OBJECT_SUFFIX]
    if max(map(len, names)) > NAME_MAX_BYTES:
        raise ValueError(f"on disk, each part of a key has at most {NAME_MAX_BYTES - 1} bytes as it is written")
    return folder.joinpath(*names)


def folder_of(folder: Path, prefix: str) -> tuple[Path, str]:
    """Return the deepest folder that has every key beginning with `prefix`, and the beginning that its keys share."""
    whole, slash, _ = prefix.rpartition("/")
    return (folder.joinpath(*map(_written, whole.split("/"))), whole + slash) if slash else (folder, "")


def part_of(name: str) -> tuple[str, bool]:
    """Return the part of a key that a file or folder name means, and whether it is an object."""
    is_object = name.endswith(OBJECT_SUFFIX)
    written = name.removesuffix(OBJECT_SUFFIX)
    return "" if written == EMPTY else unquote_to_bytes(written).decode(), is_object


def parts_of(names: Iterable[str]) -> list[tuple[str, bool]]:
    """Return what `part_of` says of each name, but for those that no part is written as: they are no files of ours."""
    found = []
    for name in names:
        with suppress(UnicodeError):
            part, is_object = part_of(name)
            if _written(part) + (OBJECT_SUFFIX if is_object else "") == name:
                found.append((part, is_object))
    return found


def key_of(folder: Path, path: Path) -> str | None:
    """Return the key of a file below `folder`; None for a file that is no object's."""
    *folders, last = path.relative_to(folder).parts
    try:
        parts = [*(part_of(name) for name in folders), part_of(last)]
        key = "/".join(part for part, _ in parts)
        return key if parts[-1][1] and path_of(folder, key) == path else None
    except ValueError:  # no key is written so: it is no UTF-8, or too long
        return None


def _written(part: str) -> str:
    return _UNSAFE.sub(lambda found: b"%%%02x" % found[0][0], part.encode()).decode() or EMPTY
