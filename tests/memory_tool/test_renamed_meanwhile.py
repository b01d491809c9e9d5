"""Deletions and moves go by a memory's id: they leave alone what another agent has moved away since it was listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from memolith.clients.sdk.memory_tool import MemolithMemoryTool
from memolith.wire.memory_tool.tree import Tree
from tests.memory_tool.conftest import Fresh, say
from tests.memory_tool.ways import WAYS

KEEP = "/memories/tmp/keep.md"


@contextmanager
def another_moves(fresh: Fresh, monkeypatch: pytest.MonkeyPatch, at: str, new_path: str) -> Iterator[None]:
    """Another agent renames the memory between the listing and the `at` of it."""
    other = MemolithMemoryTool(fresh.backend.client(), fresh.store_id)
    real: Callable[..., None] = getattr(Tree, at)

    def late(tree: Tree, *given: Any, **named: Any) -> None:
        monkeypatch.setattr(Tree, at, real)
        assert not say(other, {"command": "rename", "old_path": KEEP, "new_path": new_path}).is_error
        return real(tree, *given, **named)

    fresh.say(command="create", path=KEEP, file_text="keep")
    monkeypatch.setattr(Tree, at, late)
    yield
    monkeypatch.setattr(Tree, at, real)


@pytest.mark.parametrize("path", [KEEP, "/memories/tmp"], ids=["the file", "its folder"])
@pytest.mark.parametrize("way", ["sdk", "plain"])
def test_what_another_agent_has_moved_away_is_not_deleted(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch, path: str, way: str
) -> None:
    with WAYS[way](fresh) as tool, another_moves(fresh, monkeypatch, "delete", "/memories/keep.md"):
        said = say(tool, {"command": "delete", "path": path})
    assert not said.is_error
    assert fresh.paths() == {"/keep.md": "keep"}


@pytest.mark.parametrize(
    "command",
    [
        {"old_path": KEEP, "new_path": "/memories/new/keep.md"},
        {"old_path": "/memories/tmp", "new_path": "/memories/new"},
    ],
    ids=["the file", "its folder"],
)
def test_what_another_agent_has_moved_away_is_not_moved(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch, command: Mapping[str, str]
) -> None:
    with another_moves(fresh, monkeypatch, "rename", "/memories/keep.md"):
        said = fresh.say(command="rename", **command)
    assert said.is_error
    assert f"The path {KEEP} does not exist" in said.text
    assert fresh.paths() == {"/keep.md": "keep"}


def test_what_another_agent_has_moved_to_the_same_place_is_moved(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    with another_moves(fresh, monkeypatch, "rename", "/memories/new/keep.md"):
        said = fresh.say(command="rename", old_path="/memories/tmp", new_path="/memories/new")
    assert not said.is_error
    assert fresh.paths() == {"/new/keep.md": "keep"}


def test_clearing_deletes_also_what_another_agent_renames_meanwhile(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    with another_moves(fresh, monkeypatch, "delete", "/memories/keep.md"):
        fresh.tool.clear_all_memory()
    assert fresh.paths() == {}


def test_the_path_is_read_at_the_stores_home(fresh: Fresh) -> None:
    fresh.say(command="create", path=KEEP, file_text="keep")
    asked = []
    gateway = fresh.backend.gateway
    answer = gateway.handle_request

    def told(request: Any) -> Any:
        asked.append((request.method, request.headers.get("x-memolith-consistency")))
        return answer(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway, "handle_request", told)
        fresh.say(command="delete", path=KEEP)
    assert asked == [("GET", None), ("GET", "home"), ("DELETE", None)]
