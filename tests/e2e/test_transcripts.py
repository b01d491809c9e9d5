"""Ours: what is said in a session in one region is listed and streamed in the other, without its secrets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
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


def test_a_stream_in_one_region_has_what_is_said_in_the_other_until_the_session_ends(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    here, there = sdk[regions[0]].beta.sessions, sdk[regions[1]].beta.sessions
    session = here.create(
        agent="agent_1",
        environment_id="env_1",
        resources=[{"type": "memory_store", "memory_store_id": store_id}],
    )
    until(lambda: _finds(there, session.id))
    assert list(there.resources.list(session.id)) == list(here.resources.list(session.id)) == session.resources
    [thread] = there.threads.list(session.id)
    assert there.threads.retrieve(thread.id, session_id=session.id) == thread
    with pytest.raises(anthropic.BadRequestError, match="create another session"):
        there.resources.delete(store_id, session_id=session.id)

    assert list(there.events.stream(session.id)) == [], "a poll on which nothing comes ends within the gateway's time"
    with ThreadPoolExecutor(1) as pool:
        for number in range(3):  # what is said before the stream is open is not of it
            heard = pool.submit(lambda: list(there.threads.events.stream(thread.id, session_id=session.id)))
            content: Any = [{"type": "text", "text": f"said {number}"}]
            here.events.send(session.id, events=[{"type": "user.message", "content": content}])
            if heard.result():
                break
    [event, *_] = heard.result()
    assert event.to_dict() in [one.to_dict() for one in there.threads.events.list(thread.id, session_id=session.id)]

    here.archive(session.id)
    until(lambda: [one.type for one in there.events.stream(session.id)] == ["session.status_terminated"])
    assert there.threads.retrieve(thread.id, session_id=session.id).status == "terminated"


def _finds(sessions: Any, session_id: str) -> bool:
    try:
        return bool(sessions.retrieve(session_id))
    except anthropic.NotFoundError:
        return False


def _found(client: Anthropic, query: str) -> list[Any]:
    answer: Any = client.get("/v1/sessions/search", cast_to=object, options={"params": {"query": query}})
    return list(answer["hits"])


def _types(client: Anthropic, session_id: str) -> list[str]:
    return [event.type for event in client.beta.sessions.events.list(session_id)]
