"""A server of Memolith for tests that run on ADK's packages: `memolith serve`, a process on everybody else's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anthropic
import pytest

from memolith.clients.sdk.adk_memory import MemolithMemoryService

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[anthropic.Anthropic]:
    """The unchanged SDK, on a server over a new folder."""
    folder = tmp_path_factory.mktemp("memolith")
    command = [str(ROOT / ".venv" / "bin" / "python"), "-m", "memolith.clients.cli", "serve", "--port", "0", "--json"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "functions"), "HOME": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            started = json.loads(server.stdout.readline())
            yield anthropic.Anthropic(base_url=started["url"], api_key=started["api_key"], max_retries=0, timeout=60)
        finally:
            server.kill()


@pytest.fixture
def store_id(client: anthropic.Anthropic) -> str:
    return client.beta.memory_stores.create(name="What agents know of users").id


@pytest.fixture
def service(client: anthropic.Anthropic, store_id: str) -> MemolithMemoryService:
    return MemolithMemoryService(client, store_id)
