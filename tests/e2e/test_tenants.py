"""Ours: tenants on the deployment never see each other, and a revoked key ends everywhere at once."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from scripts.agents import client
from tests.e2e.conftest import ROOT, begin, until

pytestmark = pytest.mark.e2e


def memolith(*arguments: str) -> Any:
    """The command line's answer, as JSON."""
    command = [sys.executable, "-m", "memolith.clients.cli", *arguments, "--json"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def test_a_key_of_one_workspace_finds_nothing_of_another(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any]
) -> None:
    memory = sdk[regions[0]].beta.memory_stores.memories.create(store_id, path="/a", content="theirs")
    issued = memolith("keys", "create", "--workspace", "wrkspc_other", "--scope", "admin", "--name", "other")
    stranger = client(dev["regions"][regions[0]]["api_url"], issued["api_key"])
    assert store_id not in [store.id for store in stranger.beta.memory_stores.list(limit=100)]
    with pytest.raises(anthropic.NotFoundError):
        stranger.beta.memory_stores.retrieve(store_id)
    with pytest.raises(anthropic.NotFoundError):
        stranger.beta.memory_stores.memories.retrieve(memory.id, memory_store_id=store_id)
    with pytest.raises(anthropic.NotFoundError):
        stranger.beta.memory_stores.memories.create(store_id, path="/b", content="mine")


def test_a_revoked_key_and_its_session_stop_in_every_region_that_confirmed_it(
    regions: tuple[str, ...], dev: dict[str, Any], store_id: str
) -> None:
    issued = memolith("keys", "create", "--scope", "read", "--name", "short-lived", "--store", store_id)
    clients = [client(dev["regions"][region]["api_url"], issued["api_key"]) for region in regions]
    for one in clients:
        until(lambda one=one: _works(one, store_id))  # type: ignore[misc]  # a lambda with a default has no type
    with pytest.raises(anthropic.PermissionDeniedError):
        clients[0].beta.memory_stores.memories.create(store_id, path="/a", content="")
    session = begin(clients[0], {"memory_store_id": store_id, "access": "read_only"})
    of_session = [client(dev["regions"][region]["api_url"], session["token"]) for region in regions]
    assert [_works(one, store_id) for one in of_session] == [True] * len(regions)
    confirmed = memolith("keys", "revoke", issued["key_id"])
    assert [(row["region"], row["confirmed"]) for row in confirmed] == [(region, True) for region in regions]
    assert [_works(one, store_id) for one in (*clients, *of_session)] == [False] * 2 * len(clients)


def _works(sdk: Anthropic, store_id: str) -> bool:
    try:
        sdk.beta.memory_stores.retrieve(store_id)
    except anthropic.AuthenticationError:
        return False
    return True
