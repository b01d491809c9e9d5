"""The MCP server over HTTP. It asks its own region's reader and writer, with the bearer that came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.entry.dispatching import NOT_HERE
from memolith.entry.lambda_runtime import Event, Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.wire.mcp.invoking import mcp_on
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
