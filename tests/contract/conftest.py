"""One world for every kind of adapter; each contract test runs in all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from cairn.adapters.layered import CallCounts
from tests.contract.moto_world import locked_moto
from tests.contract.worlds import IndexWorld, ObjectsWorld, aws_index, aws_objects, memory_index, memory_objects


@pytest.fixture(params=["memory", "layered", "aws"])
def world(request: pytest.FixtureRequest) -> Iterator[ObjectsWorld]:
    """Buckets."""
    if request.param == "memory":
        yield memory_objects()
    elif request.param == "layered":
        yield memory_objects(CallCounts())
    else:
        with locked_moto() as clients:
            yield aws_objects(clients)


@pytest.fixture(params=["memory", "layered", "aws"])
def rows(request: pytest.FixtureRequest) -> Iterator[IndexWorld]:
    """Tables."""
    if request.param == "memory":
        yield memory_index()
    elif request.param == "layered":
        yield memory_index(CallCounts(), lagging=True)
    else:
        with locked_moto() as clients:
            yield aws_index(clients)


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Threads change places as often as Python can make them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
