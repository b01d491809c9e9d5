"""Extraction over HTTP: what a session taught is proposed, and is in the store once a person approves it."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.app.api.transcripts import PARTS_PER_PAGE
from tests.api.harness import Backend


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


@pytest.fixture
def store(backend: Backend) -> str:
    return backend.client().beta.memory_stores.create(name="Team notes").id


@pytest.fixture
def session(backend: Backend, store: str) -> str:
    body = {"resources": [{"type": "memory_store", "memory_store_id": store}]}
    return str(backend.raw("POST", "/v1/sessions", body=body).body["id"])


def say(backend: Backend, session: str, *texts: str, type: str = "user.message") -> None:
    events = [{"type": type, "content": [{"type": "text", "text": text}]} for text in texts]
    assert backend.raw("POST", f"/v1/sessions/{session}/transcript", body={"events": events}).status == 200


def extract(backend: Backend, session: str, **body: Any) -> Any:
    reply = backend.raw("POST", f"/v1/sessions/{session}/extract", body=body)
    assert reply.status == 200, reply.body
    return reply.body


def paths(backend: Backend, store: str) -> list[str]:
    return [row.path for row in backend.client().beta.memory_stores.memories.list(store)]


def test_what_a_person_said_is_proposed_once_and_written_when_it_is_approved(
    backend: Backend, store: str, session: str
) -> None:
    say(backend, session, "From now on deploy the engine on Thursdays, never on Fridays.", "What is the time?")
    say(backend, session, "Always run the migrations first.", type="agent.tool_result")
    found = extract(backend, session)
    assert (found["outcome"], found["model"], found["dropped"]) == ("proposed", "memolith-extractive-1", {})
    [note] = found["notes"]
    assert paths(backend, store) == [], "nothing is written before"
    second = extract(backend, session)
    assert (second["outcome"], second["proposal_id"], second["model"]) == ("unchanged", found["proposal_id"], None)
    assert extract(backend, session, again=True)["proposal_id"] == found["proposal_id"], (
        "a question, and the same answer"
    )
    approver = {"authorization": f"Bearer {backend.issue_key('main', 'admin')}"}
    address = f"/v1/memory_stores/{store}/proposals/{found['proposal_id']}/approve"
    assert backend.raw("POST", address, headers=approver).body["status"] == "approved"
    assert paths(backend, store) == [note["path"]]
    again = extract(backend, session, again=True)
    assert (again["outcome"], again["proposal_id"], again["dropped"]) == ("no_output", None, {"known": 1})


def test_a_session_is_asked_about_again_once_something_was_said_in_it(backend: Backend, session: str) -> None:
    say(backend, session, "What is the time?")
    outcomes = [extract(backend, session)["outcome"] for _ in range(2)]
    say(backend, session, "I prefer short answers.")
    outcomes += [extract(backend, session)["outcome"] for _ in range(2)]
    assert outcomes == ["no_output", "unchanged", "proposed", "unchanged"]


@pytest.mark.parametrize("is_rejected", [True, False])
def test_what_is_said_once_more_is_found_in_the_proposal_that_has_it(
    backend: Backend, store: str, session: str, is_rejected: bool
) -> None:
    say(backend, session, "I prefer short answers.")
    first = extract(backend, session)
    if is_rejected:
        address = f"/v1/memory_stores/{store}/proposals/{first['proposal_id']}/reject"
        admin = {"authorization": f"Bearer {backend.issue_key('main', 'admin')}"}
        assert backend.raw("POST", address, body={"reason": "no"}, headers=admin).status == 200
    say(backend, session, "I prefer short answers.")
    second = extract(backend, session)
    assert (second["outcome"], second["proposal_id"]) == ("proposed", first["proposal_id"])
    assert second["notes"][0]["evidence"] != first["notes"][0]["evidence"], "the event that said it last"


def test_a_session_that_taught_nothing_proposes_nothing(backend: Backend, store: str, session: str) -> None:
    assert extract(backend, session)["model"] is None, "no model is asked about nothing"
    say(backend, session, "What is the capital of France?")
    found = extract(backend, session)
    assert (found["outcome"], found["notes"], found["proposal_id"]) == ("no_output", [], None)


def test_a_store_that_the_session_does_not_have_is_refused(backend: Backend, session: str) -> None:
    other = backend.client().beta.memory_stores.create(name="Other").id
    reply = backend.raw("POST", f"/v1/sessions/{session}/extract", body={"memory_store_id": other})
    assert reply.body["error"]["message"] == "memory_store_id: names no store of the session"


def test_a_store_that_allows_no_extraction_is_proposed_nothing(backend: Backend, store: str, session: str) -> None:
    say(backend, session, "From now on deploy the engine on Thursdays, never on Fridays.")
    address = f"/v1/memory_stores/{store}"
    assert backend.raw("POST", address, body={"pipelines": {"extraction": "off"}}).status == 200
    refused = backend.raw("POST", f"/v1/sessions/{session}/extract", body={})
    assert refused.status == 400
    assert "allows no extraction" in refused.body["error"]["message"]
    assert backend.raw("POST", address, body={"pipelines": {"extraction": "allow"}}).status == 200
    assert extract(backend, session)["outcome"] == "proposed"


def test_what_many_calls_reported_of_one_instant_is_extracted(backend: Backend, store: str, session: str) -> None:
    said = "From now on deploy the engine on Thursdays, never on Fridays."
    event = {"type": "user.message", "content": [{"type": "text", "text": said}], "at": "2026-01-02T03:04:05Z"}
    for _ in range(PARTS_PER_PAGE + 1):
        reply = backend.raw("POST", f"/v1/sessions/{session}/transcript", body={"events": [event]})
        assert reply.status == 200, reply.body
    assert extract(backend, session)["outcome"] == "proposed"
