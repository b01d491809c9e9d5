"""The memory service, held to ADK's own, and driven by ADK's runner with a stand-in for the model (`make interop`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import anthropic
import pytest
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools import load_memory
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from memolith.clients.sdk.adk_memory import MemolithMemoryService
from memolith.clients.sdk.writes import WriteStaged

WHO: dict[str, Any] = {"app_name": "helper", "user_id": "ada"}
SAID = [
    ("e1", "user", "Deploys go out on Tuesdays."),
    ("e2", "helper", "Noted: deploys on Tuesdays, never on Fridays."),
    ("e3", "user", "私はPythonを使う"),
    ("e4", "user", "The café is in the Straße"),
]


def content(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def event(event_id: str, author: str, text: str, at: float = 1_700_000_000.0) -> Event:
    return Event(id=event_id, author=author, content=content(text), timestamp=at)


def session(*events: Event, session_id: str = "s1", user_id: str = "ada") -> Session:
    return Session(id=session_id, app_name="helper", user_id=user_id, events=list(events))


def spoken() -> list[Event]:
    return [event(event_id, author, text, 1_700_000_000.0 + n) for n, (event_id, author, text) in enumerate(SAID)]


def found(service: BaseMemoryService, query: str, **who: str) -> list[str]:
    """The texts that a search gives."""
    answer = asyncio.run(service.search_memory(**{**WHO, **who}, query=query))
    return ["".join(part.text or "" for part in one.content.parts or []) for one in answer.memories]


def documents(client: anthropic.Anthropic, store_id: str) -> dict[str, str | None]:
    listed = client.beta.memory_stores.memories.list(store_id, view="full")
    return {one.path: one.content for one in listed if one.type == "memory"}


@pytest.mark.parametrize(
    "query", ["tuesdays", "Fridays?", "python", "Python 使う", "使う", "café", "caf", "straße", "thon", ""]
)
def test_a_search_finds_what_adks_own_service_finds(service: MemolithMemoryService, query: str) -> None:
    own = InMemoryMemoryService()
    for one in (own, service):
        asyncio.run(one.add_session_to_memory(session(*spoken())))
    assert sorted(found(service, query)) == sorted(found(own, query))


def test_what_shares_more_words_comes_first_and_at_most_ten_are_given(service: MemolithMemoryService) -> None:
    events = [event(f"e{n:02}", "user", f"tea number {n:02}", 1_700_000_000.0 + n) for n in range(12)]
    asyncio.run(service.add_session_to_memory(session(*events)))
    texts = found(service, "tea 03")
    assert (len(texts), texts[0], texts[1]) == (10, "tea number 03", "tea number 11")


def test_a_session_that_is_added_again_adds_what_is_new_and_nothing_twice(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str
) -> None:
    events = spoken()
    for count in (2, 2, 4, 4):
        asyncio.run(service.add_session_to_memory(session(*events[:count])))
    asyncio.run(service.add_events_to_memory(**WHO, events=events, session_id="s1"))
    ((path, text),) = documents(client, store_id).items()
    assert path == "/helper/ada/sessions/s1/0001.jsonl"
    assert (text or "").splitlines()[0] == (
        '{"id": "e1", "timestamp": "2023-11-14T22:13:20+00:00", "author": "user", "role": "user", '
        '"text": "Deploys go out on Tuesdays."}'
    )
    assert len((text or "").splitlines()) == len(events)
    versions = [one.operation for one in client.beta.memory_stores.memory_versions.list(store_id)]
    assert versions == ["modified", "created"]


def test_users_and_apps_see_their_own_alone(service: MemolithMemoryService) -> None:
    asyncio.run(service.add_session_to_memory(session(*spoken())))
    assert found(service, "deploys", user_id="ad") == []
    assert found(service, "deploys", user_id="../ada") == []
    assert found(service, "deploys", app_name="help") == []
    odd = "..", "a/b", "x%2Fy", "ü", "."
    for user_id in odd:
        asyncio.run(service.add_session_to_memory(session(event("e", "user", user_id + " tea"), user_id=user_id)))
    assert [found(service, "tea", user_id=user_id) for user_id in odd] == [[f"{user_id} tea"] for user_id in odd]


def test_agents_that_add_to_one_session_at_once_lose_nothing(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str
) -> None:
    async def add(number: int) -> None:
        events = [event(f"{number}-{n}", "user", f"tea {number} {n}") for n in range(3)]
        await service.add_events_to_memory(**WHO, events=events, session_id="s1")

    async def together() -> None:
        await asyncio.gather(*(add(number) for number in range(5)))

    asyncio.run(together())
    everything = MemolithMemoryService(client, store_id, results=100)
    assert sorted(found(everything, "tea")) == [f"tea {number} {n}" for number in range(5) for n in range(3)]


def test_a_long_session_has_several_parts_and_what_fits_in_none_is_refused_whole(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str
) -> None:
    long = [event(f"e{n}", "user", f"word{n} " + "x" * 40_000) for n in range(5)]
    asyncio.run(service.add_session_to_memory(session(*long[:3])))
    asyncio.run(service.add_session_to_memory(session(*long)))
    assert sorted(documents(client, store_id)) == [f"/helper/ada/sessions/s1/000{n}.jsonl" for n in (1, 2, 3)]
    assert [len(found(service, f"word{n}")) for n in range(5)] == [1] * 5
    with pytest.raises(ValueError, match="memory 'huge': has more than"):
        more = [event("small", "user", "small"), event("huge", "user", "x" * 100_001)]
        asyncio.run(service.add_events_to_memory(**WHO, events=more, session_id="s1"))
    assert found(service, "small") == []


def test_what_is_added_explicitly_is_found_and_deleted_by_its_id_for_good(service: MemolithMemoryService) -> None:
    entries = [MemoryEntry(content=content("Ada likes tea"), custom_metadata={"topic": "drinks"})]
    asyncio.run(service.add_memory(**WHO, memories=entries))
    asyncio.run(service.add_session_to_memory(session(*spoken())))
    (tea,) = asyncio.run(service.search_memory(**WHO, query="tea")).memories
    assert tea.custom_metadata == {"topic": "drinks"}
    (friday,) = asyncio.run(service.search_memory(**WHO, query="fridays")).memories
    for memory_id in (tea.id, friday.id, friday.id, "/helper/bob/x.jsonl#e1", "none", None):
        asyncio.run(service.delete_memory(**WHO, memory_id=memory_id))
    asyncio.run(service.add_session_to_memory(session(*spoken())))
    assert found(service, "tea fridays") == []
    assert found(service, "tuesdays") == ["Deploys go out on Tuesdays."]
    stranger = asyncio.run(service.search_memory(**WHO, query="tuesdays")).memories[0].id
    asyncio.run(service.delete_memory(app_name="helper", user_id="bob", memory_id=stranger))
    assert found(service, "tuesdays") == ["Deploys go out on Tuesdays."]


def test_what_says_nothing_is_left_out(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str
) -> None:
    call = types.Part(function_call=types.FunctionCall(name="look", args={}))
    thought = types.Part(text="secretly", thought=True)
    quiet = [
        Event(id="1", author="helper", content=types.Content(role="model", parts=[call])),
        Event(id="2", author="helper", content=types.Content(role="model", parts=[thought])),
        Event(id="3", author="helper"),
    ]
    asyncio.run(service.add_session_to_memory(session(*quiet)))
    assert documents(client, store_id) == {}


def test_what_others_wrote_into_a_document_stays_and_is_passed_over(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str
) -> None:
    memories = client.beta.memory_stores.memories
    path = "/helper/ada/sessions/s1/0001.jsonl"
    memories.create(store_id, path=path, content='tuesdays by hand\n{"id": 7}\n[1]')
    memories.create(store_id, path="/helper/ada/sessions/s1/notes.md", content="tuesdays")
    asyncio.run(service.add_session_to_memory(session(*spoken()[:1])))
    assert found(service, "tuesdays") == ["Deploys go out on Tuesdays."]
    assert (documents(client, store_id)[path] or "").startswith('tuesdays by hand\n{"id": 7}\n[1]\n{"id": "e1"')


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "text": "tuesdays"}',
        '{"id": [], "text": "tuesdays"}',
        '{"id": "x", "text": null}',
        '{"id": "x", "text": ["tuesdays"]}',
        '{"id": "x", "text": "tuesdays", "timestamp": 5}',
        '{"id": "x", "text": "tuesdays", "author": {}}',
        '{"id": "x", "text": "tuesdays", "role": 1}',
        '{"id": "x", "text": "tuesdays", "metadata": [["a", "b"]]}',
        '{"id": "x\\ud800", "text": "tuesdays"}',
        '{"id": "x", "text": "tuesdays \\ud800"}',
    ],
)
def test_a_line_whose_fields_are_not_what_a_memory_has_is_passed_over(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str, line: str
) -> None:
    path = "/helper/ada/sessions/s1/0001.jsonl"
    client.beta.memory_stores.memories.create(store_id, path=path, content=f"{line}\n")
    asyncio.run(service.add_session_to_memory(session(*spoken()[:1])))
    answer = asyncio.run(service.search_memory(**WHO, query="tuesdays"))
    assert [one.id for one in answer.memories] == [f"{path}#e1"]
    asyncio.run(service.delete_memory(**WHO, memory_id=f"{path}#e1"))
    assert found(service, "tuesdays") == []
    assert documents(client, store_id)[path] == f'{line}\n{{"id": "e1", "deleted": true}}\n'


def test_a_deletion_whose_id_is_a_number_deletes_no_memory_with_that_number(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str
) -> None:
    path = "/helper/ada/memories/0001.jsonl"
    client.beta.memory_stores.memories.create(store_id, path=path, content='{"id": 7, "deleted": true}\n')
    asyncio.run(service.add_memory(**WHO, memories=[MemoryEntry(id="7", content=content("tea"))]))
    assert found(service, "tea") == ["tea"]


def test_what_the_scanner_refuses_is_not_stored_and_says_why(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str
) -> None:
    secret = "AKIA" + "Z7QWERTY3456ABCD"
    asyncio.run(service.add_events_to_memory(**WHO, events=spoken()[:1], session_id="s1"))
    with pytest.raises(anthropic.BadRequestError, match="scanner"):
        bad = [event("bad", "user", f"aws_access_key_id = {secret}")]
        asyncio.run(service.add_events_to_memory(**WHO, events=bad, session_id="s1"))
    assert secret not in str(documents(client, store_id))
    assert found(service, "tuesdays") == ["Deploys go out on Tuesdays."]


@pytest.mark.parametrize("key", ["ttl", "expire_time", "revision_ttl", "revision_expire_time"])
def test_an_expiry_is_refused_by_its_name_and_nothing_is_added(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str, key: str
) -> None:
    asked = {key: "3600s"}
    calls = [
        service.add_events_to_memory(**WHO, events=spoken(), session_id="s1", custom_metadata=asked),
        service.add_memory(**WHO, memories=[MemoryEntry(content=content("tea"))], custom_metadata=asked),
        service.add_memory(**WHO, memories=[MemoryEntry(content=content("tea"), custom_metadata=asked)]),
    ]
    for call in calls:
        with pytest.raises(NotImplementedError, match=f"{key}: memories of MemolithMemoryService do not expire"):
            asyncio.run(call)
    assert documents(client, store_id) == {}


@pytest.mark.parametrize("what", ["a new document", "one that stands", "a deletion"])
def test_what_waits_for_approval_is_not_told_as_done(
    service: MemolithMemoryService, client: anthropic.Anthropic, store_id: str, what: str
) -> None:
    path = "/helper/ada/memories/0001.jsonl"
    if what != "a new document":
        asyncio.run(service.add_memory(**WHO, memories=[MemoryEntry(id="water", content=content("water"))]))
    before = documents(client, store_id)
    approval = {"approval": {"paths": [{"prefix": "/"}]}}
    client.post(f"/v1/memory_stores/{store_id}", cast_to=object, body=approval)
    with pytest.raises(WriteStaged, match="staged for approval as prop_") as waiting:
        if what == "a deletion":
            asyncio.run(service.delete_memory(**WHO, memory_id=f"{path}#water"))
        else:
            asyncio.run(service.add_memory(**WHO, memories=[MemoryEntry(id="tea", content=content("tea"))]))
    listed: Any = client.get(f"/v1/memory_stores/{store_id}/proposals", cast_to=object)
    assert [one["id"] for one in listed["data"]] == [waiting.value.proposal_id]
    assert documents(client, store_id) == before


class Model(BaseLlm):
    """Stands in for the model: looks into its memory where it is asked something, and repeats what it was given."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for one in llm_request.contents for part in one.parts or []]
        answered = [part.function_response for part in parts if part.function_response]
        told = " ".join(part.text for part in parts if part.text)
        if answered:
            said = types.Part(text=f"loaded: {answered[-1].response}")
        elif "PAST_CONVERSATIONS" in told:
            said = types.Part(text=f"preloaded: {told}")
        elif "?" in told and load_memory.name in llm_request.tools_dict:
            said = types.Part(function_call=types.FunctionCall(name=load_memory.name, args={"query": told}))
        else:
            said = types.Part(text="noted")
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


@pytest.mark.parametrize(("tool", "word"), [(load_memory, "loaded"), (PreloadMemoryTool(), "preloaded")])
def test_an_agent_of_adk_remembers_what_was_said_in_another_session(
    service: MemolithMemoryService, tool: Any, word: str
) -> None:
    sessions = InMemorySessionService()
    agent = LlmAgent(name="helper", model=Model(model="stand-in"), tools=[tool])
    runner = Runner(agent=agent, app_name="helper", session_service=sessions, memory_service=service)

    async def say(session_id: str, text: str) -> str:
        await sessions.create_session(**WHO, session_id=session_id)
        told = ""
        async for one in runner.run_async(user_id="ada", session_id=session_id, new_message=content(text)):
            told += "".join(part.text or "" for part in (one.content.parts if one.content else None) or [])
        ended = await sessions.get_session(**WHO, session_id=session_id)
        assert ended is not None
        await service.add_session_to_memory(ended)
        return told

    assert asyncio.run(say("first", "We release on Tuesdays, by the way.")) == "noted"
    again = asyncio.run(say("second", "When do we release?"))
    assert again.startswith(f"{word}: ")
    assert "We release on Tuesdays" in again
