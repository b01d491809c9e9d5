"""Reads that ask for what a store's home knows, as import, export and the command line make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory


AT_HOME = {"x-memolith-consistency": "home"}
"""The header that asks for what the store's home knows."""

SHOW_WITHHELD = {"x-memolith-withheld": "show"}
"""The header that asks for withheld texts too. Only an admin is shown them, and nobody who does not ask."""


def reason_of(error: Exception) -> str:
    """Return what the API said of it, in one line."""
    body = getattr(error, "body", None)
    told = body.get("error", {}).get("message") if isinstance(body, dict) else None
    return str(told or getattr(error, "message", "") or type(error).__name__)


def live_at(client: Anthropic, store_id: str, path: str) -> BetaManagedAgentsMemory | None:
    """Find the memory at a path now, as the store's home knows it. A listing of its folder."""
    folder = path[: path.rindex("/") + 1]
    listed = client.beta.memory_stores.memories.list(
        store_id, path_prefix=folder, depth=1, limit=100, extra_headers=AT_HOME
    )
    return next((row for row in listed if row.type == "memory" and row.path == path), None)
