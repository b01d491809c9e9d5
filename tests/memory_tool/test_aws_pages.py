"""The pages on Bedrock Agents and AgentCore: their code runs as it stands, what it asks of AWS is valid to AWS's own
model, and what it sets up, called as the platform calls it, is the memory tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from memolith.adapters.aws.targets import parse_targets
from memolith.wire.memory_tool.tool import COMMANDS
from tests.memory_tool.conftest import Fresh
from tests.memory_tool.test_docs import NEEDED
from tests.memory_tool.test_platform_pages import at_home, run
from tests.memory_tool.ways import ToolFunction, bedrock_event, bedrock_parameters, gateway_context

__all__ = ["at_home"]

Answered = Callable[[dict[str, Any]], dict[str, Any]]
CREATE = {"command": "create", "path": "/memories/a.md", "file_text": "step 1 done"}
VIEW = {"command": "view", "path": "/memories/a.md", "view_range": [1, 1]}
SHOWN = "Here's the content of /memories/a.md with line numbers:\n     1\tstep 1 done"


class Aws:
    """Real clients of boto3, which check and write each request; what would answer it is a function of ours.

    Attributes:
        asked: each operation's request, as it would have been sent.
    """

    def __init__(self, **answers: Answered) -> None:
        self.asked: dict[str, dict[str, Any]] = {}
        self._answers = answers
        self._session = boto3.Session("key", "secret", region_name="us-east-1")

    def client(self, service: str, region_name: str) -> Any:
        make: Any = self._session.client
        made = make(service, region_name=region_name)
        made.meta.events.register("provide-client-params.*.*", self._note)
        made.meta.events.register("before-call.*.*", self._answer)
        return made

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.asked[model.name] = params

    def _answer(self, model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        """In place of the request, which boto3 has checked against the service's model by now."""
        act = self._answers.get(model.name)
        return SimpleNamespace(status_code=200), act(self.asked[model.name]) if act else {}


def test_the_bedrock_page_sets_up_an_agent_that_has_the_memory_tool(
    at_home: Fresh, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    function = ToolFunction(at_home)

    def agent(asked: dict[str, Any]) -> dict[str, Any]:
        """What Bedrock does with an agent that writes a file and looks at it."""
        for command in (CREATE, VIEW):
            name = f"memory_{command['command']}"
            offered = offers[name]["parameters"]
            assert set(command) - {"command"} <= set(offered)
            attributes = asked["sessionState"]["sessionAttributes"]
            event = bedrock_event(
                function, function=name, parameters=bedrock_parameters(command), sessionAttributes=attributes
            )
            said = function.invoke(event)["response"]["functionResponse"]
            assert "responseState" not in said
        return {"completion": [{"chunk": {"bytes": said["responseBody"]["TEXT"]["body"].encode()}}, {"trace": {}}]}

    aws = Aws(InvokeAgent=agent)
    offers: dict[str, Any] = {}
    monkeypatch.setattr(boto3, "client", aws.client)
    names = run("bedrock-agents.md", 0)
    group = aws.asked["CreateAgentActionGroup"]
    offers |= {one["name"]: one for one in group["functionSchema"]["functions"]}
    assert group["actionGroupExecutor"]["lambda"].endswith(":function:memolith-dev-tool:live")
    assert "PrepareAgent" in aws.asked
    assert {name.removeprefix("memory_"): list(one["parameters"]) for name, one in offers.items()} == NEEDED
    assert max(len(one["parameters"]) for one in offers.values()) <= 5
    names = run("bedrock-agents.md", 1, **names)
    assert capsys.readouterr().out == f"{SHOWN}\n"
    memories = names["memolith"].beta.memory_stores
    assert [one.path for one in memories.memories.list(names["store"].id)] == ["/a.md"]
    (version,) = memories.memory_versions.list(names["store"].id)
    assert version.created_by.session_id == names["session"]["id"]


def test_the_agentcore_page_sets_up_a_target_that_is_the_memory_tool(
    at_home: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws, function = Aws(), ToolFunction(at_home)
    monkeypatch.setattr(boto3, "client", aws.client)
    monkeypatch.setenv("MEMOLITH_MEMORY_STORE_ID", at_home.store_id)
    monkeypatch.setenv("ANTHROPIC_API_KEY", at_home.backend.api_key)
    run("agentcore-gateway.md")
    secret, target = aws.asked["CreateSecret"], aws.asked["CreateGatewayTarget"]
    assert secret["Name"] == "memolith-dev-gateway"
    function.targets.known = dict(parse_targets(secret["SecretString"]))
    (tool,) = target["targetConfiguration"]["mcp"]["lambda"]["toolSchema"]["inlinePayload"]
    described = tool["inputSchema"]["properties"]
    assert set(described) == {"command"} | {name for names in NEEDED.values() for name in names}
    assert all(command in described["command"]["description"] for command in COMMANDS)
    context = gateway_context(f"{target['name']}___{tool['name']}")
    for command in (CREATE, VIEW):
        answer = function.invoke(json.loads(json.dumps(command)), context)
    assert answer == {"content": SHOWN, "is_error": False}
    assert at_home.paths() == {"/a.md": "step 1 done"}
