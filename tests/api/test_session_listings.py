"""Listings of sessions, with the unchanged SDK: their order, their pages, what filters let through, and for whom."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.beta import BetaManagedAgentsDeletedSession, BetaManagedAgentsSession

from tests.api.harness import Backend
from tests.api.session_calls import bearer, begin_session, begin_session_with, create_store, key_id, listed_sessions


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


def test_every_field_that_the_sdk_requires_of_a_session_is_in_every_answer(backend: Backend) -> None:
    store = create_store(backend)
    sessions = backend.client().beta.sessions
    resources: list[Any] = [{"type": "memory_store", "memory_store_id": store}]
    begun = sessions.create(agent="agent_1", environment_id="env_1", resources=resources, title="Tuesday")
    pinned = sessions.create(
        agent={"type": "agent", "id": "agent_2", "version": 3}, environment_id="env_2", resources=resources
    )
    answers = [
        begun,
        pinned,
        sessions.retrieve(begun.id),
        sessions.update(begun.id, title="Wednesday"),
        *sessions.list(),
        sessions.archive(pinned.id),
    ]
    assert len(answers) == 7
    for answer in answers:
        strict = BetaManagedAgentsSession.model_validate_json(answer.to_json())
        assert strict.id in {begun.id, pinned.id}
    assert (begun.agent.id, begun.environment_id) == ("agent_1", "env_1")
    assert (pinned.agent.id, pinned.agent.version, pinned.environment_id) == ("agent_2", 3, "env_2")
    deleted = sessions.delete(begun.id)
    assert BetaManagedAgentsDeletedSession.model_validate_json(deleted.to_json()).id == begun.id


def test_sessions_are_listed_newest_first_and_page_by_page(backend: Backend) -> None:
    store = create_store(backend)
    begun = [begin_session(backend, {"memory_store_id": store}, title=str(number)).body["id"] for number in range(7)]
    pages = backend.client().beta.sessions.list(limit=3)
    assert [one.id for one in pages.data] == begun[:-4:-1]
    assert [one.id for one in pages] == begun[::-1]
    assert [one.title for one in pages] == list("6543210")


def test_a_listing_of_sessions_shows_ended_ones_only_if_it_is_asked_to(backend: Backend) -> None:
    store = create_store(backend)
    ids = [begin_session(backend, {"memory_store_id": store}).body["id"] for _ in range(3)]
    backend.raw("POST", f"/v1/sessions/{ids[1]}/archive")
    assert listed_sessions(backend) == [ids[2], ids[0]]
    assert listed_sessions(backend, "include_archived=true") == ids[::-1]


def test_a_page_of_sessions_is_filled_though_others_that_ended_stand_before(backend: Backend) -> None:
    store = create_store(backend)
    ids = [begin_session(backend, {"memory_store_id": store}).body["id"] for _ in range(6)]
    for ended in ids[2:5]:
        backend.raw("POST", f"/v1/sessions/{ended}/archive")
    reply = backend.raw("GET", "/v1/sessions", "limit=3").body
    assert [one["id"] for one in reply["data"]] == [ids[5], ids[1], ids[0]]
    assert reply["next_page"] is None


def test_sessions_are_listed_by_store_by_key_by_agent_and_by_time(backend: Backend) -> None:
    one, two, key = create_store(backend), create_store(backend, "other"), backend.issue_key("main", "write")
    first = begin_session(backend, {"memory_store_id": one}, agent="agent_1").body
    second = begin_session_with(backend, key, two)
    both = begin_session(backend, {"memory_store_id": one}, {"memory_store_id": two}).body
    ids = [both["id"], second["id"], first["id"]]
    assert listed_sessions(backend, f"memory_store_id={one}") == [ids[0], ids[2]]
    assert listed_sessions(backend, f"api_key_id={key_id(key)}") == [ids[1]]
    assert listed_sessions(backend, "agent_id=agent_1") == [ids[2]]
    assert listed_sessions(backend, f"created_at[gte]={second['created_at']}") == ids[:2]
    assert listed_sessions(backend, f"created_at[gt]={second['created_at']}") == ids[:1]
    assert listed_sessions(backend, f"created_at[lte]={second['created_at']}") == ids[1:]
    assert listed_sessions(backend, f"created_at[lt]={second['created_at']}") == ids[2:]
    assert listed_sessions(backend, "created_at[lt]=1971-01-01T00:00:00Z") == []


def test_pages_that_a_filter_empties_still_lead_to_what_it_lets_through(backend: Backend) -> None:
    one, two = create_store(backend), create_store(backend, "other")
    wanted = begin_session(backend, {"memory_store_id": one}).body["id"]
    for _ in range(12):
        begin_session(backend, {"memory_store_id": two})
    listed = backend.client().beta.sessions.list(memory_store_id=one, limit=2)
    assert [session.id for session in listed] == [wanted]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page=page_x", "page"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("memory_store_id=", "memory_store_id"),
        ("created_at[gte]=yesterday", "created_at[gte]"),
        ("include_archived=maybe", "include_archived"),
        ("order=asc", "order"),
    ],
)
def test_a_listing_of_sessions_that_cannot_be_is_refused_by_the_field(backend: Backend, query: str, field: str) -> None:
    reply = backend.raw("GET", "/v1/sessions", query)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert field in reply.error["message"]


@pytest.mark.parametrize("scope", ["read", "write"])
def test_sessions_are_listed_for_admins_alone_and_of_their_workspace_alone(backend: Backend, scope: str) -> None:
    begin_session(backend, {"memory_store_id": create_store(backend)})
    assert backend.raw("GET", "/v1/sessions", headers=bearer(backend.issue_key("main", scope))).status == 403
    stranger = bearer(backend.issue_key("other", "admin"))
    assert backend.raw("GET", "/v1/sessions", headers=stranger).body == {"data": [], "next_page": None}


def test_the_sdk_lists_sessions_by_status_by_version_of_their_agent_and_by_deployment(backend: Backend) -> None:
    client = backend.client()
    store = client.beta.memory_stores.create(name="Team notes").id
    begun = [
        client.beta.sessions.create(
            agent={"type": "agent", "id": "agent_1", "version": version},
            environment_id="env_1",
            resources=[{"type": "memory_store", "memory_store_id": store}],
        ).id
        for version in (1, 2)
    ]
    client.beta.sessions.archive(begun[0])

    def listed(**filter: Any) -> list[str]:
        return [one.id for one in client.beta.sessions.list(include_archived=True, **filter)]

    assert listed() == begun[::-1]
    assert listed(statuses=["terminated"]) == begun[:1]
    assert listed(statuses=["idle", "running"]) == begun[1:]
    assert listed(statuses=["idle", "terminated"]) == begun[::-1]
    assert listed(statuses=["rescheduling"]) == []
    assert [one.id for one in client.beta.sessions.list(statuses=["terminated"])] == [], "an ended one is archived"
    assert listed(agent_id="agent_1", agent_version=2) == begun[1:]
    assert listed(agent_version=2) == begun[::-1], "it applies to an agent alone, as the SDK says"
    assert listed(deployment_id="deployment_1") == [], "no session here is of a deployment"
    for query in ("statuses[]=asleep", "agent_id=a&agent_version=two", "agent_id=a&agent_version=-1", "deployment_id="):
        reply = backend.raw("GET", "/v1/sessions", query)
        assert reply.status == 400
        assert reply.error["message"].startswith(query.rpartition("&")[2].partition("=")[0] + ": ")
