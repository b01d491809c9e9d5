"""An HTTP API's event names the host that the client asked, as on AWS.

The emulator names a domain of its own making, though clients reach it by another host. A function that compares the
two, as one that speaks MCP must against DNS rebinding, then refuses every caller.

Source: API Gateway developer guide, "Variables for access logging": ``$context.domainName`` is "the full domain name
used to invoke the API. This should be the same as the incoming Host header."
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.local_cloud.patches import Patch, need


def _apply() -> None:
    from ministack.services import apigateway

    need(apigateway, "run_reentrant")
    run = apigateway.run_reentrant

    async def with_the_host_that_was_asked(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, dict) and argument.get("version") == "2.0" and "host" in argument["headers"]:
                argument["requestContext"]["domainName"] = argument["headers"]["host"]
        return await run(function, *arguments, **options)

    apigateway.run_reentrant = with_the_host_that_was_asked


PATCH = Patch("domain_asked", "MCP over HTTP is refused by the local cloud's functions", _apply)
