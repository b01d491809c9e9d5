"""The memory tool on the deployment: every way in answers as the SDK's own on a folder, and leaves the same files."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from memolith.wire.mcp.server import TOOLS
from tests.api.loopback import serving
from tests.e2e.conftest import begin, knows, until
from tests.e2e.ways import WAYS, Opened, over_http, over_stdio
from tests.mcp.calls import every_call
from tests.memory_tool.replay import SESSION, assert_same
from tests.memory_tool.test_tool_runner import Model, assert_played

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[0, 1], ids=["in the first region", "in the second region"])
def opened(
    request: pytest.FixtureRequest,
    dev: dict[str, Any],
    sdk: dict[str, Anthropic],
    regions: tuple[str, ...],
    store_id: str,
) -> Opened:
    """A session's token for a new store of the first region, used in one or the other."""
    region = regions[request.param]
    until(lambda: knows(sdk[region], store_id))
    session = begin(sdk[region], {"memory_store_id": store_id})
    return Opened(dev, region, store_id, session["token"], session["id"])


def contents(sdk: Anthropic, store_id: str) -> dict[str, str | None]:
    """Every memory's content by path."""
    listed = sdk.beta.memory_stores.memories.list(store_id, view="full")
    return {one.path: one.content for one in listed if one.type == "memory"}


@pytest.mark.parametrize("opened", [0], ids=[""], indirect=True)
@pytest.mark.parametrize("way", WAYS)
def test_a_run_through_every_command_answers_as_the_sdks_own_tool(
    way: str, opened: Opened, sdk: dict[str, Anthropic], regions: tuple[str, ...]
) -> None:
    with WAYS[way](opened) as tool:
        files = assert_same(tool, SESSION)
    assert contents(sdk[regions[0]], opened.store_id) == files


def test_the_sdks_tool_runner_works_on_the_deployment(opened: Opened, sdk: dict[str, Anthropic]) -> None:
    model = Model()
    with serving(model.answer_event) as port, WAYS["SDK"](opened) as tool:
        messages = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{port}").beta.messages
        asked: Any = [{"role": "user", "content": "go on"}]
        messages.tool_runner(model="a-model", max_tokens=100, messages=asked, tools=[tool]).until_done()
    assert_played(model, contents(sdk[opened.region], opened.store_id))


@pytest.mark.parametrize("connect", [over_http, over_stdio], ids=["HTTP", "stdio"])
def test_a_real_mcp_client_lists_every_tool_and_calls_it(opened: Opened, connect: Any) -> None:
    with connect(opened) as client:
        assert client.tools() == list(TOOLS)
        said = {name: client.call_tool(name, arguments) for name, arguments in every_call().items()}
    assert [name for name, answer in said.items() if answer.is_error or answer.structured_content is None] == []
    assert said["read_note"].structured_content["content"] == "Deploys go out on Wednesdays.\n"
    versions = said["memory_versions"].structured_content["versions"]
    assert [(row["operation"], row["created_by"]) for row in versions] == [
        ("modified", opened.session_id),
        ("created", opened.session_id),
    ]
