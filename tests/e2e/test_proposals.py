"""Ours: a proposal is opened in one region, approved in the other and taken back, with every right enforced."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from scripts.agents import client
from tests.e2e.conftest import begin, knows, until

pytestmark = pytest.mark.e2e


def ask(sdk: Anthropic, method: str, path: str, body: object = None) -> Any:
    if method == "GET":
        return sdk.get(path, cast_to=object)
    return sdk.post(path, cast_to=object, body=body)


def texts(sdk: Anthropic, store_id: str) -> dict[str, str | None]:
    listed = sdk.beta.memory_stores.memories.list(store_id, view="full")
    return {one.path: one.content for one in listed if one.type == "memory"}


@pytest.mark.parametrize("opened", [0, 1], ids=["opened at home", "opened away from home"])
def test_a_proposal_opened_in_one_region_is_approved_in_the_other_and_reverted(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any], opened: int
) -> None:
    here, there = regions[opened], regions[1 - opened]
    until(lambda: knows(sdk[here], store_id) and knows(sdk[there], store_id))
    sdk[here].beta.memory_stores.memories.create(store_id, path="/a.md", content="one\ntwo\n")
    token = begin(sdk[here], {"memory_store_id": store_id})["token"]
    agent = client(dev["regions"][here]["api_url"], token)
    base = f"/v1/memory_stores/{store_id}/proposals"
    edits = [
        {"op": "str_replace", "path": "/a.md", "old": "two", "new": "three"},
        {"op": "create", "path": "/b.md", "content": "new\n"},
    ]
    made = ask(agent, "POST", base, {"edits": edits, "why": "end to end"})
    before = {"/a.md": "one\ntwo\n"}
    assert texts(sdk[here], store_id) == before
    with pytest.raises(anthropic.PermissionDeniedError):
        ask(agent, "POST", f"{base}/{made['id']}/approve", {})
    until(lambda: [one["id"] for one in ask(sdk[there], "GET", base)["data"]] == [made["id"]])
    approved = ask(sdk[there], "POST", f"{base}/{made['id']}/approve", {})
    assert [edit["result"]["outcome"] for edit in approved["edits"]] == ["applied", "applied"]
    after = {"/a.md": "one\nthree\n", "/b.md": "new\n"}
    assert texts(sdk[there], store_id) == after
    until(lambda: texts(sdk[here], store_id) == after)
    reverted = ask(sdk[here], "POST", f"{base}/{made['id']}/revert", {})
    assert [edit["reversal"]["outcome"] for edit in reverted["edits"]] == ["reverted", "reverted"]
    until(lambda: texts(sdk[there], store_id) == before)
    erased = ask(sdk[here], "POST", f"{base}/{made['id']}/erase", {})
    assert erased["erased"] is True
    until(lambda: ask(sdk[there], "GET", f"{base}/{made['id']}")["edits"][1]["content"] is None)


def test_two_people_in_two_regions_approve_what_needs_two_and_it_is_applied_once(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any]
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    ask(home, "POST", f"/v1/memory_stores/{store_id}", {"approval": {"paths": [{"prefix": "/policy/", "require": 2}]}})
    person = ask(away, "POST", "/v1/api_keys", {"name": "second", "scope": "write", "holder": "person"})["api_key"]
    second = {region: client(dev["regions"][region]["api_url"], person) for region in regions}
    until(lambda: knows(away, store_id) and all(_is_let_in(second[region], store_id) for region in regions))
    agent = client(dev["regions"][regions[0]]["api_url"], begin(home, {"memory_store_id": store_id})["token"])
    base = f"/v1/memory_stores/{store_id}/proposals"
    edits = [{"op": "create", "path": "/policy/a.md", "content": "new\n"}]
    made = ask(agent, "POST", base, {"edits": edits, "why": "end to end"})["id"]
    for _ in range(2):  # one person stays one person, however often it is said
        once = ask(home, "POST", f"{base}/{made}/approve", {})
        assert (once["status"], once["edits"][0]["result"], texts(home, store_id)) == ("open", None, {})
    endorsed = once["endorsed_by"]
    until(lambda: _endorsed_by(away, f"{base}/{made}") == endorsed)
    again = ask(away, "POST", f"{base}/{made}/approve", {})
    assert (again["status"], again["endorsed_by"]) == ("open", endorsed), "the same person in the other region"
    with pytest.raises(anthropic.PermissionDeniedError):
        ask(agent, "POST", f"{base}/{made}/approve", {})
    approved = ask(second[regions[1]], "POST", f"{base}/{made}/approve", {})
    assert (approved["status"], approved["edits"][0]["result"]["outcome"]) == ("approved", "applied")
    assert approved["decided_by"] != endorsed
    assert texts(away, store_id) == {"/policy/a.md": "new\n"}
    until(lambda: ask(home, "GET", f"{base}/{made}")["status"] == "approved" and texts(home, store_id))
    assert ask(second[regions[0]], "POST", f"{base}/{made}/approve", {})["status"] == "approved"
    for region in (home, away):
        listed = region.beta.memory_stores.memory_versions.list(store_id)
        assert [one.operation for one in listed] == ["created"], "applied once"


def _endorsed_by(sdk: Anthropic, address: str) -> Any:
    try:
        return ask(sdk, "GET", address)["endorsed_by"]
    except anthropic.NotFoundError:
        return None


def _is_let_in(sdk: Anthropic, store_id: str) -> bool:
    try:
        return knows(sdk, store_id)
    except anthropic.AuthenticationError:
        return False
