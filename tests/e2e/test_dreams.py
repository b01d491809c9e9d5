"""Ours: what is said in one region becomes a proposal at the store's home, is approved in the other and taken back."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from scripts.agents import client
from scripts.local_cloud.lifecycle import LocalCloud
from tests.e2e.conftest import begin, knows, until
from tests.e2e.test_proposals import ask, texts

pytestmark = pytest.mark.e2e

SAID = "Please remember that the release branch is cut on Thursdays."
TICKS_S = 240.0
"""A tick is every minute; what is not over is looked at again by one of the next."""


def test_what_is_said_away_from_home_is_proposed_at_home_approved_away_and_reverted(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    until(lambda: knows(away, store_id))
    home.beta.memory_stores.memories.create(store_id, path="/a.md", content="one\n")
    session_id = begin(away, {"memory_store_id": store_id})["id"]
    away.beta.sessions.events.send(
        session_id, events=[{"type": "user.message", "content": [{"type": "text", "text": SAID}]}]
    )
    until(lambda: list(home.beta.sessions.events.list(session_id)))
    before = {"/a.md": "one\n"}
    until(lambda: texts(away, store_id) == before)
    body = {
        "inputs": [
            {"type": "memory_store", "memory_store_id": store_id},
            {"type": "sessions", "session_ids": [session_id]},
        ],
        "model": "small",
        "output_behavior": {"type": "propose"},
    }
    dream = ask(away, "POST", "/v1/dreams", body)
    assert dream["status"] == "pending"
    over = until(lambda: _over(away, dream["id"]), TICKS_S)
    assert (over["status"], over["x_memolith"]["model_answered"]) == ("completed", "memolith-extractive-1")
    base = f"/v1/memory_stores/{store_id}/proposals"
    proposal_id = over["x_memolith"]["proposal_id"]
    until(lambda: _proposed(home, base) == _proposed(away, base) == [proposal_id])
    assert texts(home, store_id) == before
    approved = ask(away, "POST", f"{base}/{proposal_id}/approve", {})
    assert {edit["result"]["outcome"] for edit in approved["edits"]} == {"applied"}
    until(lambda: "cut on Thursdays" in str(texts(home, store_id)))
    ask(home, "POST", f"{base}/{proposal_id}/revert", {})
    until(lambda: texts(away, store_id) == before)


def test_a_session_that_ended_away_from_home_is_extracted_by_itself_where_the_policy_says_so(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    ask(home, "POST", f"/v1/memory_stores/{store_id}", {"pipelines": {"auto_extract": "propose"}})
    until(lambda: knows(away, store_id))
    session_id = begin(away, {"memory_store_id": store_id})["id"]
    away.beta.sessions.events.send(
        session_id, events=[{"type": "user.message", "content": [{"type": "text", "text": SAID}]}]
    )
    ask(away, "POST", f"/v1/sessions/{session_id}/archive")
    base = f"/v1/memory_stores/{store_id}/proposals"
    [proposal_id] = until(lambda: _proposed(away, base), 2 * TICKS_S)
    assert ask(away, "GET", f"{base}/{proposal_id}")["proposed_by"]["session_id"] == session_id


def test_a_home_that_is_gone_in_the_middle_of_applying_applies_the_rest_once_it_is_back(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any]
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    until(lambda: knows(away, store_id))
    after = {f"/{number:02d}.md": f"text {number}\n" for number in range(40)}
    base = f"/v1/memory_stores/{store_id}/proposals"
    edits = [{"op": "create", "path": path, "content": text} for path, text in after.items()]
    token = begin(home, {"memory_store_id": store_id})["token"]
    agent = client(dev["regions"][regions[0]]["api_url"], token)
    made = ask(agent, "POST", base, {"edits": edits, "why": "end to end"})["id"]
    until(lambda: _proposed(away, base) == [made])

    def approve() -> None:
        with suppress(anthropic.APIError):
            ask(away, "POST", f"{base}/{made}/approve", {})

    approving = threading.Thread(target=approve)
    approving.start()
    until(lambda: texts(home, store_id))
    cloud = LocalCloud()
    cloud.faults({"cut": [regions[0]]})
    try:
        approving.join(timeout=60)
    finally:
        cloud.faults({"cut": []})
    until(lambda: _texts_or_none(home, store_id) == after, TICKS_S)
    until(lambda: _texts_or_none(away, store_id) == after, TICKS_S)
    assert ask(home, "GET", f"{base}/{made}")["status"] == "approved"


def _proposed(sdk: Anthropic, base: str) -> list[str]:
    return [one["id"] for one in ask(sdk, "GET", base)["data"]]


def _over(sdk: Anthropic, dream_id: str) -> Any:
    dream = ask(sdk, "GET", f"/v1/dreams/{dream_id}")
    return dream if dream["ended_at"] is not None else None


def _texts_or_none(sdk: Anthropic, store_id: str) -> dict[str, str | None] | None:
    try:
        return texts(sdk, store_id)
    except anthropic.APIError:
        return None
