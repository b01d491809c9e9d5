"""The server over HTTP that asks the functions of one region, its reader and its writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings

from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.peers import Peers
from memolith.wire.mcp.all_stores import AllStores
from memolith.wire.mcp.bearers import Bearers
from memolith.wire.mcp.http import McpHttp
from memolith.wire.mcp.server import OpenStore, Stores
from memolith.wire.memory_tool.invoked import InvokedApi
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import Caller, Reply, Tree

THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")


def mcp_on(
    peers: Peers,
    region: str,
    clock: Clock,
    randomness: Randomness,
    own_address: Callable[[Mapping[str, Any]], TransportSecuritySettings] | None = None,
) -> McpHttp:
    """Make the MCP server over the functions of a region.

    Args:
        own_address: the hosts and origins that a request may name; by default the domain in its event.
    """

    def open_stores(store_ids: Sequence[str] | None, bearer: str) -> Stores:
        return stores_over(InvokedApi(peers, region, bearer, clock), store_ids, clock, randomness)

    def ask(store_id: str | None, bearer: str) -> Reply:
        api = InvokedApi(peers, region, bearer, clock)
        if store_id is None:
            return api.call("GET", "/v1/memory_stores", {"limit": "1"})
        return api.call("GET", f"/v1/memory_stores/{store_id}")

    return McpHttp(open_stores, Bearers(ask, clock), own_address)


def stores_over(caller: Caller, store_ids: Sequence[str] | None, clock: Clock, randomness: Randomness) -> Stores:
    """Make what a server acts on: one store, several, or with None all that the caller has."""

    def open_store(store_id: str) -> OpenStore:
        tree = Tree(caller, store_id)
        return OpenStore(store_id, tree, MemoryTool(tree, clock, randomness), clock)

    if store_ids is not None and len(store_ids) == 1:
        return open_store(store_ids[0])
    return AllStores(caller, open_store, clock, None if store_ids is None else lambda: store_ids)


def of_this_machine(event: Mapping[str, Any]) -> TransportSecuritySettings:
    """Allow the names of this machine, at any port: a page of another origin must not speak to a server here."""
    return TransportSecuritySettings(
        allowed_hosts=[name for host in THIS_MACHINE for name in (host, f"{host}:*")],
        allowed_origins=[f"http://{host}:*" for host in THIS_MACHINE],
    )
