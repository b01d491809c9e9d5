"""The session that a program of an agent has: begun, renewed, begun anew, ended; over the real API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import HttpApi
from memolith.clients.cli.agent_session import AgentSession
from memolith.wire.memory_tool.texts import ToolFailure
from tests.api.harness import Backend, memolith_backend
from tests.api.loopback import serving

HOUR_S = 3600


@dataclass
class Program:
    """A program over an API whose requests are noted, and whose clock is moved."""

    backend: Backend
    url: str = ""
    asked: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def session(self, *stores: str, key: str | None = None) -> AgentSession:
        clock = self.backend.clock
        return AgentSession(lambda: ApiClient(HttpApi(self.url, key or self.backend.api_key, clock)), stores, clock)

    def store(self, name: str) -> str:
        return str(self.backend.client().beta.memory_stores.create(name=name).id)


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program(memolith_backend())

    def answer(event: Mapping[str, Any]) -> Mapping[str, Any]:
        context = event["requestContext"]["http"]
        made.asked.append(f"{context['method']} {str(event['rawPath']).partition('sesn_')[0]}")
        made.tokens.add(str(event["headers"]["authorization"]))
        return made.backend.answer(event)

    with serving(answer) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


def test_a_token_is_used_for_its_time_and_renewed_before_its_end(program: Program) -> None:
    store = program.store("Notes")
    session = program.session(store)
    for _ in range(2):
        assert session.call("GET", f"/v1/memory_stores/{store}/memories").status == 200
    assert program.asked.count("POST /v1/sessions") == 1 and len(program.tokens) == 2
    program.backend.clock.advance(11 * HOUR_S)
    assert session.call("GET", f"/v1/memory_stores/{store}/memories").status == 200
    assert program.asked.count("POST /v1/sessions/") == 1 and len(program.tokens) == 3
    assert program.asked.count("POST /v1/sessions") == 1


def test_a_session_that_was_ended_elsewhere_is_begun_again(program: Program) -> None:
    store = program.store("Notes")
    session = program.session(store)
    assert session.store_ids() == [store]
    (live,) = program.backend.raw("GET", "/v1/sessions").body["data"]
    program.backend.raw("POST", f"/v1/sessions/{live['id']}/archive")
    reply = session.call("POST", f"/v1/memory_stores/{store}/memories", body={"path": "/a", "content": "1"})
    assert reply.status == 200
    (another,) = program.backend.raw("GET", "/v1/sessions").body["data"]
    assert another["id"] != live["id"]


def test_no_request_but_those_about_the_session_carries_the_key(program: Program) -> None:
    session = program.session()
    store = program.store("Notes")
    session.call("GET", f"/v1/memory_stores/{store}/memories")
    program.tokens.clear()
    session.call("GET", f"/v1/memory_stores/{store}/memories")
    assert program.tokens and not any(program.backend.api_key in token for token in program.tokens)


def test_a_session_ends_with_the_program_and_not_twice(program: Program) -> None:
    session = program.session(program.store("Notes"))
    session.store_ids()
    session.end()
    session.end()
    assert program.backend.raw("GET", "/v1/sessions").body["data"] == []
    assert program.asked.count("POST /v1/sessions/") == 1


@pytest.mark.parametrize(("stores", "said"), [(0, "no memory store yet"), (9, "--store")])
def test_no_store_and_more_than_a_session_takes_are_said_in_words(program: Program, stores: int, said: str) -> None:
    for number in range(stores):
        program.store(f"Store {number}")
    with pytest.raises(ToolFailure, match=said):
        program.session().store_ids()


def test_stores_are_named_by_id_or_name(program: Program) -> None:
    first, second = program.store("First"), program.store("Second")
    assert program.session("Second", first).store_ids() == [second, first]
    with pytest.raises(ToolFailure, match="Third"):
        program.session("Third").store_ids()


def test_stores_are_named_by_id_or_name_with_a_sessions_token_too(program: Program) -> None:
    """A name was taken for an id, so that no tool found the store."""
    first, second, _ = program.store("First"), program.store("Second"), program.store("Third")
    resources = [{"type": "memory_store", "memory_store_id": one, "access": "read_write"} for one in (first, second)]
    token = program.backend.raw("POST", "/v1/sessions", body={"resources": resources}).body["token"]
    session = program.session("Second", second, key=token)
    assert session.store_ids() == [second]
    assert session.call("GET", f"/v1/memory_stores/{second}/memories").status == 200
    with pytest.raises(ToolFailure, match=r"no store of the token's session is called Third\. It has: First, Second"):
        program.session("Third", key=token).store_ids()
    program.asked.clear()
    assert program.session(first, key=token).store_ids() == [first]
    assert program.session(key=token).store_ids() == [first, second]
    assert program.asked == [], "ids are not asked for"


def test_a_request_that_cannot_be_sent_is_said_in_words(program: Program) -> None:
    session = program.session(program.store("Notes"))
    with pytest.raises(ToolFailure, match=r"Refused: .* cannot be asked for: nothing was sent"):
        session.call("GET", "/v1/memory_stores/Team notes/memories")


@pytest.mark.parametrize(
    ("method", "is_begun", "said"),
    [
        ("POST", True, "The change may have been made"),
        ("GET", True, "Nothing is known to have changed"),
        ("POST", False, "Nothing is known to have changed"),
    ],
    ids=["a write", "a read", "a write for which no session could be begun"],
)
def test_of_a_call_whose_connection_breaks_it_is_said_whether_a_change_may_have_been_made(
    program: Program, monkeypatch: pytest.MonkeyPatch, method: str, is_begun: bool, said: str
) -> None:
    def broken(*_: object) -> object:
        raise ConnectionResetError

    store = program.store("Notes")
    session = program.session(store)
    if is_begun:
        session.store_ids()
    monkeypatch.setattr(HttpApi, "_exchange", broken)
    with pytest.raises(ToolFailure, match=said):
        session.call(method, f"/v1/memory_stores/{store}/memories", body={"path": "/a", "content": "1"})


def test_an_address_that_does_not_answer_is_said_in_words(program: Program) -> None:
    program.url = "http://127.0.0.1:9"
    with pytest.raises(ToolFailure, match="does not answer; `memolith serve` starts it"):
        program.session("memstore_useast1_01kb0000000000000000000000").store_ids()
    program.url = "http://nowhere.invalid"
    with pytest.raises(ToolFailure, match=r"nowhere\.invalid does not answer\)"):
        program.session("memstore_useast1_01kb0000000000000000000000").store_ids()
