"""docs/platforms/mcp.md does what it says: its Python runs as it stands, its configurations are docs/tools.md's."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.api.loopback import serving
from tests.api.transport import body_of_event
from tests.mcp.test_http import Gateway
from tests.memory_tool.conftest import Fresh

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "platforms" / "mcp.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def behind(fresh: Fresh) -> Any:
    """A deployment's API on one port: what is below /mcp goes to that function, all else to reader and writer."""
    gateway = Gateway(fresh)

    def answer(event: Mapping[str, Any]) -> Mapping[str, Any]:
        if not event["rawPath"].startswith("/mcp"):
            return fresh.backend.answer(event)
        headers, method = event["headers"], event["requestContext"]["http"]["method"]
        return gateway.answer(event["rawPath"], headers, body_of_event(event), method, headers["host"])

    return serving(answer)


@pytest.mark.slow
def test_the_pages_clients_write_read_and_edit_a_note(fresh: Fresh) -> None:
    over_stdio, over_http = blocks(PAGE, "python")
    started = 'command="memolith", args=["mcp", '
    assert started in over_stdio
    here = f'command={sys.executable!r}, args=["-m", "memolith.clients.cli", "mcp", '
    told = over_stdio.replace(started, here).replace(
        '"ANTHROPIC_API_KEY": token}', '"ANTHROPIC_API_KEY": token, **HERE}'
    )
    names: dict[str, Any] = {"HERE": {"PYTHONPATH": "functions"}}
    exec(told + over_http, names)  # noqa: S102 - the page's own code
    with behind(fresh) as port:
        asked = (fresh.store_id, f"http://127.0.0.1:{port}", fresh.backend.api_key)
        assert asyncio.run(names["over_stdio"](*asked)) == "On Tuesdays.\n"
        assert asyncio.run(names["over_http"](*asked)).splitlines()[1:] == ["     1\tOn Wednesdays.", "     2\t"]
    assert fresh.paths() == {"/deploys.md": "On Wednesdays.\n"}


def test_the_configurations_are_the_ones_that_are_tried() -> None:
    tried = [block for block in blocks((DOCS / "tools.md").read_text(), "json") if "mcpServers" in block]
    assert blocks(PAGE, "json") == tried
