"""Files of a folder that are no memories: those that programs keep for themselves, and those that its owner names.

The patterns are those of ``.gitignore``: ours first, then those of ``.memolithignore`` in the folder itself, whose
``!.obsidian/`` takes one of ours back. A name is looked at only where the store has nothing of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.core.errors import InvalidRequest

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILE = ".memolithignore"
FILE_MAX_BYTES = 64 * 1024
LINES_MAX = 1_000

DRAFT = ".memolith-"
DRAFTS = DRAFT + "[0-9a-f]" * 16
"""Files that `memolith export` renames once they are whole; one that was killed leaves its own."""

DEFAULTS = (
    FILE,
    ".memolith/",
    DRAFTS,
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
    ".obsidian/",
    ".trash/",
    ".idea/",
    ".vscode/",
    "node_modules/",
    "__pycache__/",
    ".venv/",
)
IGNORED = f"ignored ({FILE} and the defaults; a line !NAME there takes it)"


class Ignore:
    """Which paths of a folder are ignored.

    Args:
        lines: patterns to add to the defaults; later ones count.
        there: paths that the store has, which are never ignored.

    Raises:
        InvalidRequest: a line is no pattern.
    """

    def __init__(self, lines: Iterable[str] = (), there: Iterable[str] = ()) -> None:
        self._spec = _spec([*DEFAULTS, *lines])
        self._there = {part for path in there for part in _with_folders(path)}

    def takes_out(self, path: str, *, folder: bool = False) -> bool:
        """Tell whether a path, from the folder's own root, is ignored; a folder with everything in it."""
        if path in self._there:
            return False
        return bool(self._spec.match_file(path.strip("/") + ("/" if folder else "")))

    @classmethod
    def of(cls, root: Path, there: Iterable[str] = ()) -> Ignore:
        """Read the folder's own patterns, where it has any.

        Raises:
            InvalidRequest: the file cannot be read, is too large, or has a line that is no pattern.
        """
        return cls.read(root / FILE, there)

    @classmethod
    def read(cls, file: Path, there: Iterable[str] = ()) -> Ignore:
        """Read patterns from a file, where there is one. Raises InvalidRequest as `of` does."""
        try:
            with file.open("rb") as opened:
                text = opened.read(FILE_MAX_BYTES + 1)
            lines = text.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
        except (FileNotFoundError, NotADirectoryError):
            return cls((), there)
        except OSError as error:
            raise InvalidRequest(FILE, f"{file} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InvalidRequest(FILE, f"{file} is not UTF-8 text") from error
        if len(text) > FILE_MAX_BYTES or len(lines) > LINES_MAX:
            raise InvalidRequest(FILE, f"{file} must have at most {LINES_MAX:,} lines and {FILE_MAX_BYTES:,} bytes")
        return cls(lines, there)


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines, backend="simple")  # another would compile the lines, for seconds
    except (ValueError, re.error) as error:  # the second for a range that is the wrong way around: [z-a]
        raise InvalidRequest(FILE, f"a line is no pattern as .gitignore has them: {error}") from error


def _with_folders(path: str) -> Iterable[str]:
    """Yield a path and every folder that it is in, without a slash at their ends."""
    parts = path.rstrip("/").split("/")
    return ("/".join(parts[:count]) for count in range(2, len(parts) + 1))
