"""A backup of the deployed cloud brings a store back that is gone from every region."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

from tests.e2e.conftest import knows, until
from tests.laptop.processes import environment

pytestmark = pytest.mark.e2e


def _is_gone(client: Anthropic, store_id: str) -> bool:
    return not knows(client, store_id)


TOLD = ("id", "memory_id", "operation", "path", "content", "created_at")


def history(client: Anthropic, store_id: str) -> list[dict[str, Any]]:
    listed = client.beta.memory_stores.memory_versions.list(store_id, view="full")
    return [{name: row[name] for name in TOLD} for row in (version.to_dict(mode="json") for version in listed)]


def test_a_store_that_was_erased_everywhere_is_restored_from_a_backup_with_every_version(
    sdk: dict[str, Anthropic], dev: dict[str, Any], regions: tuple[str, ...], store_id: str, tmp_path: Path
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    memories, folder = home.beta.memory_stores.memories, tmp_path / "backup"
    made = memories.create(store_id, path="/a.md", content="one")
    memories.update(made.id, memory_store_id=store_id, content="two", path="/b/a.md")
    gone = memories.create(store_id, path="/gone.md", content="not for long")
    memories.delete(gone.id, memory_store_id=store_id)
    before = history(home, store_id)

    def memolith(*words: str, region: str | None = None) -> Any:
        asked = [] if region is None else ["--api-url", dev["regions"][region]["api_url"], "--api-key", dev["api_key"]]
        command = [sys.executable, "-m", "memolith.clients.cli", "backup", *words, *asked, "--json"]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    memolith("create", str(folder), "--store", store_id, region=regions[0])
    memolith("verify", str(folder))
    home.beta.memory_stores.delete(store_id)
    for client in (home, away):
        until(partial(_is_gone, client, store_id))
    report = memolith("restore", str(folder), region=regions[1])
    [stored] = report["stores"]
    assert stored["from"] == store_id
    assert history(away, stored["store"]) == before
    until(lambda: knows(home, stored["store"]))
