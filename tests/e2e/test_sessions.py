"""Ours: a session that begins in one region is one of them all, and ends in them all within seconds."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from scripts.agents import client
from tests.e2e.conftest import begin, knows, until

pytestmark = pytest.mark.e2e

ENDED_WITHIN_S = 10


@pytest.mark.parametrize("begun", [0, 1], ids=["begun in the first region", "begun in the second region"])
def test_a_session_begun_in_one_region_works_in_the_other_and_ends_in_both(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any], begun: int
) -> None:
    here, there = regions[begun], regions[1 - begun]
    until(lambda: knows(sdk[here], store_id))
    session = begin(sdk[here], {"memory_store_id": store_id})
    token = session["token"]
    mine = {name: client(dev["regions"][name]["api_url"], token) for name in regions}
    until(lambda: knows(sdk[there], store_id))
    made = mine[there].beta.memory_stores.memories.create(store_id, path="/seen.md", content="by a session")
    [version] = mine[there].beta.memory_stores.memory_versions.list(store_id, memory_id=made.id)
    assert version.created_by is not None
    assert version.created_by.to_dict() == {"type": "session_actor", "session_id": session["id"]}
    until(lambda: "/seen.md" in _paths(mine[here], store_id))
    with pytest.raises(anthropic.PermissionDeniedError):
        mine[there].beta.memory_stores.list()
    sdk[there].beta.sessions.archive(session["id"])
    assert not _works(mine[there], store_id)
    until(lambda: not _works(mine[here], store_id), ENDED_WITHIN_S)


@pytest.mark.parametrize("asked", [0, 1], ids=["in the first region", "in the second region"])
def test_sessions_are_listed_changed_and_deleted(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, asked: int
) -> None:
    here = sdk[regions[asked]]
    until(lambda: knows(here, store_id))
    ids = [begin(here, {"memory_store_id": store_id})["id"] for _ in range(3)]
    sessions = here.beta.sessions
    assert sessions.update(ids[0], title="Tuesday", metadata={"team": "a"}).title == "Tuesday"
    listed = list(sessions.list(memory_store_id=store_id, limit=2))
    assert [one.id for one in listed] == ids[::-1]
    assert (listed[-1].title, listed[-1].metadata) == ("Tuesday", {"team": "a"})
    assert sessions.delete(ids[0]).type == "session_deleted"
    assert [one.id for one in sessions.list(memory_store_id=store_id)] == [ids[2], ids[1]]
    assert len(list(sessions.list(memory_store_id=store_id, include_archived=True))) == 3


def _paths(sdk: Anthropic, store_id: str) -> list[str]:
    return [one.path for one in sdk.beta.memory_stores.memories.list(store_id)]


def _works(sdk: Anthropic, store_id: str) -> bool:
    try:
        _paths(sdk, store_id)
    except anthropic.AuthenticationError:
        return False
    return True


def test_a_session_that_was_shown_an_imported_text_writes_less_trusted_versions_in_both_regions(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any]
) -> None:
    """The reader cannot write: its indexer records the class, with the one right that it has for that."""
    here, there = regions
    memory_id, version_id = f"mem_01k{'0' * 22}7", f"memver_01k{'0' * 22}7"
    version = {"id": version_id, "memory_id": memory_id, "operation": "created", "path": "/web.md", "content": "text"}
    body = {"versions": [{**version, "created_at": "2026-01-02T03:04:05Z"}]}
    sdk[here].post(f"/v1/memory_stores/{store_id}/memory_versions", body=body, cast_to=object)
    session = begin(sdk[here], {"memory_store_id": store_id})
    mine = {name: client(dev["regions"][name]["api_url"], session["token"]) for name in regions}
    assert _trust_of_a_write(mine[here], store_id, "/before") == "agent"
    assert mine[here].beta.memory_stores.memories.retrieve(memory_id, memory_store_id=store_id).content == "text"
    assert _trust_of_a_write(mine[here], store_id, "/after") == "imported"
    until(lambda: knows(sdk[there], store_id))
    numbers = iter(range(100))
    until(lambda: _trust_of_a_write(mine[there], store_id, f"/there-{next(numbers)}") == "imported")


def _trust_of_a_write(api: Anthropic, store_id: str, path: str) -> str:
    made = api.beta.memory_stores.memories.create(store_id, path=path, content="by a session")
    return str(made.to_dict()["trust"])
