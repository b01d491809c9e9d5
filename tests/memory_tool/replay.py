"""What is said to the SDK's own memory tool on a folder and to ours on a store, and how their answers are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from memolith.wire.memory_tool.places import ROOT
from tests.memory_tool.conftest import Said, say

Command = Mapping[str, Any]
PATH_PARAMETERS = ("path", "old_path", "new_path")

SESSION: tuple[Command, ...] = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/a.md", "file_text": "one\ntwo\nthree\n"},
    {"command": "create", "path": "/memories/a.md", "file_text": "again"},
    {"command": "create", "path": "/memories/d/e/deep.md", "file_text": "x" * 1025},
    {"command": "create", "path": "/memories/d/empty", "file_text": ""},
    {"command": "create", "path": "/memories/d/.hidden", "file_text": "not shown"},
    {"command": "create", "path": "/memories/d", "file_text": "a directory is there"},
    {"command": "create", "path": "/etc/passwd", "file_text": "x"},
    {"command": "create", "path": "/memories/../../x", "file_text": "x"},
    {"command": "view", "path": "/memories/"},
    {"command": "view", "path": "/memories/a.md"},
    {"command": "view", "path": "/memories/a.md", "view_range": [2, -1]},
    {"command": "view", "path": "/memories/a.md", "view_range": [0, 2]},
    {"command": "view", "path": "/memories/a.md", "view_range": [9, 12]},
    {"command": "view", "path": "/memories/d/empty"},
    {"command": "view", "path": "/memories/none"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "two", "new_str": "2\nzwei — é"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "e", "new_str": "E"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "absent", "new_str": ""},
    {"command": "str_replace", "path": "/memories/none", "old_str": "a", "new_str": "b"},
    {"command": "str_replace", "path": "/memories/d", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "top\n\n"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 5, "insert_text": "end"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": "/memories/d/empty", "insert_line": 0, "insert_text": "first"},
    {"command": "insert", "path": "/memories/none", "insert_line": 0, "insert_text": "x"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/f/b.md"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/c.md"},
    {"command": "rename", "old_path": "/memories/f/b.md", "new_path": "/memories/d/empty"},
    {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/g/h"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/i"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/f/b.md"},
    {"command": "delete", "path": "/memories/g/h/e"},
    {"command": "delete", "path": "/memories/none"},
    {"command": "delete", "path": "/memories"},
    {"command": "view", "path": "/memories"},
)
"""One run through what every command does and refuses."""


def assert_same(tool: Any, commands: Iterable[Command]) -> dict[str, str]:
    """Says the commands to both, asserts that the answers are the same, and gives the files that the SDK's tool has.

    Where the SDK's tool lets an OSError through, ours has words of its own: both must fail. `memories/a`, which the
    SDK's tool refuses, is `/memories/a` to ours: the SDK's is given that, and the two answers may differ in the slash.
    """
    with TemporaryDirectory() as folder:
        local = BetaLocalFilesystemMemoryTool(folder)
        for command in commands:
            rooted = {name: _rooted(value) if name in PATH_PARAMETERS else value for name, value in command.items()}
            theirs, ours = _local(local, rooted), say(tool, command)
            _remove_empty(local.memory_root)
            if theirs is None:
                assert ours.is_error, command
            else:
                root = ROOT if rooted == command else ROOT[1:]
                assert _plain(ours, root) == _plain(theirs, root), command
        return _files(local.memory_root)


def _local(tool: BetaLocalFilesystemMemoryTool, command: Command) -> Said | None:
    """The SDK's answer; None where it lets an OSError through."""
    try:
        return say(tool, command)
    except OSError:
        return None


def _rooted(path: str) -> str:
    return f"/{path}" if f"{path}/".startswith(f"{ROOT[1:]}/") else path


def _plain(said: Said, root: str) -> Said:
    """Without the sizes of directories, which are the file system's affair; with this name of `/memories`."""
    sizeless = re.sub(r"\A(Here're the files.*\n)\S+\t|(?m:^\S+\t(?=.*/$))", r"\1", said.text)
    return Said(sizeless.replace(ROOT, root), said.is_error)


def _remove_empty(root: Path) -> None:
    """Directories are derived: one that holds nothing is not there."""
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _files(root: Path) -> dict[str, str]:
    return {f"/{path.relative_to(root)}": path.read_bytes().decode() for path in root.rglob("*") if path.is_file()}
