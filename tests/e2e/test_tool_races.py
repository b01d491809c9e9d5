"""Ours: twenty agents at one memory, in two regions, through every way in: what was told is what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from anthropic import Anthropic
from botocore.exceptions import BotoCoreError
from mcp import MCPError

from memolith.wire.memory_tool.texts import UNANSWERED
from tests.e2e.conftest import begin, knows, until
from tests.e2e.ways import WAYS, Opened
from tests.memory_tool.conftest import say

pytestmark = pytest.mark.e2e

AGENTS = 20
ATTEMPTS = 10
FILE = "/memories/shared.md"
THROUGH = ("SDK", "SDK", "SDK", "tool function", "MCP over HTTP")
"""Agent by agent, over and over: half of each in one region, half in the other."""


@pytest.fixture
def agents(
    dev: dict[str, Any], sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> Iterator[list[Any]]:
    """Twenty tools on one store, each with a session of its own."""
    for region in regions[:2]:
        until(lambda region=region: knows(sdk[region], store_id))  # type: ignore[misc]  # a lambda with a default has no type
    with ExitStack() as stack:
        tools = []
        for number in range(AGENTS):
            session = begin(sdk[regions[number % 2]], {"memory_store_id": store_id})
            opened = Opened(dev, regions[number % 2], store_id, session["token"], session["id"])
            tools.append(stack.enter_context(WAYS[THROUGH[number // 2 % len(THROUGH)]](opened)))
        yield tools


def at_once(agents: list[Any], act: Callable[[int, Any], Any]) -> list[Any]:
    """What each agent's act gives, all of them running together."""
    with ThreadPoolExecutor(len(agents)) as pool:
        return list(pool.map(act, range(len(agents)), agents))


def text_at(sdk: Anthropic, store_id: str) -> str:
    """The shared memory as it stands."""
    (memory,) = sdk.beta.memory_stores.memories.list(store_id, view="full")
    assert memory.type == "memory"
    return memory.content or ""


@dataclass(slots=True)
class Told:
    """What one agent was told of its edits, by the line that each leaves behind.

    Attributes:
        done: succeeded.
        unknown: whether it was committed was not told: no answer came in time.
        given_up: refused, however often it was tried again.
    """

    done: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)

    def edit(self, tool: Any, line: str, command: dict[str, Any]) -> None:
        """One edit, tried again while it is refused."""
        for _ in range(ATTEMPTS):
            try:
                said = say(tool, {"path": FILE, **command})
            except (BotoCoreError, ExceptionGroup, MCPError):
                return self.unknown.append(line)
            if not said.is_error:
                return self.done.append(line)
            if said.text.startswith(UNANSWERED.partition("{")[0]):
                return self.unknown.append(line)
        return self.given_up.append(f"{line}: {said.text}")


def test_twenty_agents_that_edit_lines_of_their_own_all_succeed_and_lose_nothing(
    agents: list[Any], sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    starts = [f"agent {number:02d} has not begun\nend of agent {number:02d}\n" for number in range(AGENTS)]
    sdk[regions[0]].beta.memory_stores.memories.create(store_id, path="/shared.md", content="".join(starts))
    until(lambda: "/shared.md" in [one.path for one in sdk[regions[1]].beta.memory_stores.memories.list(store_id)])

    def work(number: int, tool: Any) -> Told:
        told, name = Told(), f"agent {number:02d}"
        if number < AGENTS // 2:
            change = {"old_str": f"{name} has not begun", "new_str": f"{name} has begun"}
            told.edit(tool, f"{name} has begun", {"command": "str_replace", **change})
        else:
            beside = 2 * (number - AGENTS // 2) + 1
            addition = {"insert_line": beside, "insert_text": f"{name} was here"}
            told.edit(tool, f"{name} was here", {"command": "insert", **addition})
        return told

    told = at_once(agents, work)
    found = Counter(text_at(sdk[regions[0]], store_id).splitlines())
    assert [line for one in told for line in one.given_up] == []
    assert {line: found[line] for one in told for line in one.done if found[line] != 1} == {}
    assert {line: found[line] for one in told for line in one.unknown if found[line] > 1} == {}
    assert [line for line in "".join(starts).splitlines() if "end of" in line and found[line] != 1] == []
    versions = sdk[regions[0]].beta.memory_stores.memory_versions.list(store_id, limit=100)
    authors = Counter(one.created_by.to_dict().get("session_id") for one in versions if one.created_by is not None)
    del authors[None]
    commits = sum(found[line] for one in told for line in (*one.done, *one.unknown))
    assert (sum(authors.values()), max(authors.values())) == (commits, 1), (
        "each edit is one version, by its own session"
    )


def test_of_twenty_agents_that_replace_the_same_text_one_succeeds_and_the_others_are_told(
    agents: list[Any], sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    sdk[regions[0]].beta.memory_stores.memories.create(store_id, path="/shared.md", content="taken by nobody\n")
    until(lambda: "/shared.md" in [one.path for one in sdk[regions[1]].beta.memory_stores.memories.list(store_id)])

    def take(number: int, tool: Any) -> Told:
        told, taken = Told(), f"taken by agent {number:02d}"
        change = {"old_str": "taken by nobody", "new_str": taken}
        told.edit(tool, taken, {"command": "str_replace", "path": FILE, **change})
        return told

    told = at_once(agents, take)
    text = text_at(sdk[regions[0]], store_id)
    assert [f"{line}\n" for one in told for line in one.done] in ([text], [])
    assert text in [f"{line}\n" for one in told for line in (*one.done, *one.unknown)]
