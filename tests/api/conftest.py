"""Fixtures of the API tests: each test runs against every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anthropic
import pytest

from tests.api.harness import Backend, far_backend, memolith_backend, model_backend
from tests.api.laptop import laptop_backends
from tests.support.folders import quick_folder

BACKENDS: dict[str, Callable[[int], Backend]] = {
    "model": model_backend,
    "memolith": memolith_backend,
    "far": far_backend,
}
LAPTOP = "laptop"


@pytest.fixture(params=[*sorted(BACKENDS), LAPTOP])
def make_backend(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Backend]]:
    """Builds a backend whose stores hold so many memories; ``laptop`` is the one that is asked over a socket."""
    with _builder(request.param) as build:
        yield build


@contextmanager
def _builder(name: str) -> Iterator[Callable[[int], Backend]]:
    if name == LAPTOP:
        with quick_folder() as root, laptop_backends(root) as build:
            yield build
    else:
        yield BACKENDS[name]


@pytest.fixture(scope="module", params=[*sorted(BACKENDS), LAPTOP])
def shared_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """One for all tests of a module: for those that are refused and change nothing, or that have a store each."""
    with _builder(request.param) as build:
        yield build(10_000)


HAVE_SESSIONS = ["memolith", "far", LAPTOP]


@pytest.fixture(params=HAVE_SESSIONS)
def sessions_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Those that have sessions, which the model has not."""
    with _builder(request.param) as build:
        yield build(10_000)


@pytest.fixture(scope="module", params=HAVE_SESSIONS)
def shared_sessions_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """As `shared_backend`, of those that have sessions."""
    with _builder(request.param) as build:
        yield build(10_000)


@pytest.fixture
def backend(make_backend: Callable[[int], Backend]) -> Backend:
    return make_backend(10_000)


@pytest.fixture
def client(backend: Backend) -> anthropic.Anthropic:
    return backend.client()


@pytest.fixture
def store_id(client: anthropic.Anthropic) -> str:
    """A new, empty store of workspace ``main``."""
    return client.beta.memory_stores.create(name="Team notes").id
