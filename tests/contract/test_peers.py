"""What every adapter of `ports.peers.Peers` promises.

Behind `LambdaPeers` stands a server that speaks Lambda's Invoke as far as it matters here: moto runs no functions
without containers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from memolith.adapters.aws.peers import LambdaPeers
from memolith.adapters.layered import CallCounts, InterceptedPeers
from memolith.adapters.memory import MemoryPeers
from memolith.ports.errors import OutcomeUnknown, Unavailable
from memolith.ports.peers import Peers
from tests.unit.adapters.awkward_server import (
    DEPLOYMENT,
    FAR,
    HOME,
    Answer,
    AwkwardServer,
    Request,
    awkward_server,
    json_error,
)

Handler = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PeersWorld:
    """Peers, and a way to put a function somewhere."""

    peers: Peers
    register: Callable[[str, str, Handler], None]


@dataclass(slots=True)
class Functions:
    """Lambda's Invoke: a region's functions by name."""

    handlers: dict[tuple[str, str], Handler] = field(default_factory=dict)

    def register(self, region: str, function: str, handler: Handler) -> None:
        self.handlers[region, DEPLOYMENT.function(function)] = handler

    def invoke(self, request: Request) -> Answer:
        region = request.headers["authorization"].split("/")[2]
        handler = self.handlers.get((region, request.path.split("/")[3]))
        if handler is None:
            return json_error(404, "ResourceNotFoundException")
        try:
            return Answer(200, json.dumps(handler(request.json)).encode())
        except Exception as error:  # noqa: BLE001 - so Lambda reports whatever a function raises
            report = {"errorType": type(error).__name__, "errorMessage": str(error)}
            return Answer(200, json.dumps(report).encode(), {"x-amz-function-error": "Unhandled"})


@pytest.fixture(scope="module")
def server() -> Iterator[AwkwardServer]:
    with awkward_server() as running:
        yield running


@pytest.fixture(params=["memory", "layered", "aws"])
def world(request: pytest.FixtureRequest, server: AwkwardServer) -> PeersWorld:
    if request.param == "aws":
        functions = Functions()
        server.answer(functions.invoke)
        return PeersWorld(LambdaPeers(server.clients, DEPLOYMENT), functions.register)
    memory = MemoryPeers()
    peers: Peers = memory if request.param == "memory" else InterceptedPeers(memory, HOME, CallCounts())
    return PeersWorld(peers, memory.register)


def test_a_call_is_answered_by_the_region_and_function_it_named(world: PeersWorld) -> None:
    def answer(where: list[str], payload: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"at": where, "got": payload}

    for region in (HOME, FAR):
        for function in ("writer", "indexer"):
            world.register(region, function, partial(answer, [region, function]))
    payload = {"call": "write", "content": "naïve 🧠", "size": 5, "nothing": None, "list": [1, {"a": True}]}
    assert world.peers.call(FAR, "writer", payload) == {"at": [FAR, "writer"], "got": payload}
    assert world.peers.call(HOME, "indexer", {}) == {"at": [HOME, "indexer"], "got": {}}


def test_a_function_that_is_not_there_did_not_run(world: PeersWorld) -> None:
    with pytest.raises(Unavailable):
        world.peers.call(FAR, "writer", {})


def test_a_function_that_failed_may_have_done_it_and_tells_only_the_kind_of_failure(world: PeersWorld) -> None:
    def fails(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        raise KeyError("secret text")

    world.register(FAR, "writer", fails)
    with pytest.raises(OutcomeUnknown, match="KeyError") as raised:
        world.peers.call(FAR, "writer", {})
    assert "secret" not in str(raised.value)


def test_a_call_is_made_once_even_if_it_fails(world: PeersWorld) -> None:
    calls = []

    def fails(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        calls.append(payload)
        raise RuntimeError

    world.register(FAR, "writer", fails)
    with pytest.raises(OutcomeUnknown):
        world.peers.call(FAR, "writer", {"call": "write"})
    assert calls == [{"call": "write"}]


def test_neither_side_can_change_what_the_other_holds(world: PeersWorld) -> None:
    kept: dict[str, Any] = {"list": ["a"]}
    world.register(FAR, "writer", lambda payload: kept)
    payload: dict[str, Any] = {"list": ["b"]}
    answer = dict(world.peers.call(FAR, "writer", payload))
    answer["list"].append("c")
    assert (kept, payload) == ({"list": ["a"]}, {"list": ["b"]})
