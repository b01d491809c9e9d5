"""docs/tools.md says what the function does: each event of it is sent, in order, and each answer compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from memolith.adapters.aws.targets import parse_targets
from memolith.wire.memory_tool.tool import COMMANDS
from tests.memory_tool.conftest import Fresh
from tests.memory_tool.ways import ToolFunction, gateway_context

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()


def blocks(function: ToolFunction) -> list[Any]:
    """The page's JSON, with a real store and token in place of those that it leaves open."""
    filled = PAGE.replace("memstore_…", function.store_id).replace("st-memolith-…", function.token)
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", filled, re.MULTILINE | re.DOTALL)]


def test_each_event_on_the_page_gets_the_answer_on_the_page(fresh: Fresh) -> None:
    function = ToolFunction(fresh)
    created, created_answer, viewed, viewed_answer, inserted, inserted_answer, *gateway = blocks(function)
    assert function.invoke(created) == created_answer
    assert function.invoke(viewed) == viewed_answer
    assert function.invoke(inserted) == inserted_answer
    targets, _, deleted, deleted_answer = gateway[:4]
    function.targets.known = dict(parse_targets(json.dumps(targets)))
    assert "`notes___memory`" in PAGE
    assert function.invoke(deleted, gateway_context("notes___memory")) == deleted_answer
    assert fresh.paths() == {}


def test_the_tool_schema_on_the_page_has_every_command_and_parameter(fresh: Fresh) -> None:
    (tool,) = blocks(ToolFunction(fresh))[7]
    described = tool["inputSchema"]["properties"]
    assert all(command in described["command"]["description"] for command in COMMANDS)
    assert {name for command in NEEDED.values() for name in command} <= set(described)


NEEDED = {
    "view": ["path", "view_range"],
    "create": ["path", "file_text"],
    "str_replace": ["path", "old_str", "new_str"],
    "insert": ["path", "insert_line", "insert_text"],
    "delete": ["path"],
    "rename": ["old_path", "new_path"],
}
