"""The local cloud for the end-to-end tests: brought up once, IAM enforced, taken down afterwards.

A cloud that is up already (`memolith dev up`) is used as it is, and left running.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from memolith.adapters.aws.clients import Clients, local_clients
from scripts.agents import client

ROOT = Path(__file__).resolve().parents[2]
DEV_FILE = ROOT / ".memolith" / "dev.json"


def _local_cloud(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "scripts.local_cloud", *arguments], cwd=ROOT, check=True)


@pytest.fixture(scope="session")
def dev() -> Iterator[dict[str, Any]]:
    """What ``.memolith/dev.json`` says."""
    ours = not DEV_FILE.exists()
    if ours:
        _local_cloud("up", "--regions", "us-east-1,eu-west-1", "--enforce-iam")
    try:
        yield json.loads(DEV_FILE.read_text())
    finally:
        if ours:
            _local_cloud("down")


@pytest.fixture(scope="session")
def regions(dev: dict[str, Any]) -> tuple[str, ...]:
    return tuple(dev["regions"])


@pytest.fixture(scope="session")
def sdk(dev: dict[str, Any]) -> dict[str, Anthropic]:
    """The unchanged SDK, one client a region."""
    return {name: client(region["api_url"], dev["api_key"]) for name, region in dev["regions"].items()}


@pytest.fixture(scope="session")
def aws(dev: dict[str, Any]) -> Clients:
    """The emulator's own APIs, as its root."""
    return local_clients(dev["endpoint"])


@pytest.fixture
def store_id(sdk: dict[str, Anthropic], regions: tuple[str, ...]) -> str:
    """A new store whose home is the first region."""
    return sdk[regions[0]].beta.memory_stores.create(name="end to end").id


def until(holds: Callable[[], Any], within_s: float = 30.0) -> Any:
    """Waits for a condition, with a bound; answers what it gave."""
    deadline = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"not so within {within_s} s"
        time.sleep(0.05)
    return found


def knows(sdk: Anthropic, store_id: str) -> bool:
    """Whether a region has heard of a store."""
    try:
        return bool(sdk.beta.memory_stores.retrieve(store_id))
    except anthropic.NotFoundError:
        return False


def begin(sdk: Anthropic, *resources: dict[str, Any]) -> dict[str, Any]:
    """A new session with these stores attached, its token among its fields."""
    attached: Any = [{"type": "memory_store", "access": "read_write", **one} for one in resources]
    session = sdk.beta.sessions.create(agent="agent_1", environment_id="env_1", resources=attached)
    return session.to_dict()
