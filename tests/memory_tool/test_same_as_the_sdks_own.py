"""The SDK's own memory tool on a folder, and ours on a store, through every way in: the same answers and files.

Where the two are meant to differ, the difference is named in `_plain`, and each has a test in `test_ours.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory_tool.conftest import Said, fresh_tool, say
from tests.memory_tool.ways import WAYS

NAMES = ["a", "b", "b.md", ".hidden"]
PATHS = st.one_of(
    st.sampled_from(["/memories/a", "/memories/b/a"]),
    st.lists(st.sampled_from(NAMES), max_size=4).map(lambda names: "/".join(["/memories", *names])),
    st.sampled_from(["/memories/", "/memories/a/", "/memories//a", "/memories/a/../b", "/memories/..", "/etc", "a"]),
)
TEXTS = st.one_of(
    st.sampled_from(["", "\n", "one\ntwo\nthree\n", "one\r\ntwo", "aaa", "x\n\n\n", "no newline"]),
    st.text(alphabet="ab \n\r\té", max_size=30),
)
NUMBERS = st.integers(-2, 6)

CREATION = st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS})
COMMANDS = st.one_of(
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": PATHS},
        optional={"view_range": st.lists(NUMBERS, min_size=1, max_size=3)},
    ),
    CREATION,
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": PATHS, "old_str": TEXTS, "new_str": TEXTS}),
    st.fixed_dictionaries({"command": st.just("insert"), "path": PATHS, "insert_line": NUMBERS, "insert_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)


def _local(tool: BetaLocalFilesystemMemoryTool, command: dict[str, Any]) -> Said | None:
    """The SDK's answer; None where it lets an OSError through, for which ours has words of its own."""
    try:
        return say(tool, command)
    except OSError:
        return None


def _plain(said: Said) -> Said:
    """Without the sizes of directories, which are the file system's affair."""
    return Said(re.sub(r"(?m)^\S+\t(.*/|/memories[^\t]*)$", r"\1", said.text), said.is_error)


def _remove_empty(root: Path) -> None:
    """Directories are derived: one that holds nothing is not there."""
    for folder in sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _files(root: Path) -> dict[str, str]:
    return {f"/{path.relative_to(root)}": path.read_bytes().decode() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40)
@given(creations=st.lists(CREATION, min_size=2, max_size=6), others=st.lists(COMMANDS, min_size=3, max_size=25))
def test_the_same_commands_give_the_same_answers_and_files(
    way: str, creations: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    with TemporaryDirectory() as folder:
        local, fresh = BetaLocalFilesystemMemoryTool(folder), fresh_tool()
        tool = WAYS[way](fresh)
        for command in creations + others:
            theirs, ours = _local(local, command), say(tool, command)
            _remove_empty(local.memory_root)
            if theirs is None:
                assert ours.is_error, command
            else:
                assert _plain(ours) == _plain(theirs), command
        assert fresh.paths() == _files(local.memory_root)
