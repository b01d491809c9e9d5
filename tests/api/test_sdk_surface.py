"""Every method of the SDK's sessions and stores, with every parameter: answered, or refused in a way that says so.

The methods and their parameters are read from the SDK. What a newer SDK adds fails here until it is decided upon.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import anthropic
import pytest

from tests.api.harness import Backend

REFUSED_ALWAYS = {
    "sessions.resources.add": "type: must be memory_store",
    "sessions.resources.update": "authorization_token: is for a github_repository",
    "sessions.resources.delete": "resource_id: names a memory store",
    "sessions.threads.archive": "thread_id: names the session's primary thread",
}
"""A session's stores do not change, and its one thread ends with it: refused with 400, and with what to do instead."""

REFUSED = {
    "sessions.create": {"budget", "initial_events"},
    "sessions.update": {"agent", "budget", "vault_ids"},
}
"""What only a service that runs agents could keep."""

ABOUT_THE_CALL = {"self", "betas", "timeout", "extra_headers", "extra_query", "extra_body"}
EVENT = {"type": "user.message", "content": [{"type": "text", "text": "hello"}]}
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


PLAIN: dict[str, Any] = {
    "agent": "agent_1", "agent_id": "agent_1", "agent_version": 1, "environment_id": "env_1",
    "deployment_id": "deployment_1", "metadata": {"team": "core"}, "title": "a title",
    "budget": {"type": "tokens", "limit": 5}, "initial_events": [EVENT], "vault_ids": ["vault_1"], "events": [EVENT],
    "types": ["user.message"], "event_deltas": ["agent.message", "agent.thinking"], "statuses": ["idle"],
    "file_id": "file_1", "type": "file", "authorization_token": "t", "mount_path": "/x",
    "created_at_gt": BEFORE, "created_at_gte": BEFORE, "created_at_lt": AFTER, "created_at_lte": AFTER,
    "include_archived": True, "limit": 1, "name": "Notes", "description": "of a team", "order": "desc",
    "content": "third", "path": "/b.md", "path_prefix": "/", "depth": 1, "view": "full", "api_key_id": "apikey_1",
    "service_account_id": "svcacct_1", "operation": "created",
}  # fmt: skip
"""Values that say nothing of what is there."""


class Given:
    """A value for every parameter of one method, of things that are there.

    Each is made when it is first needed. What is listed is there before.
    """

    def __init__(self, backend: Backend, method: str) -> None:
        client = backend.client()
        self.backend, self.method = backend, method
        self.stores, self.sessions = client.beta.memory_stores, client.beta.sessions
        if method.endswith(".list"):
            assert self.memory and self.session

    def value(self, parameter: str) -> Any:
        """Return a value that is right for a parameter."""
        made: dict[str, Callable[[], Any]] = {
            "resources": lambda: self.resources,
            "workspace_id": lambda: "wrkspc_" + self.backend.api_key.split("-")[2],
            "session_id": lambda: self.session,
            "memory_store_id": lambda: self.store,
            "resource_id": lambda: self.session and self.store,
            "thread_id": lambda: self.session.replace("sesn_", "sthr_"),
            "memory_id": lambda: self.memory.id,
            "memory_version_id": lambda: self.old,
            "expected_content_sha256": lambda: self.memory.content_sha256,
            "precondition": lambda: {"type": "content_sha256", "content_sha256": self.memory.content_sha256},
            "page": lambda: self.page,
        }
        return made[parameter]() if parameter in made else PLAIN[parameter]

    @cached_property
    def store(self) -> str:
        """A store's id."""
        return self.stores.create(name="Team notes").id

    @cached_property
    def other_store(self) -> str:
        """Another store's id."""
        return self.stores.create(name="Other notes").id

    @cached_property
    def first(self) -> Any:
        """A memory as it was created."""
        return self.stores.memories.create(self.store, path="/a.md", content="first")

    @cached_property
    def memory(self) -> Any:
        """The memory as it is now."""
        return self.stores.memories.update(self.first.id, memory_store_id=self.store, content="second")

    @property
    def old(self) -> Any:
        """The id of a version that another one followed."""
        assert self.memory
        return self.first.memory_version_id

    @property
    def resources(self) -> Any:
        """What a session is created with."""
        return [{"type": "memory_store", "memory_store_id": one} for one in (self.store, self.other_store)]

    @cached_property
    def session(self) -> str:
        """A session's id."""
        return self.sessions.create(agent="agent_1", environment_id="env_1", resources=self.resources).id

    @cached_property
    def page(self) -> str | None:
        """A cursor of a listing, as the listing itself gave it; None where there is no such listing."""
        if not self.method.endswith(".list"):
            return None
        self.sessions.create(agent="agent_1", environment_id="env_1", resources=self.resources)
        self.stores.create(name="Another")
        self.stores.memories.create(self.store, path="/z.md", content="last")
        for text in ("one", "two"):
            self.sessions.events.send(
                self.session, events=[{"type": "user.message", "content": [{"type": "text", "text": text}]}]
            )
        listings: dict[str, Callable[[], Any]] = {
            "sessions.list": lambda: self.sessions.list(limit=1),
            "sessions.events.list": lambda: self.sessions.events.list(self.session, limit=1),
            "sessions.resources.list": lambda: self.sessions.resources.list(self.session, limit=1),
            "sessions.threads.list": lambda: self.sessions.threads.list(self.session, limit=1),
            "sessions.threads.events.list": lambda: self.sessions.threads.events.list(
                self.session.replace("sesn_", "sthr_"), session_id=self.session, limit=1
            ),
            "memory_stores.list": lambda: self.stores.list(limit=1),
            "memory_stores.memories.list": lambda: self.stores.memories.list(self.store, limit=1),
            "memory_stores.memory_versions.list": lambda: self.stores.memory_versions.list(self.store, limit=1),
        }
        next_page: str | None = listings[self.method]().next_page
        assert (next_page is None) == (self.method == "sessions.threads.list"), "a session has one thread, and no more"
        return next_page


def test_the_surface_of_the_sdk_is_what_these_tests_were_written_for(backend: Backend) -> None:
    names = set(surface(backend.client()))
    assert names >= {*REFUSED, *REFUSED_ALWAYS, "sessions.events.stream", "sessions.threads.events.stream"}
    assert len(names) >= 31


def test_every_method_with_every_parameter_is_answered_or_refused_by_its_name(backend: Backend) -> None:
    unexpected = []
    for name, method in surface(backend.client()).items():
        given = Given(backend, name)
        needed = [one for one, must in parameters(method).items() if must]
        needed += ["resources"] if name == "sessions.create" else []
        needed += ["content"] if name == "memory_stores.memories.update" else []
        for more in [None, *(one for one in parameters(method) if one not in needed)]:
            if not name.endswith(".list"):
                given = Given(backend, name)  # some calls end what they are about
            asked = {one: given.value(one) for one in (*needed, *([more] if more else []))}
            backend.gateway.log.clear()
            try:
                method(**asked)
                said = ""
            except anthropic.APIStatusError as error:
                said = error.message
            [(_, _, status)] = backend.gateway.log
            if name in REFUSED_ALWAYS:
                is_right = status == 400 and REFUSED_ALWAYS[name] in said
            elif more in REFUSED.get(name, ()):
                is_right = status == 400 and str(more) in said
            else:
                is_right = status == 200
            unexpected += [] if is_right else [(name, more, status, said[-120:])]
    assert not unexpected, "\n".join(map(repr, unexpected))
