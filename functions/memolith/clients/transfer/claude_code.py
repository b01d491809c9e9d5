"""Where Claude Code keeps the memory of a project, found as Claude Code finds it.

A project is a git repository: all its worktrees and folders share the memory that goes by the main worktree's path.
Outside of git it is the folder itself. Settings may name another folder; what a checkout says of itself counts only
where its owner has told Claude Code to trust it, for a cloned repository must not choose what is read.

Source: https://code.claude.com/docs/en/memory, and what release 2.1.330 tells its model of where its memory is, over
folders and settings of every kind.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memolith.clients.transfer.configuration import json_of

PROJECT_NAME_MAX_CHARS = 200
OWN_FILES = {
    ".consolidate-lock": "Claude Code's own lock: it says which of its runs tidied up here last",
    ".memory-sync": "Claude Code's own record of what it has synchronised",
}
"""What lies beside the memories and is none: by the beginning of its name."""

_MANAGED = (
    Path("/etc/claude-code/managed-settings.json"),
    Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
)
_SETTING = "autoMemoryDirectory"


@dataclass(frozen=True, slots=True)
class Located:
    """A project's memory: its folder, the project's name, and other folders that may hold memories of it."""

    folder: Path
    name: str
    beside: tuple[Path, ...] = ()


def locate(start: Path) -> Located:
    """Find the memory folder of the project that contains `start`; it need not exist yet.

    Args:
        start: any folder of the project, its folder among Claude Code's projects, or the memory folder itself.

    Raises:
        InvalidRequest: settings cannot be read.
    """
    start = start.expanduser().resolve()
    projects = _home() / "projects"
    if start.name == "memory" and start.parent.parent == projects:
        return Located(start, start.parent.name)
    if start.parent == projects:
        return Located(start / "memory", start.name)
    own = _git_root(start) or start
    root = _main_worktree(own)
    by_name = Path(os.environ.get("CLAUDE_CODE_REMOTE_MEMORY_DIR") or _home()) / "projects" / project_name(root)
    chosen, distrusted = _named_by_settings((start, own, root))
    chosen = chosen or by_name / "memory"
    others = {*distrusted, *_also_named((root, own, start), projects), by_name / "memory"}
    return Located(chosen, root.name, tuple(sorted(filter(_is_there, others - {chosen}))))


def _is_there(folder: Path) -> bool:
    """Tell whether a folder exists; False also for a name too long for the file system."""
    try:
        return folder.is_dir()
    except OSError:
        return False


def project_name(root: Path) -> str:
    """Return Claude Code's name for a project's folder: its path, with ``-`` for all but ASCII letters and digits.

    A character beyond U+FFFF becomes two, because JavaScript sees it as two. A long name is cut, and ends in a hash of
    the whole path.
    """
    name = "".join("-" * _utf16_units(char) if re.match(r"[^a-zA-Z0-9]", char) else char for char in str(root))
    if len(name) <= PROJECT_NAME_MAX_CHARS:
        return name
    return f"{name[:PROJECT_NAME_MAX_CHARS]}-{_hash36(str(root))}"


def _utf16_units(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1


def _hash36(text: str) -> str:
    """Sum 31**k times the UTF-16 units, as a signed number of 32 bits, without its sign and to base 36."""
    sum32 = 0
    units = text.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(units), 2):
        sum32 = (sum32 * 31 + int.from_bytes(units[at : at + 2], "little")) & 0xFFFFFFFF
    number = abs(sum32 - 0x1_0000_0000 if sum32 & 0x8000_0000 else sum32)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def _also_named(roots: tuple[Path, ...], projects: Path) -> Iterator[Path]:
    """Yield the names of the worktree alone, and of earlier releases: with underscores, dots, or another hash."""
    for root in roots:
        name, text = project_name(root), str(root)
        for spelt in (name, re.sub(r"[^a-zA-Z0-9_]", "-", text), re.sub(r"[^a-zA-Z0-9_.]", "-", text)):
            yield projects / spelt / "memory"
        if len(name) > PROJECT_NAME_MAX_CHARS:
            yield from (found / "memory" for found in projects.glob(f"{name[:PROJECT_NAME_MAX_CHARS]}-*"))


# ---- settings -------------------------------------------------------------------------------------------------------


def _home() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser().absolute()


def _named_by_settings(folders: tuple[Path, ...]) -> tuple[Path | None, list[Path]]:
    """Return the folder that settings name, if any; and those that only an untrusted checkout names."""
    override = _valid(os.environ.get("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"), home=False)
    if override is not None:
        return override, []
    for file in _MANAGED:
        if (named := _setting(file)) is not None:
            return named, []
    checkouts = (folder / ".claude" / name for name in ("settings.local.json", "settings.json") for folder in folders)
    by_checkout = [named for file in checkouts if (named := _setting(file)) is not None]
    if by_checkout and _trusted(folders):
        return by_checkout[0], []
    return _setting(_home() / "settings.json"), by_checkout


def _setting(file: Path) -> Path | None:
    return _valid(json_of(file).get(_SETTING), home=True)


def _valid(named: Any, *, home: bool) -> Path | None:
    """Return a folder given by its whole path, or by one below ``~/``; None for others, as Claude Code ignores them."""
    if not isinstance(named, str) or "\0" in named:
        return None
    if home and named.startswith("~/"):
        below = os.path.normpath(named[2:] or ".")
        if below in (".", "..") or below.startswith("../"):
            return None
        named = str(Path.home() / below)
    named = os.path.normpath(named)
    if not named.startswith("/") or named.startswith("//") or len(named) < 3:
        return None
    return Path(unicodedata.normalize("NFC", named))


def _trusted(folders: tuple[Path, ...]) -> bool:
    """Tell whether its owner has answered that a folder, or one that contains it, is to be trusted."""
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    record = json_of((Path(configured) if configured else Path.home()) / ".claude.json").get("projects")
    known = record if isinstance(record, dict) else {}
    asked = {str(path) for folder in folders for path in (folder, *folder.parents)}
    answers = (known[path] for path in asked if isinstance(known.get(path), dict))
    return any(answer.get("hasTrustDialogAccepted") is True for answer in answers)


# ---- git ------------------------------------------------------------------------------------------------------------


def _git_root(start: Path) -> Path | None:
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def _main_worktree(root: Path) -> Path:
    """Return the folder of the main worktree, or bare repository, that a worktree belongs to; for others, itself.

    A worktree's ``.git`` is a file that names its folder in the repository, which names it back; without the name back
    the file is not believed. Source: gitrepository-layout(5), git-worktree(1).
    """
    try:
        words = (root / ".git").read_text().split(maxsplit=1)
        if len(words) != 2 or words[0] != "gitdir:":
            return root
        own = (root / words[1].strip()).resolve()
        common = (own / (own / "commondir").read_text().strip()).resolve()
        back = (own / (own / "gitdir").read_text().strip()).resolve()
    except (OSError, UnicodeDecodeError):
        return root
    if own.parent != common / "worktrees" or back != (root / ".git").resolve():
        return root
    return common.parent if common.name == ".git" else common
