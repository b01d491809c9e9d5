"""A call of each tool, in an order in which each succeeds on an empty store."""

from __future__ import annotations

from typing import Any

from memolith.wire.mcp.server import TOOLS

CALLS: dict[str, dict[str, Any]] = {
    "write_note": {"path": "/memories/n/a.md", "content": "Deploys go out on Tuesdays.\n"},
    "edit_note": {"path": "/memories/n/a.md", "old_str": "Tuesdays", "new_str": "Wednesdays"},
    "remember": {"text": "Deploys go out on Wednesdays, as the on-call engineer is in then."},
    "read_note": {"path": "/memories/n/a.md"},
    "memory": {"command": "view", "path": "/memories"},
    "list_directory": {"path": "/memories/n"},
    "memory_versions": {"path": "/memories/n/a.md"},
    "recent_activity": {"limit": 5},
    "search_notes": {"query": "deploys"},
    "build_context": {"url": "memory://n/a"},
    "backlinks": {"path": "/memories/n/a.md"},
    "conflicts": {},
    "search_sessions": {"query": "deploys"},
    "recall": {"query": "when do deploys go out?"},
    "list_proposals": {},
    "propose_edits": {
        "why": "said twice",
        "key": "a-call",
        "edits": [{"op": "create", "path": "/memories/n/b.md", "content": "Releases are tagged by the bot.\n"}],
    },
    "read_proposal": {},
    "list_memory_projects": {},
}


def every_call() -> dict[str, dict[str, Any]]:
    """Of the tools that there are; fails for one that has no call here."""
    assert set(TOOLS) <= set(CALLS), "a tool that is called nowhere here"
    return {name: arguments for name, arguments in CALLS.items() if name in TOOLS}
