"""Ours: a session's token is worth what the server says of it, whatever its holder sends and wherever."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from memolith.app.auth.session_tokens import PREFIX
from scripts.agents import client
from tests.e2e.conftest import begin, knows, until
from tests.e2e.ways import WAYS, Opened
from tests.memory_tool.conftest import say

pytestmark = pytest.mark.e2e

ENDED_WITHIN_S = 10
WAYS_OVER_THE_NETWORK = ("SDK", "tool function", "MCP over HTTP")
VIEW = {"command": "view", "path": "/memories"}
WRITES = (
    {"command": "create", "path": "/memories/new.md", "file_text": "x"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "text", "new_str": "x"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "x"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
    {"command": "delete", "path": "/memories/a.md"},
)


@pytest.fixture
def memory_id(sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str) -> str:
    """A memory of the store, which every region has."""
    memory = sdk[regions[0]].beta.memory_stores.memories.create(store_id, path="/a.md", content="text")
    for region in regions[:2]:
        until(lambda region=region: _reads(sdk[region], store_id))  # type: ignore[misc]  # a lambda with a default has no type
    return memory.id


def test_read_only_holds_against_a_client_that_lies(
    dev: dict[str, Any],
    sdk: dict[str, Anthropic],
    regions: tuple[str, ...],
    store_id: str,
    memory_id: str,
) -> None:
    session = begin(sdk[regions[0]], {"memory_store_id": store_id, "access": "read_only"})
    before = _state(sdk[regions[0]], store_id)
    for region in regions[:2]:
        liar = client(dev["regions"][region]["api_url"], session["token"])
        assert [one.path for one in liar.beta.memory_stores.memories.list(store_id)] == ["/a.md"]
        for name, attempt in _attempts(liar, store_id, memory_id, session["id"]).items():
            with pytest.raises((anthropic.PermissionDeniedError, anthropic.NotFoundError)):
                pytest.fail(f"{name} was let through: {attempt()}")
        opened = Opened(dev, region, store_id, session["token"], session["id"])
        for way in WAYS_OVER_THE_NETWORK:
            with WAYS[way](opened) as tool:
                assert [command["command"] for command in WRITES if not say(tool, command).is_error] == [], way
                assert not say(tool, VIEW).is_error
    assert _state(sdk[regions[0]], store_id) == before


def test_a_token_whose_claims_were_changed_is_none(
    dev: dict[str, Any], sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    token = begin(sdk[regions[0]], {"memory_store_id": store_id, "access": "read_only"})["token"]
    head, claims, signature = token.removeprefix(PREFIX).split(".")
    raised = _encoded({**_decoded(claims), "acc": {store_id: "read_write"}})
    for forged in (f"{head}.{raised}.{signature}", f"{_encoded({'alg': 'none', 'typ': 'JWT'})}.{raised}."):
        liar = client(dev["regions"][regions[0]]["api_url"], f"{PREFIX}{forged}")
        with pytest.raises(anthropic.AuthenticationError):
            liar.beta.memory_stores.memories.create(store_id, path="/b.md", content="x")


def test_a_token_of_one_store_opens_no_other_through_any_way(
    dev: dict[str, Any],
    sdk: dict[str, Anthropic],
    regions: tuple[str, ...],
    store_id: str,
    memory_id: str,
) -> None:
    other = sdk[regions[0]].beta.memory_stores.create(name="other").id
    for region in regions[:2]:
        until(lambda region=region: knows(sdk[region], other))  # type: ignore[misc]  # a lambda with a default has no type
    session = begin(sdk[regions[0]], {"memory_store_id": other})
    before = _state(sdk[regions[0]], store_id)
    for region in regions[:2]:
        stranger = client(dev["regions"][region]["api_url"], session["token"])
        for name, attempt in _attempts(stranger, store_id, memory_id, session["id"]).items():
            with pytest.raises((anthropic.PermissionDeniedError, anthropic.NotFoundError)):
                pytest.fail(f"{name} was let through: {attempt()}")
        assert not _reads(stranger, store_id)
        opened = Opened(dev, region, store_id, session["token"], session["id"])
        for way in WAYS_OVER_THE_NETWORK:
            with WAYS[way](opened) as tool:
                assert [command["command"] for command in (VIEW, *WRITES) if not say(tool, command).is_error] == [], way
    assert _state(sdk[regions[0]], store_id) == before


def test_a_revoked_token_stops_within_seconds_through_every_way(
    dev: dict[str, Any],
    sdk: dict[str, Anthropic],
    regions: tuple[str, ...],
    store_id: str,
    memory_id: str,
) -> None:
    session = begin(sdk[regions[0]], {"memory_store_id": store_id})
    for region in regions[:2]:
        until(lambda region=region: _works(dev, region, store_id, session))  # type: ignore[misc]  # a lambda with a default has no type
    sdk[regions[0]].beta.sessions.archive(session["id"])
    for region in regions[:2]:
        until(lambda region=region: not _works(dev, region, store_id, session), ENDED_WITHIN_S)  # type: ignore[misc]  # a lambda with a default has no type


def _works(dev: dict[str, Any], region: str, store_id: str, session: dict[str, Any]) -> bool:
    """Whether any way shows the store; all must agree before this is answered with no."""
    opened = Opened(dev, region, store_id, session["token"], session["id"])
    shown = []
    for way in WAYS_OVER_THE_NETWORK:
        with WAYS[way](opened) as tool:
            shown.append(not say(tool, VIEW).is_error)
    return any(shown)


def _attempts(sdk: Anthropic, store_id: str, memory_id: str, session_id: str) -> dict[str, Callable[[], Any]]:
    """Every call of the API that changes something, as its holder may send it past any tool."""
    stores, memories = sdk.beta.memory_stores, sdk.beta.memory_stores.memories
    versions = stores.memory_versions
    wider: Any = [{"type": "memory_store", "memory_store_id": store_id, "access": "read_write"}]
    return {
        "create": lambda: memories.create(store_id, path="/new.md", content="x"),
        "update": lambda: memories.update(memory_id, memory_store_id=store_id, content="x"),
        "rename": lambda: memories.update(memory_id, memory_store_id=store_id, path="/b.md"),
        "delete": lambda: memories.delete(memory_id, memory_store_id=store_id),
        "redact": lambda: versions.redact("memver_useast1_01kb0000000000000000000000", memory_store_id=store_id),
        "name the store": lambda: stores.update(store_id, name="mine"),
        "archive the store": lambda: stores.archive(store_id),
        "delete the store": lambda: stores.delete(store_id),
        "make a store": lambda: stores.create(name="mine"),
        "begin a session": lambda: sdk.beta.sessions.create(agent="a", environment_id="e", resources=wider),
        "end the session": lambda: sdk.beta.sessions.archive(session_id),
    }


def _state(sdk: Anthropic, store_id: str) -> tuple[Any, ...]:
    """All that a write could have changed."""
    versions = sdk.beta.memory_stores.memory_versions.list(store_id, view="full")
    store = sdk.beta.memory_stores.retrieve(store_id)
    return store.name, store.archived_at, [one.to_dict() for one in versions]


def _reads(sdk: Anthropic, store_id: str) -> bool:
    try:
        return bool(list(sdk.beta.memory_stores.memories.list(store_id)))
    except (anthropic.PermissionDeniedError, anthropic.NotFoundError):
        return False


def _decoded(part: str) -> dict[str, Any]:
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))  # type: ignore[no-any-return]  # JSON has no type


def _encoded(fields: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()
