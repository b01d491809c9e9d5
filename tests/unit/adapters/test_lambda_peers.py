"""How another function is invoked, and what is made of its answers."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import unquote

import pytest

from memolith.adapters.aws.peers import LambdaPeers
from memolith.ports.errors import OutcomeUnknown, Unavailable
from tests.unit.adapters.awkward_server import (
    DEPLOYMENT,
    FAR,
    HANG_UP,
    SILENCE,
    Answer,
    AwkwardServer,
    Script,
    json_answer,
    json_error,
    nobody_there,
)


@pytest.fixture
def peers(server: AwkwardServer) -> LambdaPeers:
    return LambdaPeers(server.clients, DEPLOYMENT)


def test_the_other_regions_function_of_the_same_name_is_invoked(server: AwkwardServer, peers: LambdaPeers) -> None:
    server.answer(json_answer(done="ja, größer"))
    assert peers.call(FAR, "writer", {"call": "write", "content": "naïve"}) == {"done": "ja, größer"}
    (request,) = server.requests
    assert request.path == "/2015-03-31/functions/memolith-test-writer/invocations"
    assert request.headers["x-amz-invocation-type"] == "RequestResponse"
    assert f"/{FAR}/lambda/" in request.headers["authorization"]
    assert request.json == {"call": "write", "content": "naïve"}


def test_a_function_with_versions_is_invoked_by_its_alias(server: AwkwardServer) -> None:
    server.answer(json_answer(done=True))
    LambdaPeers(server.clients, replace(DEPLOYMENT, alias="live")).call(FAR, "writer", {})
    (request,) = server.requests
    assert unquote(request.path) == "/2015-03-31/functions/memolith-test-writer:live/invocations"


def crashed(body: bytes) -> Answer:
    return Answer(200, body, {"x-amz-function-error": "Unhandled"})


CRASHES = [
    (json.dumps({"errorType": "KeyError", "errorMessage": "secret text"}).encode(), "KeyError"),
    (json.dumps({"errorType": "secret text\n", "errorMessage": ""}).encode(), "unknown"),
    (json.dumps({"errorMessage": "secret text timed out"}).encode(), "unknown"),
    (b"secret text", "unknown"),
]


@pytest.mark.parametrize(("body", "told"), CRASHES)
def test_a_crash_over_there_is_unknown_and_tells_its_type_alone(
    server: AwkwardServer, peers: LambdaPeers, body: bytes, told: str
) -> None:
    server.answer(crashed(body))
    with pytest.raises(OutcomeUnknown, match=f"failed: {told}$"):
        peers.call(FAR, "writer", {})


FAILURES: list[tuple[Script, type[Exception]]] = [
    (json_error(429, "TooManyRequestsException"), Unavailable),
    (json_error(403, "AccessDeniedException"), Unavailable),
    (json_error(404, "ResourceNotFoundException"), Unavailable),
    (json_error(413, "RequestTooLargeException"), Unavailable),
    (json_error(500, "ServiceException"), OutcomeUnknown),
    (json_error(502, "EC2UnexpectedException"), OutcomeUnknown),
    (SILENCE, OutcomeUnknown),
    (HANG_UP, OutcomeUnknown),
    (Answer(200, b'{"half": 1}', cut=5), OutcomeUnknown),
    (Answer(200, b"null"), OutcomeUnknown),
    (Answer(200, b"no JSON"), OutcomeUnknown),
]


@pytest.mark.parametrize(("answer", "error"), FAILURES)
def test_what_is_known_of_a_call_that_failed(server: AwkwardServer, answer: Script, error: type[Exception]) -> None:
    peers = LambdaPeers(server.answer(answer), DEPLOYMENT)
    with pytest.raises(error) as raised:
        peers.call(FAR, "writer", {"content": "secret"})
    assert "secret" not in str(raised.value)
    assert len(server.requests) == 1, "a call is never made twice"


def test_a_connection_that_was_never_made_ran_nothing() -> None:
    with pytest.raises(Unavailable):
        LambdaPeers(nobody_there(), DEPLOYMENT).call(FAR, "writer", {})
