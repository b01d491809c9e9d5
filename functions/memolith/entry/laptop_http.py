"""What ``memolith serve`` answers: the API, below ``/mcp`` the same stores to MCP clients, and a page at ``/``."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from memolith.adapters.memory import MemoryPeers
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness

if TYPE_CHECKING:
    from memolith.wire.mcp.http import McpHttp

_log = logging.getLogger(__name__)

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Memolith</title>
<h1>Memolith runs here</h1>
<p>This is a server for programs; it has no page for your memories. To look at them:</p>
<pre>memolith stores list
memolith ls STORE
memolith mount STORE ~/memory</pre>
<p>The HTTP API is below <code>/v1</code>, MCP at <code>/mcp</code>; both need a key. <code>memolith doctor</code> says
whether all is well.</p>
</html>
"""
"""What a browser shows that opens the server's address. It says nothing of what the server has, and asks nothing."""

MCP = "/mcp"
REGION = "laptop"
NOT_INSTALLED = "this server has no MCP: install it with pip install '.[mcp]', and start the server again"
Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class LaptopHttp:
    """Answers HTTP API events (payload format 2.0) of every kind that a deployment's API has.

    The MCP server asks the API of this process, with the bearer that came. Its packages take a second to import: the
    first request that needs them does it.

    Args:
        api: answers what is neither the page nor below ``/mcp``.
    """

    def __init__(self, api: Answer, clock: Clock, randomness: Randomness) -> None:
        self._api = api
        self._clock = clock
        self._randomness = randomness
        self._lock = threading.Lock()
        self._mcp: McpHttp | None = None

    def answer(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer an event. Never raises."""
        path = str(event["rawPath"])
        if path == "/" and _is_of_a_browser(event):
            headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'"}
            return {"statusCode": 200, "headers": headers, "body": PAGE, "isBase64Encoded": False}
        if path != MCP and not path.startswith(f"{MCP}/"):
            return self._api(event)
        try:
            return self._loaded().answer(event)
        except ModuleNotFoundError as error:
            _log.warning("a request to %s needs a package", MCP, extra={"reason": str(error)})
            return _failed(501, NOT_INSTALLED)
        except Exception as error:  # noqa: BLE001 - the boundary: what no one foresaw is logged and answered
            _log.error("a request to %s failed", MCP, extra={"reason": type(error).__name__})
            return _failed(500, "an internal error; the server's log says more")

    def _loaded(self) -> McpHttp:
        """Return the MCP server. Raises ModuleNotFoundError."""
        with self._lock:
            if self._mcp is None:
                from memolith.wire.mcp.invoking import mcp_on, of_this_machine

                peers = MemoryPeers()
                for function in ("reader", "writer"):
                    peers.register(REGION, function, self._api)
                self._mcp = mcp_on(peers, REGION, self._clock, self._randomness, of_this_machine)
            return self._mcp


def _is_of_a_browser(event: Mapping[str, Any]) -> bool:
    """Tell whether a page is asked for; a client of the API asks for JSON, or for anything, and is told as ever."""
    accepted = str((event.get("headers") or {}).get("accept", ""))
    return event["requestContext"]["http"]["method"] == "GET" and "text/html" in accepted


def _failed(status: int, reason: str) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": reason}}
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return {"statusCode": status, "headers": headers, "body": json.dumps(body), "isBase64Encoded": False}
