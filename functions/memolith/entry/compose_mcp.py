"""The MCP server over HTTP. It asks its own region's reader and writer, with the bearer that came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.entry.dispatching import NOT_HERE
from memolith.entry.lambda_runtime import Event, Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.peers import Peers
from memolith.wire.mcp.bearers import Bearers
from memolith.wire.mcp.http import McpHttp
from memolith.wire.mcp.server import OpenStore
from memolith.wire.memory_tool.invoked import InvokedApi
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import Reply, Tree
from memolith.wire.rpc import refusal


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    running.clients.functions(settings.deployment.region)
    region = running.region
    http = mcp_on(region.peers, region.name, region.clock, region.randomness)

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return refusal(NOT_HERE) if "call" in event else http.answer(event)

    return running.handler(answer)


def mcp_on(peers: Peers, region: str, clock: Clock, randomness: Randomness) -> McpHttp:
    """Make the MCP server over the functions of a region."""

    def open_store(store_id: str, bearer: str) -> OpenStore:
        tree = Tree(InvokedApi(peers, region, bearer, clock), store_id)
        return OpenStore(store_id, tree, MemoryTool(tree, clock, randomness), clock)

    def ask(store_id: str, bearer: str) -> Reply:
        return InvokedApi(peers, region, bearer, clock).call("GET", f"/v1/memory_stores/{store_id}")

    return McpHttp(open_store, Bearers(ask, clock))
