"""Where other programs keep their memories: Claude Code, Codex, Basic Memory.

Each is a folder of Markdown, so that importing is reading that folder, and exporting is writing into it; what differs
is how it is found, and what a new store is called after.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from cairn.core.errors import InvalidRequest

_PROJECT_NAME_MAX_CHARS = 200


class Format(StrEnum):
    """Whose memories they are."""

    FOLDER = "folder"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    BASIC_MEMORY = "basic-memory"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of memories.

    Attributes:
        folder: where it is; it need not be there yet.
        name: what a new store of them is called.
        description: what an agent is told of such a store.
        beside: other folders that may hold memories of the same project, which are left alone.
    """

    folder: Path
    name: str
    description: str = ""
    beside: tuple[Path, ...] = ()


def find(format: Format, what: str | None) -> Place:
    """The place that is meant.

    Args:
        format: whose it is.
        what: for a folder its path; for Claude Code any folder of the project (default: this one), or the memory
            folder itself; for Codex its home or memories folder; for Basic Memory a project's name or folder.

    Raises:
        InvalidRequest: it was not said which, or there is no such project.
    """
    if format is Format.CLAUDE_CODE:
        return claude_code(Path(what or "."))
    if format is Format.CODEX:
        return codex(None if what is None else Path(what))
    if format is Format.BASIC_MEMORY:
        return basic_memory(what)
    if what is None:
        raise InvalidRequest("SOURCE", "say which folder or archive, or whose memories with --from")
    folder = Path(what).expanduser()
    return Place(folder, folder.absolute().name or "Notes")


# ---- Claude Code ----------------------------------------------------------------------------------------------------


def claude_code(start: Path) -> Place:
    """The memory folder of the project that `start` lies in.

    A project is a git repository: all its worktrees and folders share the memory that goes by the main worktree's path;
    outside of git it is the folder itself.
    Source: https://code.claude.com/docs/en/memory
    """
    start = start.expanduser().resolve()
    if start.name == "memory" and start.parent.parent == _claude_projects():
        return _claude_place(start, start.parent.name)
    if start.parent == _claude_projects():
        return _claude_place(start / "memory", start.name)
    own = _git_root(start) or start
    root = _main_worktree(own)
    chosen = _claude_directory() or _claude_projects() / _existing(project_name(root)) / "memory"
    others = {_claude_projects() / name / "memory" for path in (root, own, start) for name in _spellings(path)}
    beside = tuple(sorted(folder for folder in others - {chosen} if folder.is_dir()))
    return _claude_place(chosen, root.name, beside)


def project_name(root: Path) -> str:
    """What Claude Code calls the folder of a project: its path, with ``-`` for all but ASCII letters and digits."""
    return re.sub(r"[^a-zA-Z0-9]", "-", str(root))


def _spellings(root: Path) -> set[str]:
    """Also as earlier releases had it, which left underscores or dots as they are."""
    text = str(root)
    return {project_name(root), re.sub(r"[^a-zA-Z0-9_]", "-", text), re.sub(r"[^a-zA-Z0-9_.]", "-", text)}


def _existing(name: str) -> str:
    """A long name is cut, and has a hash at its end that is known only from the folder that has it."""
    if len(name) <= _PROJECT_NAME_MAX_CHARS:
        return name
    cut = name[:_PROJECT_NAME_MAX_CHARS]
    found = sorted(folder.name for folder in _claude_projects().glob(f"{cut}-*"))
    if len(found) != 1:
        raise InvalidRequest(
            "SOURCE", f"{len(found)} folders of {_claude_projects()} begin with {cut}-: name the memory folder itself"
        )
    return found[0]


def _claude_place(folder: Path, name: str, beside: tuple[Path, ...] = ()) -> Place:
    return Place(folder, name, f"What Claude Code has learned in {name}.", beside)


def _claude_home() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser().absolute()


def _claude_projects() -> Path:
    return _claude_home() / "projects"


def _claude_directory() -> Path | None:
    """The folder that this person's settings name instead, if they do."""
    settings = _json(_claude_home() / "settings.json")
    named = settings.get("autoMemoryDirectory")
    return Path(named).expanduser() if isinstance(named, str) and named else None


def _git_root(start: Path) -> Path | None:
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def _main_worktree(root: Path) -> Path:
    """The folder of the main worktree, or of the bare repository, that a worktree belongs to; itself, for any other.

    A worktree's ``.git`` is a file that names its folder in the repository, which names it back: what is not named back
    is not believed. Source: gitrepository-layout(5), git-worktree(1).
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


# ---- Codex ----------------------------------------------------------------------------------------------------------


def codex(where: Path | None) -> Place:
    """Codex's memories: ``memories`` in its home, which is ``CODEX_HOME`` or ``~/.codex``."""
    home = where or Path(os.environ.get("CODEX_HOME") or "~/.codex")
    home = home.expanduser()
    folder = home / "memories" if (home / "memories").is_dir() or where is None else home
    return Place(folder, "Codex memories", "What Codex has learned on this machine.")


# ---- Basic Memory ---------------------------------------------------------------------------------------------------


def basic_memory(what: str | None) -> Place:
    """A project of Basic Memory by its name, as its configuration has it, or by its folder; by default its default one.

    Raises:
        InvalidRequest: there is no such project; the message names those that there are.
    """
    if what is not None and ("/" in what or Path(what).is_dir()):
        folder = Path(what).expanduser()
        return _basic_place(folder, folder.absolute().name)
    file = Path(os.environ.get("BASIC_MEMORY_CONFIG_DIR") or "~/.basic-memory").expanduser() / "config.json"
    config = _json(file)
    projects = config.get("projects")
    known = {name: _project_path(one) for name, one in projects.items()} if isinstance(projects, dict) else {}
    name = what or str(config.get("default_project") or "main")
    path = known.get(name)
    if path is None:
        names = ", ".join(sorted(known)) or "none"
        raise InvalidRequest("SOURCE", f"Basic Memory has no project {name} (it has: {names}); or name its folder")
    return _basic_place(Path(path).expanduser(), name)


def _project_path(project: Any) -> str | None:
    """Older configurations have the path alone, newer ones a record."""
    path = project.get("path") if isinstance(project, dict) else project
    return path if isinstance(path, str) and path else None


def _basic_place(folder: Path, name: str) -> Place:
    return Place(folder, name, f"Basic Memory's notes of {name}.")


def _json(file: Path) -> dict[str, Any]:
    """What a configuration says; nothing, where there is none. Raises InvalidRequest for one that makes no sense."""
    try:
        read = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidRequest("", f"{file} cannot be read: {error}") from error
    return read if isinstance(read, dict) else {}
