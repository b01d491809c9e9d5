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
