"""The SDK's own memory tool on a folder, and ours on a store, through every way in: the same answers and files.

Where the two are meant to differ, the difference is named in `replay`, and each has a test in `test_ours.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory_tool.conftest import fresh_tool
from tests.memory_tool.replay import SESSION, assert_same
from tests.memory_tool.ways import WAYS
from tests.support.examples import examples

NAMES = ["a", "b", "b.md", ".hidden"]
PATHS = st.one_of(
    st.sampled_from(["/memories/a", "/memories/b/a"]),
    st.lists(st.sampled_from(NAMES), max_size=4).map(lambda names: "/".join(["/memories", *names])),
    st.sampled_from(
        ["/memories/", "/memories/a/", "/memories//a", "/memories/a/../b", "/memories/..", "/etc", "a", "memories/a"]
    ),
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


@settings(max_examples=examples(60))
@given(
    way=st.sampled_from(sorted(WAYS)),
    creations=st.lists(CREATION, min_size=2, max_size=6),
    others=st.lists(COMMANDS, min_size=3, max_size=25),
)
def test_the_same_commands_give_the_same_answers_and_files(
    way: str, creations: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    fresh = fresh_tool()
    with WAYS[way](fresh) as tool:
        files = assert_same(tool, creations + others)
    assert fresh.paths() == files


@pytest.mark.parametrize("way", WAYS)
def test_a_run_through_every_command_gives_the_same_answers_and_files(way: str) -> None:
    fresh = fresh_tool()
    with WAYS[way](fresh) as tool:
        files = assert_same(tool, SESSION)
    assert fresh.paths() == files
    assert set(files) == {"/f/b.md", "/g/h/.hidden", "/g/h/empty"}
