"""A write that waits for a person is no error, whichever tool makes it: the model must not try again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.conftest import Server
from tests.mcp.notes import put
from tests.memory_tool.conftest import Fresh

CALLS: dict[str, dict[str, Any]] = {
    "write_note": {"path": "/memories/b.md", "content": "b"},
    "edit_note": {"path": "/memories/a.md", "old_str": "old", "new_str": "new"},
    "remember": {"text": "b"},
    "memory": {"command": "create", "path": "/memories/b.md", "file_text": "b"},
}


def ask_for_approval(fresh: Fresh, prefix: str = "/") -> None:
    body = {"approval": {"paths": [{"prefix": prefix}]}}
    assert fresh.backend.raw("POST", f"/v1/memory_stores/{fresh.store_id}", body=body).status == 200


@pytest.mark.parametrize("tool", CALLS)
def test_a_staged_write_is_no_error_and_names_its_proposal(server: Server, tool: str) -> None:
    put(server, "/a.md", "old")
    ask_for_approval(server.fresh)
    words, structured, failed = server.call(tool, **CALLS[tool])
    assert not failed
    assert "Staged for approval as prop_" in words
    assert structured is not None
    assert server.fresh.paths() == {"/a.md": "old"}


def test_a_folder_of_which_a_part_is_staged_says_what_was_done_and_is_no_error(server: Server) -> None:
    put(server, "/d/a.md", "old")
    put(server, "/d/kept/b.md", "old")
    ask_for_approval(server.fresh, "/d/kept/")
    words, _, failed = server.call("memory", command="delete", path="/memories/d")
    assert not failed
    assert words.startswith("Deleted 1 of 2 files under /memories/d; 1 staged for approval as prop_")
    assert server.fresh.paths() == {"/d/kept/b.md": "old"}


def test_clearing_a_store_whose_deletions_are_staged_is_no_error(server: Server) -> None:
    put(server, "/a.md", "old")
    ask_for_approval(server.fresh)
    assert str(server.fresh.tool.clear_all_memory()).startswith("Staged for approval as prop_")
    assert server.fresh.paths() == {"/a.md": "old"}
