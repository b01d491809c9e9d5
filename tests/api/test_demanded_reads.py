"""What each read answers where the caller demands the home's answer, or a version: the same in every region.

A read that neither asks the store's home nor refuses the demand would be answered at home, and be an error elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from memolith.adapters.memory import RecordingMetrics, SeededRandomness
from memolith.wire.exchange import Exchange
from memolith.wire.http import HttpApi
from memolith.wire.routes.table import Route
from tests.api.harness import EVERY_ROUTE, Backend, Reply, far_backend, memolith_backend

UNKNOWN = "memver_01kb0000000000000000000000"
DEMANDS = [{"x-memolith-consistency": "home"}, {"x-memolith-min-version": UNKNOWN}]
READS = {route.methods["GET"].__name__: route.path for route in EVERY_ROUTE if "GET" in route.methods}
QUERIES = {
    "build_context": "url=/a",
    "reach_graph": "path=/a",
    "recall_memories": "query=x",
    "search_memories": "query=x",
    "search_stores": "query=x&memory_store_ids={store}",
    "search_transcripts": "query=x",
}
NAMED = {
    "memory_stores": "store",
    "memories": "memory",
    "memory_versions": "version",
    "proposals": "proposal",
    "sessions": "session",
    "resources": "store",
    "threads": "thread",
}
"""What an id in a path is of, by the part before it; an id of anything else is that of nothing."""


def made(backend: Backend) -> dict[str, str]:
    """Make one of each thing that a path may name; return their ids."""

    def post(path: str, body: Mapping[str, Any]) -> Any:
        reply = backend.raw("POST", path, body=body)
        assert reply.status == 200, reply.body
        return reply.body

    store = post("/v1/memory_stores", {"name": "Team notes"})["id"]
    stores = f"/v1/memory_stores/{store}"
    memory = post(f"{stores}/memories", {"path": "/a", "content": "x"})
    proposal = post(f"{stores}/proposals", {"edits": [{"op": "create", "path": "/b", "content": "x"}]})
    session = post("/v1/sessions", {"resources": [{"type": "memory_store", "memory_store_id": store}]})
    return {
        "store": store,
        "memory": memory["id"],
        "version": memory["memory_version_id"],
        "proposal": proposal["id"],
        "session": session["id"],
        "thread": backend.raw("GET", f"/v1/sessions/{session['id']}/threads").body["data"][0]["id"],
    }


class Asked:
    """A region, and one of each thing that a read is asked about."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._ids = made(backend)

    def read(self, operation: str, headers: Mapping[str, str]) -> Reply:
        path = READS[operation]
        before = ("", *path)
        parts = [
            self._ids.get(NAMED.get(before[at], ""), "nothing") if part == "*" else part for at, part in enumerate(path)
        ]
        query = QUERIES.get(operation, "").format(**self._ids)
        return self.backend.raw("GET", f"/{'/'.join(parts)}", query, headers=headers)


@pytest.fixture(scope="module")
def at_home() -> Asked:
    return Asked(memolith_backend())


@pytest.fixture(scope="module")
def elsewhere() -> Asked:
    return Asked(far_backend())


@pytest.mark.parametrize("demand", DEMANDS, ids=lambda demand: next(iter(demand)))
@pytest.mark.parametrize("operation", READS)
def test_a_read_that_demands_the_home_or_a_version_has_the_same_status_at_home_and_elsewhere(
    at_home: Asked, elsewhere: Asked, operation: str, demand: dict[str, str]
) -> None:
    assert at_home.read(operation, {}).status in (200, 404), "the test asks a question that is none"
    here, there = at_home.read(operation, demand), elsewhere.read(operation, demand)
    assert (there.status, there.body.get("error", {}).get("type")) == (
        here.status,
        here.body.get("error", {}).get("type"),
    )
    assert here.status in (200, 400, 404), here.body


@pytest.mark.parametrize("demand", DEMANDS, ids=lambda demand: next(iter(demand)))
@pytest.mark.parametrize(
    "operation",
    [
        "list_proposals",
        "retrieve_proposal",
        "prove_version",
        "list_usage",
        "list_quarantine",
        "retrieve_quarantined",
        "list_divergent",
        "retrieve_divergent",
    ],
)
def test_a_read_of_one_store_that_no_home_is_asked_for_refuses_by_the_name_of_the_header(
    at_home: Asked, elsewhere: Asked, operation: str, demand: dict[str, str]
) -> None:
    rule = "must be region here" if "x-memolith-consistency" in demand else "must be left out here"
    for asked in (at_home, elsewhere):
        reply = asked.read(operation, demand)
        told = f"{next(iter(demand))}: {rule}: a region answers this by what it has itself"
        assert (reply.status, reply.error["type"], reply.error["message"]) == (400, "invalid_request_error", told)


@pytest.mark.parametrize("demand", DEMANDS, ids=lambda demand: next(iter(demand)))
def test_a_read_that_looks_at_no_demand_is_refused_elsewhere_and_no_server_error(demand: dict[str, str]) -> None:
    def forgetful(exchange: Exchange) -> dict[str, Any]:
        exchange.memolith.proposals.page(exchange.call, exchange.store_id, status="open", limit=1, after=None)
        return {}

    backend = far_backend()
    store = made(backend)["store"]
    routes = (Route(("v1", "memory_stores", "*", "forgetful"), {"GET": forgetful}),)
    http = HttpApi(backend.memolith, backend.clock, SeededRandomness(), RecordingMetrics(), routes)
    answer = http.answer(backend.event("GET", f"/v1/memory_stores/{store}/forgetful", headers=demand))
    assert answer["statusCode"] == 400, answer
    assert json.loads(answer["body"])["error"]["message"].startswith(f"{next(iter(demand))}: must be ")
