"""A write whose answer is lost, over the SDK: it may have been done, so it is not sent again by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest

from memolith.adapters.memory import ManualClock
from memolith.clients.sdk.memory_tool import MemolithMemoryTool, SdkCaller
from tests.memory_tool.conftest import Fresh, Said, say

LOG = "# Log\n- log\n\nother: a\n"
STORE = "memstore_01kb0000000000000000000000"
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "try again"}}


class Losing(httpx2.BaseTransport):
    """Carries the first write out, lets another client write, and loses the answer."""

    def __init__(self, inner: httpx2.BaseTransport, meanwhile: Callable[[], None]) -> None:
        self._inner, self._meanwhile = inner, meanwhile
        self.writes = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._inner.handle_request(request)
        if request.method != "GET":
            self.writes += 1
            if self.writes == 1:
                self._meanwhile()
                raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
        return answer


def losing(fresh: Fresh, meanwhile: Callable[[], None]) -> tuple[MemolithMemoryTool, Losing]:
    transport = Losing(fresh.backend.gateway, meanwhile)
    http_client = httpx2.Client(transport=transport)
    client = anthropic.Anthropic(
        api_key=fresh.backend.api_key, base_url="https://memolith.test", http_client=http_client
    )
    return MemolithMemoryTool(client, fresh.store_id), transport


@pytest.mark.parametrize(
    "command",
    [
        {"command": "insert", "insert_line": 2, "insert_text": "- paid invoice 17"},
        {"command": "str_replace", "old_str": "- log", "new_str": "- log\n- paid invoice 17"},
    ],
    ids=["insert", "str_replace"],
)
@pytest.mark.parametrize("other_writes", [False, True], ids=["alone", "another client writes meanwhile"])
def test_an_edit_whose_answer_is_lost_is_made_once_and_told_as_unanswered(
    fresh: Fresh, command: dict[str, Any], other_writes: bool
) -> None:
    fresh.say(command="create", path="/memories/log.md", file_text=LOG)

    def meanwhile() -> None:
        if other_writes:
            edit = {"command": "str_replace", "old_str": "other: a", "new_str": "other: b"}
            assert not fresh.say(path="/memories/log.md", **edit).is_error

    tool, transport = losing(fresh, meanwhile)
    said = say(tool, {**command, "path": "/memories/log.md"})
    check_told_as_maybe_done(said)
    assert transport.writes == 1
    other = "other: b" if other_writes else "other: a"
    assert fresh.paths() == {"/log.md": f"# Log\n- log\n- paid invoice 17\n\n{other}\n"}


def test_a_file_whose_creation_is_not_answered_is_not_told_as_another_writers(fresh: Fresh) -> None:
    tool, transport = losing(fresh, lambda: None)
    said = say(tool, {"command": "create", "path": "/memories/a", "file_text": "mine"})
    check_told_as_maybe_done(said)
    assert transport.writes == 1
    assert fresh.paths() == {"/a": "mine"}


@pytest.mark.parametrize(
    ("answer", "maybe_done"),
    [
        (httpx2.Response(503, json={"message": "Service Unavailable"}), True),
        (httpx2.Response(500, json=BUSY), True),
        (httpx2.Response(504, json=BUSY), True),
        (httpx2.Response(408, json=BUSY), True),
        (httpx2.Response(503, json=BUSY), False),
        (httpx2.Response(429, json=BUSY), False),
        (None, False),
    ],
    ids=["a gateway's 503", "500", "504", "408", "Memolith's 503", "429", "no connection"],
)
def test_a_model_is_told_that_a_change_may_have_been_made_unless_it_was_not(
    answer: httpx2.Response | None, maybe_done: bool
) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        if answer is None:
            raise httpx2.ConnectError("no connection")
        return answer

    http_client = httpx2.Client(transport=httpx2.MockTransport(handle))
    client = anthropic.Anthropic(
        api_key="key", base_url="https://memolith.test", http_client=http_client, max_retries=0
    )
    tool = MemolithMemoryTool(client, STORE)
    written = say(tool, {"command": "create", "path": "/memories/a", "file_text": "mine"})
    if maybe_done:
        check_told_as_maybe_done(written)
    else:
        assert "Nothing is known to have changed" in written.text
    assert "Nothing is known to have changed" in say(tool, {"command": "view", "path": "/memories"}).text


def check_told_as_maybe_done(said: Said) -> None:
    assert said.is_error
    assert "does not answer now" in said.text
    assert "may have been" in said.text
    assert "Nothing is known to have changed" not in said.text


def caller_of(answers: list[httpx2.Response], **options: Any) -> tuple[SdkCaller, ManualClock]:
    """A caller to whom these answers are given, one after the other."""
    client = anthropic.Anthropic(
        api_key="key",
        base_url="https://memolith.test",
        http_client=httpx2.Client(transport=httpx2.MockTransport(lambda _: answers.pop(0))),
        **options,
    )
    clock = ManualClock()
    return SdkCaller(client, clock), clock


def done() -> httpx2.Response:
    return httpx2.Response(200, json={"id": "mem_1"})


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    ("status", "headers", "waited_s"),
    [(429, {"retry-after": "7"}, 7.0), (429, {"retry-after": "3600"}, 60.0), (503, {}, 0.5)],
    ids=["rate limit", "a long rate limit", "overloaded"],
)
def test_a_write_that_memolith_says_was_not_done_is_sent_again_when_it_says(
    method: str, status: int, headers: dict[str, str], waited_s: float
) -> None:
    answers = [httpx2.Response(status, json=BUSY, headers=headers), done()]
    caller, clock = caller_of(answers)
    assert caller.call(method, f"/v1/memory_stores/{STORE}/memories", body={}).status == 200
    assert clock.paused_s == [waited_s]
    assert answers == []


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(503, json={"message": "Service Unavailable"}),
        httpx2.Response(503, text="<html>503</html>"),
        httpx2.Response(503, json=BUSY, headers={"x-should-retry": "false"}),
        httpx2.Response(500, json=BUSY),
        httpx2.Response(504, json=BUSY),
        httpx2.Response(408, json=BUSY),
        httpx2.Response(409, json=BUSY),
    ],
    ids=["a gateway's 503", "a proxy's 503", "told not to", "500", "504", "408", "409"],
)
def test_a_write_of_which_memolith_does_not_say_that_nothing_was_done_is_sent_once(answer: httpx2.Response) -> None:
    answers = [answer, done()]
    caller, clock = caller_of(answers)
    assert caller.call("POST", f"/v1/memory_stores/{STORE}/memories", body={}).status == answer.status_code
    assert clock.paused_s == []
    assert len(answers) == 1


@pytest.mark.parametrize("failure", [httpx2.ConnectError, httpx2.ConnectTimeout])
def test_a_write_for_which_there_is_no_connection_is_sent_again_as_nothing_was_sent(
    failure: type[httpx2.TransportError],
) -> None:
    failures = [failure("no connection")]

    def answer(request: httpx2.Request) -> httpx2.Response:
        if failures:
            raise failures.pop()
        return done()

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = anthropic.Anthropic(api_key="key", base_url="https://memolith.test", http_client=http_client)
    clock = ManualClock()
    assert SdkCaller(client, clock).call("POST", f"/v1/memory_stores/{STORE}/memories", body={}).status == 200
    assert clock.paused_s == [0.5]


def test_a_write_that_a_gateway_throttles_is_sent_again_as_nothing_was_handed_on() -> None:
    answers = [httpx2.Response(429, json={"message": "Too Many Requests"}), done()]
    caller, _ = caller_of(answers)
    assert caller.call("POST", f"/v1/memory_stores/{STORE}/memories", body={}).status == 200


@pytest.mark.parametrize("max_retries", [0, 2])
def test_a_write_is_sent_again_as_often_as_the_client_repeats_anything(max_retries: int) -> None:
    answers = [httpx2.Response(503, content=json.dumps(BUSY)) for _ in range(5)]
    caller, _ = caller_of(answers, max_retries=max_retries)
    assert caller.call("POST", f"/v1/memory_stores/{STORE}/memories", body={}).status == 503
    assert 5 - len(answers) == max_retries + 1
