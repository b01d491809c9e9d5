"""A backup of the deployed cloud brings a store back that is gone from every region, or to where nothing is."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

from tests.e2e.conftest import knows, until
from tests.laptop.processes import environment, serving

pytestmark = pytest.mark.e2e


def _is_gone(client: Anthropic, store_id: str) -> bool:
    return not knows(client, store_id)


TOLD = ("id", "memory_id", "operation", "path", "content", "created_at")


def history(client: Anthropic, store_id: str) -> list[dict[str, Any]]:
    listed = client.beta.memory_stores.memory_versions.list(store_id, view="full")
    return [{name: row[name] for name in TOLD} for row in (version.to_dict(mode="json") for version in listed)]


def memolith(*words: str, url: str = "", key: str = "") -> Any:
    """Run ``memolith backup``; its answer, as JSON."""
    asked = ["--api-url", url, "--api-key", key] if url else []
    command = [sys.executable, "-m", "memolith.clients.cli", "backup", *words, *asked, "--json"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@dataclass(frozen=True, slots=True)
class Saved:
    """A store with versions of every kind, its history, and a folder with its backup."""

    store_id: str
    history: list[dict[str, Any]]
    folder: str


@pytest.fixture
def saved(
    sdk: dict[str, Anthropic], dev: dict[str, Any], regions: tuple[str, ...], store_id: str, tmp_path: Path
) -> Saved:
    memories, folder = sdk[regions[0]].beta.memory_stores.memories, str(tmp_path / "backup")
    made = memories.create(store_id, path="/a.md", content="one")
    memories.update(made.id, memory_store_id=store_id, content="two", path="/b/a.md")
    gone = memories.create(store_id, path="/gone.md", content="not for long")
    memories.delete(gone.id, memory_store_id=store_id)
    before = history(sdk[regions[0]], store_id)
    memolith("create", folder, "--store", store_id, url=dev["regions"][regions[0]]["api_url"], key=dev["api_key"])
    memolith("verify", folder)
    return Saved(store_id, before, folder)


def test_a_store_that_was_erased_everywhere_is_restored_from_a_backup_with_every_version(
    sdk: dict[str, Anthropic], dev: dict[str, Any], regions: tuple[str, ...], saved: Saved
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    home.beta.memory_stores.delete(saved.store_id)
    for client in (home, away):
        until(partial(_is_gone, client, saved.store_id))
    there = dev["regions"][regions[1]]["api_url"]
    [stored] = memolith("restore", saved.folder, url=there, key=dev["api_key"])["stores"]
    assert stored["from"] == saved.store_id
    assert history(away, stored["store"]) == saved.history
    until(lambda: knows(home, stored["store"]))


def test_a_backup_fills_an_empty_deployment_with_every_version(saved: Saved, tmp_path: Path) -> None:
    """A deployment of one process, because to deploy a second cloud takes minutes; it has its own key and no store."""
    with serving(tmp_path / "empty") as empty:
        stores = empty.client().beta.memory_stores
        assert list(stores.list()) == []
        [stored] = memolith("restore", saved.folder, url=empty.url, key=empty.api_key)["stores"]
        assert [one.id for one in stores.list()] == [stored["store"]]
        assert history(empty.client(), stored["store"]) == saved.history
