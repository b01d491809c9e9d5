"""Ours: a laptop's store moves into the deployment with all its versions, by the two commands that the page names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

from tests.e2e.conftest import until
from tests.laptop.processes import environment, serving
from tests.support.folders import quick_folder

pytestmark = pytest.mark.e2e

TOLD = ("id", "memory_id", "operation", "path", "content", "created_at", "created_by", "redacted_at", "redacted_by")


def memolith(*words: str) -> dict[str, Any]:
    """What a command answers, in JSON."""
    command = [sys.executable, "-m", "memolith.clients.cli", *words, "--json"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def history(client: Anthropic, store_id: str) -> list[dict[str, Any]]:
    listed = client.beta.memory_stores.memory_versions.list(store_id, view="full")
    return [{name: row[name] for name in TOLD} for row in (version.to_dict(mode="json") for version in listed)]


def live_a_while(laptop: Anthropic) -> str:
    """A store with edits, a move, a deletion, a path that changed hands and a redaction; its id."""
    api = laptop.beta.memory_stores
    store = api.create(name="From the laptop", description="d", metadata={"team": "core"}).id
    first = api.memories.create(store, path="/a.md", content="one")
    api.memories.update(first.id, memory_store_id=store, content="two — zwei\n")
    api.memories.update(first.id, memory_store_id=store, path="/b/a.md")
    second = api.memories.create(store, path="/a.md", content="another")
    gone = api.memories.create(store, path="/gone.md", content="not for long")
    api.memories.delete(gone.id, memory_store_id=store)
    api.memory_versions.redact(first.memory_version_id, memory_store_id=store)
    api.memories.update(second.id, memory_store_id=store, content="another, edited")
    return store


def test_a_laptops_store_arrives_whole_in_whichever_region_it_is_brought(
    dev: dict[str, Any], sdk: dict[str, Anthropic], regions: tuple[str, ...], tmp_path: Path
) -> None:
    with quick_folder() as root, serving(root) as server:
        laptop = server.client()
        store = live_a_while(laptop)
        told, live = history(laptop, store), laptop.beta.memory_stores.memories.list(store, view="full")
        texts = {row.path: (row.id, row.content) for row in live if row.type == "memory"}
        tar = str(tmp_path / "store.tar.gz")
        exported = memolith("export", store, tar, "--history", "--api-url", server.url, "--api-key", server.api_key)
        assert exported["versions"] == len(told)
    url = dev["regions"][regions[1]]["api_url"]
    imported = memolith("import", tar, "--api-url", url, "--api-key", dev["api_key"])
    assert imported["versions"] == {"imported": len(told)}
    arrived = imported["store"]
    for region in regions[:2]:
        until(lambda region=region: history(sdk[region], arrived) == told, within_s=60)  # type: ignore[misc]  # a lambda with a default has no type
        listed = sdk[region].beta.memory_stores.memories.list(arrived, view="full")
        assert {row.path: (row.id, row.content) for row in listed if row.type == "memory"} == texts
    again = memolith("import", tar, "--store", arrived, "--api-url", url, "--api-key", dev["api_key"])
    assert again["versions"] == {"known": len(told)}
    back = memolith("export", arrived, str(tmp_path / "back"), "--api-url", url, "--api-key", dev["api_key"])
    assert back["results"] == {"written": len(texts)}
