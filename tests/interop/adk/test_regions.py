"""ADK's memory service in a region that lags: what it tells as done, the store's home has done."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from memolith.clients.sdk.adk_memory import MemolithMemoryService

WHO: dict[str, Any] = {"app_name": "helper", "user_id": "ada"}
PATH = "/helper/ada/memories/0001.jsonl"


class Lagging(httpx2.BaseTransport):
    """Answers a listing as it was answered first, unless the home is asked."""

    def __init__(self) -> None:
        self._inner = httpx2.HTTPTransport()
        self._seen: dict[str, bytes] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET" or request.headers.get("x-memolith-consistency") == "home":
            return self._inner.handle_request(request)
        url = str(request.url)
        if url not in self._seen:
            answer = self._inner.handle_request(request)
            self._seen[url] = answer.read()
            answer.close()
        return httpx2.Response(200, content=self._seen[url], headers={"content-type": "application/json"})

    def close(self) -> None:
        self._inner.close()


def away(client: anthropic.Anthropic, store_id: str) -> MemolithMemoryService:
    """The service in a region that lags from its first listing on."""
    over = client.with_options(http_client=httpx2.Client(transport=Lagging()))
    return MemolithMemoryService(over, store_id)


def add(service: MemolithMemoryService, text: str) -> None:
    entry = MemoryEntry(id=text, content=types.Content(role="user", parts=[types.Part(text=text)]))
    asyncio.run(service.add_memory(**WHO, memories=[entry]))


def contents(client: anthropic.Anthropic, store_id: str) -> list[str | None]:
    listed = client.beta.memory_stores.memories.list(store_id, view="full")
    return [one.content for one in listed if one.type == "memory"]


def test_a_memory_that_the_region_does_not_have_yet_is_deleted(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService
) -> None:
    lagging = away(client, store_id)
    add(lagging, "water")  # from now on, the region has no line
    add(service, "tea")
    asyncio.run(lagging.delete_memory(**WHO, memory_id=f"{PATH}#tea"))
    assert "tea" not in (contents(client, store_id)[0] or "").replace('{"id": "tea", "deleted": true}', "")


def test_what_the_region_still_has_in_a_document_that_was_deleted_is_added_again(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService
) -> None:
    add(service, "tea")
    lagging = away(client, store_id)
    add(lagging, "tea")
    memories = client.beta.memory_stores.memories
    for one in memories.list(store_id):
        memories.delete(one.id if one.type == "memory" else "", memory_store_id=store_id)
    add(lagging, "tea")
    assert contents(client, store_id) == ['{"id": "tea", "role": "user", "text": "tea"}\n']


def test_an_addition_to_a_document_that_the_region_does_not_have_yet_loses_nothing(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService
) -> None:
    lagging = away(client, store_id)
    add(lagging, "water")
    add(service, "tea")
    add(lagging, "milk")
    assert [text in (contents(client, store_id)[0] or "") for text in ("water", "tea", "milk")] == [True] * 3


def line(text: str) -> str:
    return f'{{"id": "{text}", "role": "user", "text": "{text}"}}\n'


def test_what_is_in_a_part_that_the_region_does_not_have_yet_is_not_added_again(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService
) -> None:
    lagging, long, longer = away(client, store_id), "1" * 45_000, "2" * 20_000
    add(service, long)
    add(lagging, long)  # from now on, the region has the first part alone
    for text in (longer, "tea"):
        add(service, text)
    add(lagging, "tea")
    assert contents(client, store_id) == [line(long), line(longer) + line("tea")]


def test_a_text_that_an_earlier_release_added_to_two_parts_is_deleted_in_both(
    client: anthropic.Anthropic, store_id: str, service: MemolithMemoryService
) -> None:
    for number in (1, 2):
        path = f"/helper/ada/memories/000{number}.jsonl"
        client.beta.memory_stores.memories.create(store_id, path=path, content=line("tea") + line("water"))
    asyncio.run(service.delete_memory(**WHO, memory_id=f"{PATH}#tea"))
    assert contents(client, store_id) == ['{"id": "tea", "deleted": true}\n' + line("water")] * 2
