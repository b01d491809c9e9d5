"""Every method of the SDK's sessions and stores, with every parameter: answered, or refused in a way that says so.

The methods and their parameters are read from the SDK. What a newer SDK adds fails here until it is decided upon.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import pytest

from tests.api.harness import Backend

NOT_SERVED = {
    "sessions.events.stream",
    *(f"sessions.resources.{name}" for name in ("add", "delete", "list", "retrieve", "update")),
    *(f"sessions.threads.{name}" for name in ("archive", "list", "retrieve", "events.list", "events.stream")),
}
"""Memolith runs no agent, so that nothing is streamed and there are no threads; a session's stores do not change."""

REFUSED = {
    "sessions.create": {"budget", "initial_events"},
    "sessions.update": {"agent", "budget", "vault_ids"},
}
"""What only a service that runs agents could keep."""

ABOUT_THE_CALL = {"self", "betas", "timeout", "extra_headers", "extra_query", "extra_body"}
BEFORE, AFTER = "2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


def methods(resource: Any, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every method of a resource of the SDK, and of those below it, by its name."""
    for word in sorted(dir(type(resource))):
        if word.startswith(("_", "with_")):
            continue
        if callable(getattr(type(resource), word)):
            yield f"{name}.{word}", getattr(resource, word)
        else:
            yield from methods(getattr(resource, word), f"{name}.{word}")


def surface(client: anthropic.Anthropic) -> dict[str, Callable[..., Any]]:
    """Every method of the SDK that Memolith could answer, but dreams, which `test_dreams` goes through."""
    return dict([*methods(client.beta.sessions, "sessions"), *methods(client.beta.memory_stores, "memory_stores")])


def parameters(method: Callable[..., Any]) -> dict[str, bool]:
    """A method's own parameters, and whether each must be given."""
    found = inspect.signature(method).parameters.items()
    return {name: one.default is inspect.Parameter.empty for name, one in found if name not in ABOUT_THE_CALL}


class Given:
    """A value for every parameter, of things that are there; made anew for each call, since some calls end them."""

    def __init__(self, backend: Backend) -> None:
        self.client = backend.client()
        self.backend = backend

    def values(self, name: str) -> dict[str, Any]:
        """Values that are right for one method."""
        stores, sessions = self.client.beta.memory_stores, self.client.beta.sessions
        store = stores.create(name="Team notes").id
        memory = stores.memories.create(store, path="/a.md", content="first")
        old = memory.memory_version_id
        memory = stores.memories.update(memory.id, memory_store_id=store, content="second")
        resources = [{"type": "memory_store", "memory_store_id": store}]
        session = sessions.create(agent="agent_1", environment_id="env_1", resources=resources).id  # type: ignore[arg-type]
        event = {"type": "user.message", "content": [{"type": "text", "text": "hello"}]}
        return {
            "agent": "agent_1", "agent_id": "agent_1", "agent_version": 1, "environment_id": "env_1",
            "deployment_id": "deployment_1", "resources": resources, "metadata": {"team": "core"}, "title": "a title",
            "budget": {"type": "tokens", "limit": 5}, "initial_events": [event], "vault_ids": ["vault_1"],
            "workspace_id": self.workspace, "session_id": session, "memory_store_id": store, "events": [event],
            "types": ["user.message"], "event_deltas": ["agent.message"], "statuses": ["idle"], "file_id": "file_1",
            "type": "file", "resource_id": "sesrsc_1", "authorization_token": "t", "thread_id": "sthr_1",
            "mount_path": "/x", "created_at_gt": BEFORE, "created_at_gte": BEFORE, "created_at_lt": AFTER,
            "created_at_lte": AFTER, "include_archived": True, "limit": 1, "name": "Notes", "description": "of a team",
            "order": "desc", "content": "third", "path": "/b.md", "path_prefix": "/", "depth": 1, "view": "full",
            "memory_id": memory.id, "expected_content_sha256": memory.content_sha256,
            "precondition": {"type": "content_sha256", "content_sha256": memory.content_sha256},
            "api_key_id": "apikey_1", "service_account_id": "svcacct_1", "operation": "created",
            "memory_version_id": old, "page": self.page(name, store, session),
        }  # fmt: skip

    @property
    def workspace(self) -> str:
        """The workspace of the key that asks."""
        return "wrkspc_" + self.backend.api_key.split("-")[2]

    def page(self, name: str, store: str, session: str) -> str | None:
        """A cursor of a listing, as the listing itself gave it; None where there is no such listing."""
        if not name.endswith(".list") or name in NOT_SERVED:
            return None
        stores, sessions = self.client.beta.memory_stores, self.client.beta.sessions
        resources: Any = [{"type": "memory_store", "memory_store_id": store}]
        sessions.create(agent="agent_1", environment_id="env_1", resources=resources)
        stores.create(name="Another")
        stores.memories.create(store, path="/z.md", content="last")
        for text in ("one", "two"):
            sessions.events.send(
                session, events=[{"type": "user.message", "content": [{"type": "text", "text": text}]}]
            )
        listings: dict[str, Callable[[], Any]] = {
            "sessions.list": lambda: sessions.list(limit=1),
            "sessions.events.list": lambda: sessions.events.list(session, limit=1),
            "memory_stores.list": lambda: stores.list(limit=1),
            "memory_stores.memories.list": lambda: stores.memories.list(store, limit=1),
            "memory_stores.memory_versions.list": lambda: stores.memory_versions.list(store, limit=1),
        }
        next_page: str | None = listings[name]().next_page
        return next_page


def test_every_method_of_the_sdk_is_served_or_known_not_to_be(backend: Backend) -> None:
    names = set(surface(backend.client()))
    assert names >= NOT_SERVED
    assert {name for name in names if name.startswith("memory_stores.")} & NOT_SERVED == set()
    assert len(names - NOT_SERVED) >= 20


def test_every_method_with_every_parameter_is_answered_or_refused_by_its_name(backend: Backend) -> None:
    given, unexpected = Given(backend), []
    for name, method in surface(backend.client()).items():
        needed = [one for one, must in parameters(method).items() if must]
        needed += ["resources"] if name == "sessions.create" else []
        needed += ["content"] if name == "memory_stores.memories.update" else []
        for more in [None, *(one for one in parameters(method) if one not in needed)]:
            values = given.values(name)
            asked = {one: values[one] for one in (*needed, *([more] if more else []))}
            backend.gateway.log.clear()
            try:
                method(**asked)
                said = ""
            except anthropic.APIStatusError as error:
                said = error.message
            [(_, _, status)] = backend.gateway.log
            if name in NOT_SERVED:
                is_right = status == 404 and "no operation has this path" in said
            elif more in REFUSED.get(name, ()):
                is_right = status == 400 and str(more) in said
            else:
                is_right = status == 200
            unexpected += [] if is_right else [(name, more, status, said[-120:])]
    assert not unexpected, "\n".join(map(repr, unexpected))
