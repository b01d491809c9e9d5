"""Divergent versions in the API: an admin looks at what a fail-over left behind, and decides. All of it is ours."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.api.harness import Backend, Reply
from tests.unit.app.failing import diverged
from tests.unit.app.scene import AWAY, HOME, Scene


def test_where_no_home_was_lost_nothing_is_divergent(
    backend: Backend, client: anthropic.Anthropic, store_id: str
) -> None:
    made = client.beta.memory_stores.memories.create(store_id, path="/a", content="x")
    here = f"/v1/memory_stores/{store_id}/divergent"
    assert backend.raw("GET", here).body == {"data": [], "next_page": None}
    one = f"{here}/{made.memory_version_id}"
    assert backend.raw("GET", one).status == 404
    assert backend.raw("POST", f"{one}/restore").status == 404
    assert backend.raw("POST", f"{one}/dismiss").status == 404
    assert backend.raw("POST", f"{one}/dismiss", body={"why": "x"}).status == 400
    assert backend.raw("DELETE", one).status == 405


def test_below_admin_it_is_refused(backend: Backend, store_id: str) -> None:
    key = {"authorization": f"Bearer {backend.issue_key('main', 'write')}"}
    assert backend.raw("GET", f"/v1/memory_stores/{store_id}/divergent", headers=key).status == 403


class Parted:
    """Two regions that both wrote one memory, and an admin's ways to ask either."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.memory, self.lost = diverged(self.scene)
        self.here = f"/v1/memory_stores/{self.scene.store}/divergent"

    def ask(self, region: str, method: str, rest: str = "", query: str = "", **headers: str) -> Reply:
        backend = Backend(self.scene.at(region), self.scene.clock, lambda name, scope: self.scene.cloud.key(scope))
        given = {"authorization": f"Bearer {self.scene.api_key}", **headers}
        return backend.raw(method, f"{self.here}{rest}", query, headers=given)


@pytest.fixture
def parted() -> Parted:
    return Parted()


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_divergent_version_is_listed_shown_and_restored(parted: Parted, region: str) -> None:
    [listed] = parted.ask(region, "GET").body["data"]
    assert (listed["id"], listed["path"], listed["content"]) == (parted.lost.version_id, "/a", None)
    assert listed["created_by"]["type"] == "api_actor"
    one = f"/{listed['id']}"
    shown: Any = parted.ask(region, "GET", one).body
    assert (shown["content"], shown["current"]["content"]) == ("theirs", "ours")
    restored = parted.ask(region, "POST", f"{one}/restore", "view=full").body
    assert (restored["id"], restored["memory"]["content"]) == (listed["id"], "theirs")
    assert parted.ask(region, "GET").body["data"] == []
    assert parted.ask(region, "GET", one).status == 404


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_divergent_version_is_dismissed(parted: Parted, region: str) -> None:
    one = f"/{parted.lost.version_id}"
    answer = parted.ask(region, "POST", f"{one}/dismiss").body
    assert answer == {"type": "divergent_version_dismissed", "id": parted.lost.version_id}
    assert parted.ask(region, "POST", f"{one}/dismiss").status == 404
    assert parted.scene.read(parted.memory, at=region).content == "ours"
