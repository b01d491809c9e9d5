"""A pass of ``memolith sync``, and what is on either side of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.clients.desk import Desk
from tests.unit.clients.transfers.reports import texts


def files(folder: Path) -> dict[str, str]:
    """What is in the folder, but for Memolith's own."""
    found = {name: text for name, text in texts(folder).items() if not name.startswith(".memolith/")}
    return {name: text.decode(errors="replace") for name, text in found.items()}


def memories(desk: Desk) -> dict[str, str | None]:
    listed = desk.backend.client().beta.memory_stores.memories.list(desk.store, view="full")
    return {row.path[1:]: row.content for row in listed if row.type == "memory"}


def synced(desk: Desk, folder: Path, *words: str, code: int = 0) -> dict[str, Any]:
    """What a pass did: path to result."""
    ended, out, err = desk.run("sync", desk.store, str(folder), "--json", *words)
    assert ended == code, (out, err)
    return {row["path"]: row["result"] for row in json.loads(out)["rows"]}
