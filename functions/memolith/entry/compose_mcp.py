"""The MCP server over HTTP. It asks its own region's reader and writer, with the bearer that came."""

from __future__ import annotations

from memolith.entry.dispatching import http_alone
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.wire.mcp.invoking import mcp_on


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    running.clients.functions(settings.deployment.region)
    region = running.region
    return running.handler(http_alone(mcp_on(region.peers, region.name, region.clock, region.randomness)))
