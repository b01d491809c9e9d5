"""What passes on the local cloud passes on ``memolith serve``: the same scripts, said to a server of this machine.

The race for one memory has two servers of its own (`test_sharing`), and the API's tests have a laptop among backends.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anthropic
import pytest

from memolith.clients.sdk.memory_tool import MemolithMemoryTool
from tests.e2e import test_every_operation as script
from tests.laptop.processes import Server, serving
from tests.memory_tool.replay import SESSION, assert_same


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    """The local cloud erases a deleted store at once; so does this one."""
    with serving(root, MEMOLITH_ERASE_DELAY_DAYS="0") as started:
        yield started


@pytest.mark.slow
def test_the_script_of_every_operation_passes(server: Server) -> None:
    client = server.client()
    script.test_a_store_lives_its_whole_life(client)
    store = client.beta.memory_stores.create(name="end to end").id
    script.test_a_memory_lives_its_whole_life_in_a_store_of_the_first_region(client, store)
    script.test_a_conflict_is_told_once_and_the_caller_can_read_again_and_succeed(client, store)


@pytest.mark.slow
def test_a_run_of_the_memory_tool_answers_as_the_sdks_own_and_leaves_the_same_files(server: Server) -> None:
    """By a session's token, as an agent has it."""
    client = server.client()
    store = client.beta.memory_stores.create(name="Team notes").id
    resources = [{"type": "memory_store", "memory_store_id": store}]
    session: object = client.post("/v1/sessions", cast_to=object, body={"resources": resources})
    assert isinstance(session, dict)
    agent = anthropic.Anthropic(base_url=server.url, api_key=session["token"])
    files = assert_same(MemolithMemoryTool(agent, store), SESSION)
    listed = client.beta.memory_stores.memories.list(store, view="full")
    assert {row.path: row.content for row in listed if row.type == "memory"} == files
