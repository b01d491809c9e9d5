"""Ours: what is said in a session in one region is listed in the other, without its secrets, until it is deleted."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import Anthropic

from tests.e2e.conftest import until

pytestmark = pytest.mark.e2e

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_events_that_are_sent_in_one_region_are_listed_in_the_other_until_the_session_is_deleted(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    here, there = sdk[regions[0]], sdk[regions[1]]
    session = here.beta.sessions.create(
        agent="agent_1",
        environment_id="env_1",
        resources=[{"type": "memory_store", "memory_store_id": store_id}],
    )
    said = f"deploy with {TOKEN}"
    here.beta.sessions.events.send(
        session.id, events=[{"type": "user.message", "content": [{"type": "text", "text": said}]}]
    )
    until(lambda: _types(there, session.id) == ["user.message"])
    [event] = there.beta.sessions.events.list(session.id)
    assert TOKEN not in event.to_json()

    body: dict[str, Any] = {
        "events": [{"type": "agent.message", "client_event_id": "1", "content": [{"type": "text", "text": said}]}]
    }
    for client in (there, here):
        client.post(f"/v1/sessions/{session.id}/transcript", cast_to=object, body=body)
    both = ["user.message", "agent.message"]
    until(lambda: _types(here, session.id) == _types(there, session.id) == both)

    for client in (there, here):
        hits = _found(client, "deploy")
        assert {hit["session_id"] for hit in hits} == {session.id} and not any(TOKEN in hit["excerpt"] for hit in hits)

    there.beta.sessions.delete(session.id)
    until(lambda: _types(here, session.id) == [])
    assert _found(there, "deploy") == _found(here, "deploy") == []


def _found(client: Anthropic, query: str) -> list[Any]:
    answer: Any = client.get("/v1/sessions/search", cast_to=object, options={"params": {"query": query}})
    return list(answer["hits"])


def _types(client: Anthropic, session_id: str) -> list[str]:
    return [event.type for event in client.beta.sessions.events.list(session_id)]
