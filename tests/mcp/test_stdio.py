"""`memolith mcp`, started as a desktop starts it: the real client, a process of its own, the API over a socket."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from memolith.wire.mcp.server import TOOLS
from tests.api.loopback import serving
from tests.mcp.conftest import with_client
from tests.memory_tool.conftest import Fresh

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()
COMMAND = ["-m", "memolith.clients.cli", "mcp"]


@contextmanager
def started(fresh: Fresh, **environment: str) -> Iterator[StdioServerParameters]:
    with serving(fresh.backend.answer) as port:
        told = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": fresh.backend.api_key}
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": "functions", **told, **environment}
        yield StdioServerParameters(command=sys.executable, args=COMMAND, env=variables)


@pytest.fixture
def desktop(fresh: Fresh) -> Iterator[StdioServerParameters]:
    with started(fresh) as parameters:
        yield parameters


@pytest.mark.slow
def test_a_client_lists_and_calls_and_reads_over_stdio(fresh: Fresh, desktop: StdioServerParameters) -> None:
    async def act(client: Client) -> list[Any]:
        created = {"command": "create", "path": "/memories/a.md", "file_text": "1\n"}
        return [
            [tool.name for tool in (await client.list_tools()).tools],
            await client.call_tool("memory", created),
            await client.call_tool("memory", created),
            (await client.call_tool("read_note", {"path": "/memories/a.md"})).structured_content,
            [resource.uri for resource in (await client.list_resources()).resources],
            (await client.list_prompts()).prompts[0].name,
        ]

    tools, first, second, note, uris, prompt = with_client(desktop, act)
    assert len(tools) == len(TOOLS)
    assert (first.is_error, first.content[0].text) == (False, "File created successfully at: /memories/a.md")
    assert (second.is_error, second.content[0].text) == (True, "File /memories/a.md already exists")
    assert note["content"] == "1\n"
    assert uris == [f"memolith://{fresh.store_id}/a.md"]
    assert prompt == "memory_guide"
    assert fresh.paths() == {"/a.md": "1\n"}


@pytest.mark.slow
def test_the_procedure_of_basic_memorys_specification_18_succeeds_step_by_step(
    fresh: Fresh, desktop: StdioServerParameters
) -> None:
    """Create a memory below memories/user, view and edit it, search it, see it in the activity, build its context."""
    path = "memories/user/preferences.md"
    text = "# Preferences\n\n- [editor] uses vim #tools\n- part_of [[User]]\n"

    async def act(client: Client) -> list[Any]:
        return [
            await client.call_tool("memory", {"command": "create", "path": path, "file_text": text}),
            await client.call_tool("memory", {"command": "view", "path": path}),
            await client.call_tool(
                "memory", {"command": "str_replace", "path": path, "old_str": "vim", "new_str": "helix"}
            ),
            await client.call_tool("search_notes", {"query": "which editor?", "project": "memories"}),
            await client.call_tool("recent_activity", {"project": "memories", "timeframe": "7d"}),
            await client.call_tool("build_context", {"url": "memory://user/preferences", "project": "memories"}),
        ]

    answers = with_client(desktop, act)
    assert [answer.is_error for answer in answers] == [False] * 6
    searched, activity, context = (answer.structured_content for answer in answers[3:])
    assert searched["hits"][0]["path"] == "/memories/user/preferences.md"
    assert [(row["operation"], row["changes"]) for row in activity["notes"]] == [("modified", 2)]
    [result] = context["results"]
    assert [one["content"] for one in result["observations"]] == ["uses helix #tools"]
    assert [one["to_name"] for one in result["related_results"]] == ["User"]
    assert fresh.paths() == {"/user/preferences.md": text.replace("vim", "helix")}


@pytest.mark.slow
def test_a_sessions_token_serves_its_store_in_its_mode(fresh: Fresh) -> None:
    resources = [{"type": "memory_store", "memory_store_id": fresh.store_id, "access": "read_only"}]
    token = fresh.backend.raw("POST", "/v1/sessions", body={"resources": resources}).body["token"]

    async def act(client: Client) -> list[bool]:
        written = await client.call_tool("write_note", {"path": "/memories/a", "content": "1"})
        return [written.is_error, (await client.call_tool("list_directory", {})).is_error]

    with started(fresh, ANTHROPIC_API_KEY=token, MEMOLITH_MEMORY_STORE_ID=fresh.store_id) as parameters:
        assert with_client(parameters, act) == [True, False]
    assert fresh.paths() == {}


@pytest.mark.slow
def test_the_tools_act_with_a_session_of_their_own_that_ends_with_the_input(
    fresh: Fresh, desktop: StdioServerParameters
) -> None:
    async def act(client: Client) -> bool:
        return (await client.call_tool("write_note", {"path": "/memories/a.md", "content": "1\n"})).is_error

    assert with_client(desktop, act) is False
    (version,) = fresh.backend.client().beta.memory_stores.memory_versions.list(fresh.store_id)
    assert version.created_by is not None and version.created_by.type == "session_actor"
    listed = fresh.backend.raw("GET", "/v1/sessions", query="include_archived=true").body["data"]
    assert [(one["title"], one["status"]) for one in listed] == [("memolith mcp", "terminated")]


@pytest.mark.slow
@pytest.mark.parametrize("stores", [["Second"], []])
def test_a_store_is_named_by_its_name_or_chosen_as_the_tools_project(fresh: Fresh, stores: list[str]) -> None:
    second = fresh.backend.client().beta.memory_stores.create(name="Second").id

    async def act(client: Client) -> list[Any]:
        written = {"path": "/memories/a.md", "content": "1\n", **({} if stores else {"project": "Second"})}
        return [
            (await client.call_tool("list_memory_projects", {})).structured_content,
            await client.call_tool("write_note", written),
            await client.call_tool("read_note", {"path": "/memories/a.md"}),
        ]

    with started(fresh) as parameters:
        named = [word for store in stores for word in ("--store", store)]
        listed, wrote, read = with_client(
            parameters.model_copy(update={"args": [*COMMAND, *named]}),
            act,
        )
    assert [one["id"] for one in listed["projects"]] == ([second] if stores else [fresh.store_id, second][::-1])
    assert not wrote.is_error
    assert read.is_error is not bool(stores), "without a project, of two stores none is chosen"
    assert fresh.paths() == {}


@pytest.mark.slow
def test_a_key_that_may_only_read_serves_what_it_may_read(fresh: Fresh) -> None:
    key = fresh.backend.issue_key("main", "read")

    async def act(client: Client) -> list[bool]:
        written = await client.call_tool("write_note", {"path": "/memories/a", "content": "1"})
        return [written.is_error, (await client.call_tool("list_directory", {})).is_error]

    with started(fresh, ANTHROPIC_API_KEY=key) as parameters:
        assert with_client(parameters, act) == [True, False]
    assert fresh.paths() == {}


@pytest.mark.slow
def test_a_store_that_there_is_not_is_an_answer_in_words_and_no_end(fresh: Fresh) -> None:
    async def act(client: Client) -> list[Any]:
        return [await client.call_tool("list_directory", {}) for _ in range(2)]

    with started(fresh, MEMOLITH_MEMORY_STORE_ID="Other notes") as parameters:
        first, second = with_client(parameters, act)
    assert first.is_error and second.is_error
    assert "Other notes" in first.content[0].text


@pytest.mark.slow
def test_the_pages_configuration_serves_the_pages_tools(fresh: Fresh) -> None:
    block = next(block for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S) if "mcpServers" in block)
    filled = block.replace("memstore_…", fresh.store_id).replace("st-memolith-…", fresh.backend.api_key)
    configured = json.loads(filled)["mcpServers"]["memory"]
    assert configured["command"] == "memolith"
    with started(fresh) as parameters:
        env = {**(parameters.env or {}), **configured.get("env", {})}
        args = [*COMMAND[:-1], *configured["args"]]
        desktop = parameters.model_copy(update={"env": env, "args": args})
        tools = with_client(desktop, lambda client: client.list_tools()).tools
    reads = {tool.name: bool(tool.annotations and tool.annotations.read_only_hint) for tool in tools}
    rows = re.findall(r"^\| `(\w+)` \|.*\| ?(yes)? ?\|$", PAGE, re.M)
    assert {name: bool(yes) for name, yes in rows} == reads
