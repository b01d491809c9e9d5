"""ADK's memory service where the answer of a write is lost: it reads again, and adds what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from memolith.adapters.system import SystemClock
from memolith.clients.sdk.adk_memory import MemolithMemoryService

WHO: dict[str, Any] = {"app_name": "helper", "user_id": "ada"}
PATH = "/helper/ada/memories/0001.jsonl"
TEA = f"{PATH}#tea"


class Paused(SystemClock):
    """A clock that does not wait, and notes for how long it was to."""

    def __init__(self) -> None:
        self.paused_s: list[float] = []

    def pause(self, seconds: float) -> None:
        self.paused_s.append(seconds)


class Losing(httpx2.BaseTransport):
    """Carries writes out and loses the answers of the first ones; lets others act before the first is lost."""

    def __init__(self, lost: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._inner, self._lost, self._meanwhile = httpx2.HTTPTransport(), lost, meanwhile
        self.asked: list[str] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._inner.handle_request(request)
        told = request.headers.get("x-memolith-consistency")
        self.asked.append(f"{request.method} {told}" if told else request.method)
        writes = self.asked.count("POST")
        if request.method == "POST" and writes <= self._lost:
            answer.close()
            if writes == 1:
                self._meanwhile()
            raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
        return answer

    def close(self) -> None:
        self._inner.close()


def losing(
    client: anthropic.Anthropic, store_id: str, transport: Losing, max_retries: int = 2
) -> tuple[MemolithMemoryService, Paused]:
    over = client.with_options(http_client=httpx2.Client(transport=transport), max_retries=max_retries)
    clock = Paused()
    return MemolithMemoryService(over, store_id, clock=clock), clock


def entry(text: str) -> MemoryEntry:
    return MemoryEntry(id=text, content=types.Content(role="user", parts=[types.Part(text=text)]))


def added(service: MemolithMemoryService, *texts: str) -> None:
    asyncio.run(service.add_memory(**WHO, memories=[entry(text) for text in texts]))


def contents(client: anthropic.Anthropic, store_id: str) -> list[str | None]:
    """What the document has been, the oldest first."""
    listed = client.beta.memory_stores.memory_versions.list(store_id, view="full")
    return [one.content for one in listed][::-1]


def line(text: str) -> str:
    return f'{{"id": "{text}", "role": "user", "text": "{text}"}}\n'


def deleted(text: str) -> str:
    return f'{{"id": "{text}", "deleted": true}}\n'


@pytest.mark.parametrize("stands", [False, True], ids=["in a new document", "in one that stands"])
def test_an_addition_whose_answer_is_lost_is_made_once_and_succeeds(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService, stands: bool
) -> None:
    before = [line("water")] if stands else []
    if stands:
        added(service, "water")
    transport = Losing(1)
    service, clock = losing(client, store_id, transport)
    added(service, "tea")
    assert contents(client, store_id) == [*before, "".join(before) + line("tea")]
    assert transport.asked == ["GET home", "POST", "GET home"]
    assert transport.asked.count("POST") == 1
    assert clock.paused_s == [0.5]


def test_an_addition_whose_answer_is_lost_does_not_bring_back_what_was_deleted_meanwhile(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService
) -> None:
    transport = Losing(1, lambda: asyncio.run(service.delete_memory(**WHO, memory_id=TEA)))
    losing_service, _ = losing(client, store_id, transport)
    added(losing_service, "tea")
    assert contents(client, store_id) == [line("tea"), deleted("tea")]


def test_a_deletion_whose_answer_is_lost_is_made_once_and_succeeds(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService
) -> None:
    added(service, "tea")
    transport = Losing(1)
    service, _ = losing(client, store_id, transport)
    asyncio.run(service.delete_memory(**WHO, memory_id=TEA))
    assert contents(client, store_id) == [line("tea"), deleted("tea")]
    assert transport.asked.count("POST") == 1


@pytest.mark.parametrize("max_retries", [0, 2])
def test_an_addition_of_which_no_answer_comes_is_tried_as_often_as_the_client_repeats_anything(
    client: anthropic.Anthropic, store_id: str, max_retries: int
) -> None:
    class Never(Losing):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.method == "GET":
                return super().handle_request(request)
            self.asked.append(request.method)
            raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")

    transport = Never(0)
    service, clock = losing(client, store_id, transport, max_retries)
    with pytest.raises(anthropic.APIConnectionError):
        added(service, "tea")
    assert transport.asked.count("POST") == max_retries + 1
    assert clock.paused_s == [0.5, 1.0][:max_retries]
    assert contents(client, store_id) == []
