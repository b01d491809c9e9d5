"""Faults of the emulator: what a request is about, what strikes it, and that it looks as a failure looks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from scripts.local_cloud.faults import PATH, BadFaults, Faults, Faulty, Request

HOME, AWAY = "us-east-1", "eu-west-1"


def scope(path: str, region: str = AWAY, service: str = "s3", method: str = "GET", query: str = "") -> dict[str, Any]:
    signed = f"AWS4-HMAC-SHA256 Credential=AKID/20261122/{region}/{service}/aws4_request, SignedHeaders=host"
    headers = [(b"Authorization", signed.encode())] if service else []
    return {"type": "http", "method": method, "path": path, "headers": headers, "query_string": query.encode()}


class Emulator:
    """What stands behind the faults: answers 200 to everything, and notes what it was asked."""

    def __init__(self, chance: float = 0.0) -> None:
        self.asked: list[str] = []
        self.dropped = 0
        self.faulty = Faulty(self._answer, self._drop, lambda: chance)

    async def _answer(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def _drop(self, send: Any) -> None:
        self.dropped += 1

    def ask(self, scope: dict[str, Any], body: bytes = b"") -> list[dict[str, Any]]:
        """What the client gets."""
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        asyncio.run(self.faulty(scope, receive, send))
        return sent


@pytest.mark.parametrize(
    "request_scope",
    [
        scope("/", region=HOME, service="dynamodb"),
        scope(f"/memolith-dev-000000000000-{HOME}/eu-west-1/log/x", region=AWAY),
        scope("/_aws/execute-api/abc123/$default/v1/memory_stores", service=""),
        scope(
            "/2015-03-31/functions/memolith-dev-writer/invocations",
            service="",
            query=f"X-Amz-Credential=AKID%2F20261122%2F{HOME}%2Flambda%2Faws4_request",
        ),
    ],
    ids=["its signature's scope", "its bucket, from elsewhere", "its API", "a presigned request"],
)
def test_a_region_that_is_cut_off_answers_nothing_however_it_is_named(request_scope: dict[str, Any]) -> None:
    emulator = Emulator()
    emulator.faulty.faults = Faults(cut=frozenset({HOME}), apis={"abc123": HOME})
    assert emulator.ask(request_scope) == []
    assert (emulator.dropped, emulator.asked) == (1, [])


@pytest.mark.parametrize(
    "request_scope",
    [
        scope("/", service="dynamodb"),
        scope(f"/memolith-dev-000000000000-{AWAY}/us-east-1/log/x"),
        scope("/_aws/execute-api/def456/$default/v1/memory_stores", service=""),
        scope("/_ministack/health", service=""),
    ],
)
def test_the_others_answer(request_scope: dict[str, Any]) -> None:
    emulator = Emulator()
    emulator.faulty.faults = Faults(cut=frozenset({HOME}), apis={"abc123": HOME, "def456": AWAY})
    assert emulator.ask(request_scope)[0]["status"] == 200


def test_tables_are_throttled_as_dynamodb_says_it_and_only_that_regions() -> None:
    emulator = Emulator(chance=0.1)
    emulator.faulty.faults = Faults(throttle={HOME: 0.2})
    refused = emulator.ask(scope("/", region=HOME, service="dynamodb"))
    assert refused[0]["status"] == 400
    assert b"ThrottlingException" in refused[1]["body"]
    assert emulator.ask(scope("/", region=AWAY, service="dynamodb"))[0]["status"] == 200
    assert emulator.ask(scope("/bucket/key", region=HOME))[0]["status"] == 200
    emulator.faulty.faults = Faults(throttle={HOME: 0.05})
    assert emulator.ask(scope("/", region=HOME, service="dynamodb"))[0]["status"] == 200


def test_a_lost_reply_is_of_a_put_that_was_done() -> None:
    emulator = Emulator(chance=0.1)
    emulator.faulty.faults = Faults(lose_replies={HOME: 0.2})
    put = scope(f"/memolith-dev-000000000000-{HOME}/us-east-1/log/store/hash/slot", region=HOME, method="PUT")
    assert emulator.ask(put) == []
    assert (emulator.dropped, len(emulator.asked)) == (1, 1)
    assert emulator.ask({**put, "method": "HEAD"})[0]["status"] == 200
    assert emulator.faulty.struck == {"cut": 0, "throttle": 0, "lose_replies": 1}


def test_faults_are_set_and_shown_over_http_and_what_cannot_be_meant_changes_nothing() -> None:
    emulator = Emulator()
    control = {"type": "http", "path": PATH, "headers": [], "query_string": b""}
    set_to = emulator.ask({**control, "method": "POST"}, b'{"cut": ["us-east-1"], "throttle": {"eu-west-1": 0.5}}')
    assert set_to[0]["status"] == 200
    refused = emulator.ask({**control, "method": "POST"}, b'{"cut": "us-east-1"}')
    assert refused[0]["status"] == 400
    shown = emulator.ask({**control, "method": "GET"})
    assert b'"cut": ["us-east-1"]' in shown[1]["body"]
    assert emulator.faulty.faults.throttle == {AWAY: 0.5}


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"cuts": []}, "no such fault: cuts"),
        ({"cut": [1]}, "cut"),
        ({"throttle": {HOME: 2}}, "throttle"),
        ({"throttle": 0.5}, "throttle"),
        ({"lose_replies": {HOME: True}}, "lose_replies"),
    ],
)
def test_what_cannot_be_meant_is_named(wanted: dict[str, Any], field: str) -> None:
    with pytest.raises(BadFaults, match=field):
        Faults().changed(wanted)


def test_a_request_without_a_signature_is_of_no_region() -> None:
    assert Request.of(scope("/x", service="")) == Request("GET", "/x", "", "")
