"""Where the tool's paths stand in a store: `/memories` is the root, `/memories/a/b` is the memory at `/a/b`."""

from __future__ import annotations

import posixpath

from memolith.core.limits import PATH_MAX_BYTES
from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.texts import ToolFailure

ROOT = "/memories"
MEMORY_SCHEME = "memory://"
"""What Basic Memory's addresses of notes begin with."""


def place(path: object) -> str:
    """Return the store's path, `""` for the root itself; resolve `.`, `..`, doubled and trailing slashes.

    `memories/a` is taken for `/memories/a`, as agents write it that know Basic Memory.

    Raises:
        ToolFailure: not under `/memories`, no text, or longer than any path. The SDK takes `/memoriesfoo/x` for
            `/memories/foo/x`, which is not copied.
    """
    path = texts.text(path, "path")
    if path == ROOT[1:] or path.startswith(f"{ROOT[1:]}/"):
        path = f"/{path}"
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolFailure(texts.PREFIX.format(path=path))
    resolved = posixpath.normpath(f"{ROOT}/{path[len(ROOT) :].lstrip('/')}")
    if resolved != ROOT and not resolved.startswith(f"{ROOT}/"):
        raise ToolFailure(texts.ESCAPE.format(path=path))
    if len(resolved.encode()) > len(ROOT) + PATH_MAX_BYTES:  # the SDK raises InvalidURL for one of 65,537 characters
        raise ToolFailure(texts.REFUSED.format(reason=f"path: must be at most {PATH_MAX_BYTES} bytes of UTF-8"))
    return resolved[len(ROOT) :]


def note_place(path: str) -> str:
    """Return the store's path of a note, as `place` does; a path without a leading slash is taken as below the root.

    `memory://a` is `a`. Raises ToolFailure as `place`.
    """
    named = path.removeprefix(MEMORY_SCHEME)
    if named.startswith(("/", f"{ROOT[1:]}/")) or named == ROOT[1:]:
        return place(named)
    return place(f"{ROOT}/{named}")


def is_within(path: str, folder: str) -> bool:
    """Tell whether `path` is in `folder`, at any depth; both as the store has them."""
    return path.startswith(f"{folder}/")
