"""ADK's memory service where a part of a document is withheld: what it has cannot be told, so nothing is added twice.

ADK's packages are in no environment that these tests run in; of theirs the service needs a few names alone.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import anthropic
import pytest

from memolith.adapters.memory import RecordingMetrics
from memolith.wire.http import HttpApi
from tests.api.loopback import serving
from tests.support.sdk import client_of
from tests.unit.app.looking import PLANTED, Looking
from tests.unit.app.scene import HOME, Scene

WHO = {"app_name": "helper", "user_id": "ada"}
FOLDER = "/helper/ada/sessions/s1/"
FIRST = f"{FOLDER}0001.jsonl"
SAID = ["fine", PLANTED, "and more"]
OURS = ("memolith.clients.sdk.adk_memory", "memolith.clients.sdk.adk_lines")
THEIRS: dict[str, dict[str, Any]] = {
    "google": {},
    "google.adk": {},
    "google.adk.memory": {},
    "google.adk.memory.base_memory_service": {"BaseMemoryService": object, "SearchMemoryResponse": SimpleNamespace},
    "google.adk.memory.memory_entry": {"MemoryEntry": SimpleNamespace},
    "google.genai": {"types": SimpleNamespace(Content=SimpleNamespace, Part=SimpleNamespace)},
}


@pytest.fixture
def adk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The service's module, on stand-ins for what it imports of ADK."""
    for name, members in THEIRS.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    try:
        yield import_module(OURS[0])
    finally:
        for name in OURS:
            sys.modules.pop(name, None)


@dataclass(frozen=True, slots=True)
class Desk:
    """A service on a store that scans each text again once it is committed."""

    scene: Scene
    client: anthropic.Anthropic
    service: Any

    def add(self, count: int) -> None:
        """As a runner does after each turn: the whole session, so far."""
        events = [_event(number, text) for number, text in enumerate(SAID[:count])]
        asyncio.run(self.service.add_session_to_memory(SimpleNamespace(**WHO, id="s1", events=events)))
        self.scene.deliver()

    def release(self) -> None:
        address = f"/v1/memory_stores/{self.scene.store}/quarantine"
        listed: Any = self.client.get(address, cast_to=object)
        (version,) = [one["memory_version_id"] for one in listed["data"]]
        self.client.post(f"{address}/{version}/release", cast_to=object, body={"reason": "our own words"})
        self.scene.deliver()

    def parts(self) -> dict[str, str | None]:
        listed = self.client.beta.memory_stores.memories.list(self.scene.store, view="full")
        return {one.path: one.content for one in listed if one.type == "memory"}


def _event(number: int, text: str) -> SimpleNamespace:
    content = SimpleNamespace(role="user", parts=[SimpleNamespace(text=text, thought=None)])
    return SimpleNamespace(id=f"e{number}", author="user", content=content, timestamp=1_700_000_000.0 + number)


@pytest.fixture
def desk(adk: Any) -> Iterator[Desk]:
    scene = Scene(deep_scanner=Looking())
    region = scene.cloud.sites[HOME].region
    api = HttpApi(scene.at(HOME), region.clock, region.randomness, RecordingMetrics())
    with serving(api.answer) as port:
        client = client_of(f"http://127.0.0.1:{port}", scene.api_key)
        yield Desk(scene, client, adk.MemolithMemoryService(client, scene.store))


def test_a_session_with_a_withheld_part_is_not_stored_once_more_at_each_turn(desk: Desk, adk: Any) -> None:
    desk.add(2)
    assert desk.parts() == {FIRST: None}
    for count in (2, 3):
        with pytest.raises(adk.UnreadablePart, match=f"{FIRST}: is withheld by the scanner.*memolith quarantine"):
            desk.add(count)
        assert desk.parts() == {FIRST: None}


def test_a_session_goes_on_once_its_part_is_released_and_the_line_that_is_withheld_is_deleted(desk: Desk) -> None:
    desk.add(2)
    desk.release()
    desk.add(2)
    asyncio.run(desk.service.delete_memory(**WHO, memory_id=f"{FIRST}#e1"))
    desk.add(3)
    ((path, content),) = desk.parts().items()
    assert path == FIRST
    lines = [json.loads(line) for line in (content or "").splitlines()]
    assert [(line["id"], line.get("text")) for line in lines] == [("e0", "fine"), ("e1", None), ("e2", "and more")]


def test_a_deletion_is_not_told_as_done_where_a_withheld_part_may_have_the_text(desk: Desk, adk: Any) -> None:
    desk.add(2)
    second = f"{FOLDER}0002.jsonl"
    desk.scene.create(second, '{"id": "e1", "text": "fine"}\n')
    with pytest.raises(adk.UnreadablePart, match=FIRST):
        asyncio.run(desk.service.delete_memory(**WHO, memory_id=f"{second}#e1"))
    assert desk.parts() == {FIRST: None, second: '{"id": "e1", "deleted": true}\n'}


def test_a_part_that_is_damaged_is_told_with_what_repairs_it(adk: Any) -> None:
    told = str(adk.UnreadablePart("memstore_1", SimpleNamespace(path=FIRST, damaged=True), "nothing was added"))
    assert told.startswith(f"{FIRST}: is damaged, so it cannot be told what it has; nothing was added. ")
    assert "memolith repair" in told


def test_what_has_no_withheld_part_is_added_to_and_deleted_as_ever(desk: Desk) -> None:
    desk.add(1)
    asyncio.run(desk.service.delete_memory(**WHO, memory_id=f"{FIRST}#e0"))
    desk.add(1)
    assert desk.parts() == {FIRST: '{"id": "e0", "deleted": true}\n'}
