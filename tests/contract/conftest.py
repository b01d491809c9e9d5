"""One world for every kind of adapter; each contract test runs in all of them.

``memory``; ``layered``: memory with somebody standing at every call, and indexes that lag; ``local``: files and SQLite;
``moto`` and ``emulator``: the adapters for AWS, on two different imitations of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from memolith.adapters.layered import CallCounts
from tests.contract.emulator_world import EmulatorWorld, emulator_world
from tests.contract.moto_world import locked_moto
from tests.contract.worlds import (
    WORLDS,
    IndexWorld,
    ObjectsWorld,
    aws_index,
    aws_objects,
    local_index,
    local_objects,
    memory_index,
    memory_objects,
)
from tests.support.folders import quick_folder


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorWorld]:
    """One for all tests; started when the first asks for it."""
    with emulator_world(tmp_path_factory.mktemp("contract")) as running:
        yield running


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> Iterator[ObjectsWorld]:
    """Buckets."""
    if request.param == "memory":
        yield memory_objects()
    elif request.param == "layered":
        yield memory_objects(CallCounts())
    elif request.param == "local":
        with quick_folder() as folder:
            yield local_objects(folder)
    elif request.param == "moto":
        with locked_moto() as clients:
            yield aws_objects(clients)
    else:
        yield aws_objects(request.getfixturevalue("emulator").emptied())


@pytest.fixture(params=WORLDS)
def rows(request: pytest.FixtureRequest) -> Iterator[IndexWorld]:
    """Tables."""
    if request.param == "memory":
        yield memory_index()
    elif request.param == "layered":
        yield memory_index(CallCounts(), lagging=True)
    elif request.param == "local":
        with quick_folder() as folder:
            yield local_index(folder)
    elif request.param == "moto":
        with locked_moto() as clients:
            yield aws_index(clients)
    else:
        yield aws_index(request.getfixturevalue("emulator").emptied())


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Threads change places as often as Python can make them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
