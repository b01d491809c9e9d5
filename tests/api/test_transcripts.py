"""Events of sessions, with the unchanged SDK and over HTTP; the reference model has no sessions."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

from memolith.app.auth.session_trust import SessionTrust
from memolith.core.errors import Unavailable
from tests.api.harness import Backend, Reply
from tests.api.test_limits import LAMBDA_ANSWER_MAX_BYTES


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


@pytest.fixture
def session(backend: Backend) -> str:
    client = backend.client()
    store = client.beta.memory_stores.create(name="Team notes")
    return client.beta.sessions.create(
        agent="agent_1",
        environment_id="env_1",
        resources=[{"type": "memory_store", "memory_store_id": store.id}],
    ).id


def text(said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": said}]


def report(backend: Backend, session: str, *events: dict[str, Any], **options: Any) -> Reply:
    return backend.raw("POST", f"/v1/sessions/{session}/transcript", body={"events": list(events)}, **options)


EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "agent.message", "client_event_id": "b", "at": "2026-09-01T10:00:02Z", "content": text("noted")},
    {
        "type": "user.message",
        "client_event_id": "a",
        "at": "2026-09-01T10:00:01Z",
        "content": text("we deploy on Thursdays"),
    },
    {
        "type": "agent.tool_use",
        "id": "c",
        "processed_at": "2026-09-01T10:00:03Z",
        "name": "bash",
        "input": {"command": "ls"},
    },
    {"type": "agent.tool_result", "client_event_id": "d", "at": "2026-09-01T10:00:04Z", "tool_use_id": "c"},
)


def test_the_sdk_sends_and_lists_events(backend: Backend, session: str) -> None:
    events = backend.client().beta.sessions.events
    sent = events.send(session, events=[{"type": "user.message", "content": [{"type": "text", "text": "hello"}]}])
    [made] = sent.data or []
    assert made.id.startswith("sevt_")
    [listed] = list(events.list(session))
    assert (listed.id, listed.type) == (made.id, "user.message")
    outcome = events.send(
        session,
        events=[{"type": "user.define_outcome", "description": "d", "rubric": {"type": "text", "content": "r"}}],
    )
    assert str((outcome.data or [])[0].to_dict()["outcome_id"]).startswith("outc_")


def test_what_is_reported_is_listed_in_the_order_in_which_it_happened_and_once(backend: Backend, session: str) -> None:
    receipts = [report(backend, session, *EVENTS).body for _ in range(2)]
    assert receipts == [
        {"type": "transcript_receipt", "accepted": 4, "duplicates": 0, "redactions": 0},
        {"type": "transcript_receipt", "accepted": 0, "duplicates": 4, "redactions": 0},
    ]
    events = backend.client().beta.sessions.events
    types = ["user.message", "agent.message", "agent.tool_use", "agent.tool_result"]
    assert [event.type for event in events.list(session, limit=1)] == types
    assert [event.type for event in events.list(session, limit=3, order="desc")] == types[::-1]
    assert [event.type for event in events.list(session, types=["agent.message", "user.message"])] == types[:2]
    window = events.list(session, created_at_gt="2026-09-01T10:00:01Z", created_at_lte="2026-09-01T10:00:03Z")
    assert [event.type for event in window] == types[1:3]
    fields = [event.to_dict() for event in events.list(session)]
    assert [one["client_event_id"] for one in fields] == ["a", "b", "c", "d"]
    assert [one["trust"] for one in fields] == ["agent", "agent", "agent", "tool_external"]
    assert fields[2]["input"] == {"command": "ls"}


def test_a_page_of_events_may_be_asked_for_as_large_as_the_sdk_does_and_has_a_hundred_at_most(
    backend: Backend, session: str
) -> None:
    events = backend.client().beta.sessions.events
    assert report(backend, session, *[{"type": "a.b", "client_event_id": f"e{n}"} for n in range(101)]).status == 200
    assert len(events.list(session, limit=1000).data) == 100
    assert len(list(events.list(session, limit=1000))) == 101
    with pytest.raises(anthropic.BadRequestError, match="limit: must be a whole number from 1 to 1000"):
        events.list(session, limit=1001)


def test_a_session_that_lists_what_a_tool_gave_with_its_own_token_is_believed_less(
    backend: Backend, session: str
) -> None:
    assert report(backend, session, {**EVENTS[3], "content": text("a page of the web")}).status == 200
    token = backend.raw("POST", f"/v1/sessions/{session}/token", body={}).body["token"]
    own = backend.client(api_key=token)
    store_id = backend.raw("GET", f"/v1/sessions/{session}").body["resources"][0]["memory_store_id"]
    before = own.beta.memory_stores.memories.create(store_id, path="/before.md", content="x")
    assert [event.type for event in own.beta.sessions.events.list(session)] == ["agent.tool_result"]
    after = own.beta.memory_stores.memories.create(store_id, path="/after.md", content="x")
    assert (before.to_dict()["trust"], after.to_dict()["trust"]) == ("agent", "tool_external")


def test_a_write_whose_answer_may_not_be_shown_says_that_it_is_done_so_that_no_sdk_repeats_it(
    backend: Backend, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 503 says that nothing was done: the SDK sent the event again, and it was recorded twice."""
    token = backend.raw("POST", f"/v1/sessions/{session}/token", body={}).body["token"]
    result: Any = {"type": "user.custom_tool_result", "custom_tool_use_id": "sevt_1", "content": text("of the web")}

    def throttled(*_: object) -> None:
        raise Unavailable("the index is throttled")

    with monkeypatch.context() as patched:
        patched.setattr(SessionTrust, "lower", throttled)
        with pytest.raises(anthropic.APIStatusError) as failed:
            backend.client(api_key=token).beta.sessions.events.send(session, events=[result])
    answer = failed.value.response
    assert (answer.status_code, answer.headers.get("x-should-retry")) == (504, "false")
    assert "is done, but the session's class is not recorded" in str(failed.value)
    assert [event.type for event in backend.client().beta.sessions.events.list(session)] == [result["type"]]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "events: must not be empty"),
        ([{"type": "user.message"}] * 501, "events: must have at most 500 events"),
        ([{"type": "Bad type"}], "events.0.type: must be words in lower case joined by dots, such as agent.message"),
        ([{"type": "a.b", "at": "yesterday"}], "events.0.at: must be an RFC 3339 date and time with an offset"),
        (
            [{"type": "a.b", "client_event_id": "x" * 129}],
            "events.0.client_event_id: must be at most 128 characters long",
        ),
        ([{"content": []}], "events.0.type: is required"),
    ],
)
def test_a_bad_event_is_refused_with_its_place_and_the_rule(
    backend: Backend, session: str, events: list[dict[str, Any]], message: str
) -> None:
    reply = report(backend, session, *events)
    assert (reply.status, reply.body["error"]["message"]) == (400, message)


@pytest.mark.parametrize("at", ["1970-01-01T00:00:00Z", "1969-12-31T23:00:00Z", "0001-01-01T00:00:00Z"])
def test_an_event_with_a_clock_that_was_never_set_is_kept_and_the_session_goes_on(
    backend: Backend, session: str, at: str
) -> None:
    """Its time was left out of the record, which nobody could read then: later reports were 500s."""
    for event in ({"type": "a.b", "at": at}, {"type": "user.message", "content": text("x")}):
        reply = report(backend, session, event)
        assert (reply.status, reply.body.get("accepted")) == (200, 1)
    listed = list(backend.client().beta.sessions.events.list(session))
    assert [one.type for one in listed] == ["a.b", "user.message"]
    assert listed[0].to_dict(mode="json")["processed_at"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_an_event_with_a_number_that_no_answer_could_say_is_refused(
    backend: Backend, session: str, number: str
) -> None:
    body = f'{{"events":[{{"type":"agent.tool_use","name":"x","input":{{"n":[{number}]}}}}]}}'.encode()
    for path in ("transcript", "events"):
        reply = backend.raw("POST", f"/v1/sessions/{session}/{path}", body=body)
        assert (reply.status, reply.body["error"]["message"]) == (
            400,
            f"body: must not have a number as large as {number}",
        )
    assert backend.raw("GET", f"/v1/sessions/{session}/events").body["data"] == []


def test_only_what_a_client_sends_is_sent(backend: Backend, session: str) -> None:
    for event, field in (
        ({"type": "agent.message", "content": text("x")}, "events.0.type"),
        ({"type": "user.message"}, "events.0.content"),
        ({"type": "user.message", "content": "x"}, "events.0.content"),
    ):
        reply = backend.raw("POST", f"/v1/sessions/{session}/events", body={"events": [event]})
        assert (reply.status, reply.body["error"]["message"].split(":")[0]) == (400, field)


def test_a_deleted_sessions_events_are_gone_and_no_more_are_taken(backend: Backend, session: str) -> None:
    client = backend.client()
    assert report(backend, session, *EVENTS).status == 200
    client.beta.sessions.delete(session)
    assert list(client.beta.sessions.events.list(session)) == []
    assert report(backend, session, *EVENTS).body["error"]["message"].endswith("whose transcript was erased")
    with pytest.raises(anthropic.BadRequestError):
        client.beta.sessions.events.send(
            session, events=[{"type": "user.message", "content": [{"type": "text", "text": "x"}]}]
        )


def test_more_than_a_megabyte_of_events_is_too_large(backend: Backend, session: str) -> None:
    reply = report(backend, session, {"type": "a.b", "text": "x" * 1_000_000})
    assert (reply.status, reply.body["error"]["type"]) == (413, "request_too_large")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("character", "chars"), [("a", 90_000), ("ж", 50_000), ("🧠", 25_000), ("\x01", 15_000), ('"', 45_000)]
)
def test_a_page_of_the_largest_events_fits_into_an_answer_and_is_continued(
    backend: Backend, session: str, character: str, chars: int
) -> None:
    """JSON needs up to twelve bytes for a character, and Lambda's envelope is JSON again."""
    names = [f"{number:02}" for number in range(72)]
    for first in range(0, len(names), 9):
        events = [
            {
                "type": "agent.tool_result",
                "client_event_id": name,
                "at": f"2026-09-01T10:00:{int(name) % 60:02}Z",
                "content": text(character * chars),
            }
            for name in names[first : first + 9]
        ]
        body = json.dumps({"events": events}, ensure_ascii=False).encode()
        assert backend.raw("POST", f"/v1/sessions/{session}/transcript", body=body).status == 200
    for order in ("asc", "desc"):
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            query = f"limit=100&order={order}" + (f"&page={cursor}" if cursor else "")
            answer = backend.answer(backend.event("GET", f"/v1/sessions/{session}/events", query))
            assert len(json.dumps(answer).encode()) < LAMBDA_ANSWER_MAX_BYTES
            page = json.loads(answer["body"])
            seen += [row["client_event_id"] for row in page["data"]]
            cursor = page["next_page"]
        assert (sorted(seen), len(seen)) == (names, len(names))
