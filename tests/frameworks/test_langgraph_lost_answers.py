"""LangGraph's store where the answer of a write is lost: it may have been done, so it is not sent again by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest

from memolith.adapters.memory import ManualClock
from memolith.clients.sdk.langgraph_store import MemolithStore
from tests.frameworks.conftest import Shelf

USER = ("users", "ada")
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "try again"}}


class Losing(httpx2.BaseTransport):
    """Carries the first write out, lets others act, and loses the answer."""

    def __init__(self, inner: httpx2.BaseTransport, meanwhile: Callable[[], object]) -> None:
        self._inner, self._meanwhile = inner, meanwhile
        self.asked: list[str] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._inner.handle_request(request)
        told = request.headers.get("x-memolith-consistency")
        self.asked.append(f"{request.method} {told}" if told else request.method)
        if request.method != "GET" and self.writes() == 1:
            self._meanwhile()
            raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
        return answer

    def writes(self) -> int:
        return sum(1 for one in self.asked if not one.startswith("GET"))


class Unsent(httpx2.BaseTransport):
    """Gives these answers to the first writes, and sends them nowhere."""

    def __init__(self, inner: httpx2.BaseTransport, answers: list[httpx2.Response | Exception]) -> None:
        self._inner, self._answers = inner, answers

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" or not self._answers:
            return self._inner.handle_request(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def store_over(shelf: Shelf, transport: httpx2.BaseTransport, clock: ManualClock | None = None) -> MemolithStore:
    backend = shelf.fresh.backend
    http_client = httpx2.Client(transport=transport)
    client = anthropic.Anthropic(api_key=backend.api_key, base_url="https://memolith.test", http_client=http_client)
    return MemolithStore(client, shelf.fresh.store_id, clock or ManualClock())


def losing(shelf: Shelf, meanwhile: Callable[[], object] = lambda: None) -> tuple[MemolithStore, Losing]:
    transport = Losing(shelf.fresh.backend.gateway, meanwhile)
    return store_over(shelf, transport), transport


def value(shelf: Shelf, key: str = "n") -> Any:
    item = shelf.another().get(USER, key)
    return item.value if item else None


def put_on(shelf: Shelf, number: int) -> None:
    """Another client puts on what is there now."""
    shelf.store.put_if(USER, "n", {"n": number}, shelf.store.get(USER, "n"))


def versions(shelf: Shelf) -> list[dict[str, Any]]:
    """What the item has been, the oldest first."""
    memories = shelf.fresh.backend.client().beta.memory_stores.memory_versions
    listed = memories.list(shelf.fresh.store_id, view="full")
    return [json.loads(one.content or "null") for one in listed][::-1]


def test_a_put_if_whose_answer_is_lost_is_not_told_as_one_that_lost_against_another(shelf: Shelf) -> None:
    shelf.store.put(USER, "n", {"n": 1})
    store, transport = losing(shelf, lambda: put_on(shelf, 3))
    with pytest.raises(anthropic.APIConnectionError):
        store.put_if(USER, "n", {"n": 2}, store.get(USER, "n"))
    assert transport.writes() == 1
    assert value(shelf) == {"n": 3}
    assert [one["n"] for one in versions(shelf)] == [1, 2, 3]


@pytest.mark.parametrize("expects", [True, False], ids=["on what was read", "where nothing is expected"])
def test_a_put_if_whose_answer_is_lost_succeeds_where_the_home_has_its_value(shelf: Shelf, expects: bool) -> None:
    if expects:
        shelf.store.put(USER, "n", {"n": 1})
    store, transport = losing(shelf)
    item = store.put_if(USER, "n", {"n": 2}, store.get(USER, "n"))
    assert item.value == {"n": 2}
    assert store.put_if(USER, "n", {"n": 3}, item).value == {"n": 3}
    assert transport.writes() == 2
    assert "GET home" in transport.asked


def test_a_put_if_where_nothing_is_expected_is_not_told_as_anothers_when_its_answer_is_lost(shelf: Shelf) -> None:
    store, transport = losing(shelf, lambda: put_on(shelf, 2))
    with pytest.raises(anthropic.APIConnectionError):
        store.put_if(USER, "n", {"n": 1}, None)
    assert transport.writes() == 1
    assert value(shelf) == {"n": 2}


def test_a_put_whose_answer_is_lost_does_not_overwrite_what_was_put_on_it(shelf: Shelf) -> None:
    store, transport = losing(shelf, lambda: put_on(shelf, 2))
    with pytest.raises(anthropic.APIConnectionError):
        store.put(USER, "n", {"n": 1})
    assert transport.writes() == 1
    assert value(shelf) == {"n": 2}


def test_a_put_whose_answer_is_lost_does_not_bring_back_what_was_deleted(shelf: Shelf) -> None:
    store, transport = losing(shelf, lambda: shelf.store.delete(USER, "n"))
    with pytest.raises(anthropic.APIConnectionError):
        store.put(USER, "n", {"n": 1})
    assert transport.writes() == 1
    assert value(shelf) is None


def test_a_put_whose_answer_is_lost_succeeds_where_the_home_has_its_value(shelf: Shelf) -> None:
    store, transport = losing(shelf)
    store.put(USER, "n", {"n": 1})
    assert transport.asked == ["POST", "GET home", "GET home"]
    assert value(shelf) == {"n": 1}


def test_a_deletion_whose_answer_is_lost_does_not_delete_what_was_put_since(shelf: Shelf) -> None:
    shelf.store.put(USER, "n", {"n": 1})
    store, transport = losing(shelf, lambda: shelf.another().put(USER, "n", {"n": 2}))
    with pytest.raises(anthropic.APIConnectionError):
        store.delete(USER, "n")
    assert transport.writes() == 1
    assert value(shelf) == {"n": 2}


def test_a_put_that_lands_in_an_item_that_was_just_renamed_goes_on_to_its_own_place(shelf: Shelf) -> None:
    memory_id = shelf.create("/users/ada/m.json", "{}")

    class Renaming(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            answer = shelf.fresh.backend.gateway.handle_request(request)
            if answer.status_code == 409:
                shelf.rename(memory_id, "/archive/m.json")
            return answer

    store_over(shelf, Renaming()).put(USER, "m", {"n": 2})
    assert value(shelf, "m") == {"n": 2}


@pytest.mark.parametrize(
    ("answer", "waited_s"),
    [
        (httpx2.Response(429, json=BUSY, headers={"retry-after": "7"}), 7.0),
        (httpx2.Response(503, json=BUSY), 0.5),
        (httpx2.ConnectError("refused"), 0.5),
        (httpx2.ConnectTimeout("timed out"), 0.5),
    ],
    ids=["rate limit", "overloaded", "no connection", "no connection in time"],
)
def test_a_write_of_an_item_that_was_not_done_is_sent_again(
    shelf: Shelf, answer: httpx2.Response | Exception, waited_s: float
) -> None:
    clock = ManualClock()
    store = store_over(shelf, Unsent(shelf.fresh.backend.gateway, [answer]), clock)
    store.put(USER, "n", {"n": 1})
    assert clock.paused_s == [waited_s]
    assert value(shelf) == {"n": 1}


def test_an_error_that_says_that_nothing_was_done_is_no_reason_to_look_at_home(shelf: Shelf) -> None:
    told = httpx2.Response(503, json=BUSY, headers={"x-should-retry": "false"})
    store = store_over(shelf, Unsent(shelf.fresh.backend.gateway, [told]))
    calls = shelf.calls()
    with pytest.raises(anthropic.APIStatusError) as refused:
        store.put(USER, "n", {"n": 1})
    assert refused.value.status_code == 503
    assert shelf.calls() == calls
