"""Where other programs keep their memories: Claude Code, Codex, Basic Memory.

Each is a folder of Markdown, so that importing is reading that folder, and exporting is writing into it; what differs
is how it is found, and what a new store is called after.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from memolith.clients.transfer import claude_code
from memolith.clients.transfer.configuration import json_of
from memolith.core.errors import InvalidRequest

_CODEX_OWN_FILES = {"phase2_workspace_diff.md": "Codex writes it anew whenever it consolidates"}


class Format(StrEnum):
    """Whose memories they are."""

    FOLDER = "folder"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    BASIC_MEMORY = "basic-memory"


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A folder of memories.

    Attributes:
        folder: where it is; it need not be there yet.
        name: what a new store of them is called.
        description: what an agent is told of such a store.
        program: whose place it is; empty for any other folder.
        beside: other folders that may hold memories of the same project, which are left alone.
        own_files: what the program keeps there for itself, by the beginning of its name; and why it is left out.
    """

    folder: Path
    name: str
    description: str = ""
    program: str = ""
    beside: tuple[Path, ...] = ()
    own_files: Mapping[str, str] = field(default_factory=dict)


def find(format: Format, what: str | None) -> KnownTool:
    """Find the tool's folder.

    Args:
        format: the tool.
        what: for a folder its path; for Claude Code any folder of the project (default: this one), or the memory
            folder itself; for Codex its home or memories folder; for Basic Memory a project's name or folder.

    Raises:
        InvalidRequest: the folder was not given, or there is no such project.
    """
    if format is Format.CLAUDE_CODE:
        return claude(Path(what or "."))
    if format is Format.CODEX:
        return codex(None if what is None else Path(what))
    if format is Format.BASIC_MEMORY:
        return basic_memory(what)
    if what is None:
        raise InvalidRequest("SOURCE", "say which folder or archive, or whose memories with --from")
    folder = Path(what).expanduser()
    return KnownTool(folder, folder.absolute().name or "Notes")


# ---- Claude Code ----------------------------------------------------------------------------------------------------


def claude(start: Path) -> KnownTool:
    """Find the memory of the project that contains `start` (see `claude_code.locate`)."""
    found = claude_code.locate(start)
    told = f"What Claude Code has learned in {found.name}."
    return KnownTool(found.folder, found.name, told, "Claude Code", found.beside, claude_code.OWN_FILES)


# ---- Codex ----------------------------------------------------------------------------------------------------------


def codex(where: Path | None) -> KnownTool:
    """Find Codex's memories: ``memories`` in its home, which is ``CODEX_HOME`` or ``~/.codex``."""
    home = where or Path(os.environ.get("CODEX_HOME") or "~/.codex")
    home = home.expanduser()
    folder = home / "memories" if (home / "memories").is_dir() or where is None else home
    told = "What Codex has learned on this machine."
    return KnownTool(folder, "Codex memories", told, "Codex", own_files=_CODEX_OWN_FILES)


# ---- Basic Memory ---------------------------------------------------------------------------------------------------


def basic_memory(what: str | None) -> KnownTool:
    """Find a project of Basic Memory by its configured name, or by its folder; by default its default project.

    Raises:
        InvalidRequest: there is no such project; the message names those that there are.
    """
    config = json_of(_basic_home() / "config.json")
    projects = config.get("projects")
    known = {name: _project_path(one) for name, one in projects.items()} if isinstance(projects, dict) else {}
    name = what or str(config.get("default_project") or "main")
    path = known.get(name)
    if path is not None:
        return _basic_place(Path(path).expanduser(), name)
    if what is not None and ("/" in what or Path(what).is_dir()):
        folder = Path(what).expanduser()
        return _basic_place(folder, folder.absolute().name)
    names = ", ".join(sorted(known)) or "none"
    asked = "--from" if what is None else "SOURCE"
    raise InvalidRequest(asked, f"Basic Memory has no project {name} (it has: {names}); or name its folder")


def _basic_home() -> Path:
    """Return the folder of Basic Memory's configuration.

    Source: ``resolve_data_dir`` of Basic Memory 0.23.
    """
    if named := os.environ.get("BASIC_MEMORY_CONFIG_DIR"):
        return Path(named).expanduser()
    configured = os.environ.get("XDG_CONFIG_HOME")
    return Path(configured) / "basic-memory" if configured else Path("~/.basic-memory").expanduser()


def _project_path(project: Any) -> str | None:
    """Return a project's path. Older configurations have the path alone; for a project in the cloud, its copy here."""
    if not isinstance(project, dict):
        return project if isinstance(project, str) and project else None
    path, copy = project.get("path"), project.get("local_sync_path") or project.get("cloud_sync_path")
    if isinstance(path, str) and Path(path).expanduser().is_absolute():
        return path
    return copy if isinstance(copy, str) and copy else None


def _basic_place(folder: Path, name: str) -> KnownTool:
    return KnownTool(folder, name, f"Basic Memory's notes of {name}.", "Basic Memory")
