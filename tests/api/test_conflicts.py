"""Statements that contradict each other, over HTTP: both sides, when each holds, and who wrote it when."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.api.harness import Backend
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched


@pytest.fixture
def store(sessions_backend: Backend) -> str:
    return sessions_backend.client().beta.memory_stores.create(name="Team notes").id


def put(backend: Backend, store: str, path: str, content: str) -> Any:
    return backend.client().beta.memory_stores.memories.create(store, path=path, content=content)


def conflicts(backend: Backend, store: str, **query: object) -> list[Any]:
    reply = backend.raw("GET", f"/v1/memory_stores/{store}/conflicts", urlencode(query))
    assert reply.status == 200, reply.body
    return list(reply.body["conflicts"])


def pairs(found: list[Any]) -> set[frozenset[str]]:
    return {frozenset(side["observation"]["content"] for side in one["sides"]) for one in found}


def test_two_notes_that_give_a_subject_different_values_are_both_shown_with_author_time_and_trust(
    sessions_backend: Backend, store: str
) -> None:
    backend = sessions_backend
    put(backend, store, "/gateway.md", "# Gateway\n\n- [limit] The timeout is 30 s\n")
    second = put(
        backend,
        store,
        "/ops/notes.md",
        "- [limit] The timeout of [[Gateway]] is 60 s\n- [limit] [[Gateway]]: the timeout is 60s\n",
    )
    put(backend, store, "/other.md", "# Other\n\n- [limit] The timeout is 90 s\n")
    [one] = conflicts(backend, store)
    assert (one["kind"], one["status"]) == ("values", "open")
    sides = {side["memory"]["path"]: side for side in one["sides"]}
    assert set(sides) == {"/gateway.md", "/ops/notes.md"}
    side = sides["/ops/notes.md"]
    assert (side["line"], side["observation"]["category"]) == (1, "limit")
    assert side["memory_version_id"] == second.memory_version_id
    assert (side["written_by"]["type"], side["memory"]["trust"]) == ("api_actor", "agent")
    assert conflicts(backend, store, path_prefix="/ops/") == [one]
    assert conflicts(backend, store, path_prefix="/elsewhere/") == []


def test_statements_that_hold_at_different_times_do_not_contradict_each_other(
    sessions_backend: Backend, store: str
) -> None:
    backend = sessions_backend
    put(
        backend, store, "/plan.md",
        "# Plan\n\n- [day] @effective[2026-01-01,2026-07-01) We deploy on Thursdays\n"
        "- [day] @effective[2026-07-01,) We deploy on Fridays\n",
    )  # fmt: skip
    put(backend, store, "/old.md", "---\nvalid_until: 2025-12-31\n---\n\n- [day] [[Plan]]: we deploy on Mondays\n")
    put(backend, store, "/new.md", "---\nvalid_from: 2026-06-01\n---\n\n- [day] [[Plan]]: we deploy on Mondays\n")
    assert pairs(conflicts(backend, store)) == {
        frozenset(("[[Plan]]: we deploy on Mondays", "We deploy on Thursdays")),
        frozenset(("[[Plan]]: we deploy on Mondays", "We deploy on Fridays")),
    }
    [side] = [one for one in conflicts(backend, store)[0]["sides"] if one["memory"]["path"] == "/new.md"]
    assert side["memory"]["valid"] == {"from": "2026-06-01T00:00:00.000000Z", "until": None}


def test_what_a_note_says_that_it_contradicts_or_supersedes_is_heeded(sessions_backend: Backend, store: str) -> None:
    backend = sessions_backend
    put(backend, store, "/a.md", "# Use Redis\n\n- [decision] We use [[Redis]]\n- needs [[Redis]]\n")
    put(backend, store, "/b.md", "# No Redis\n\n- [decision] We don't use [[Redis]]\n")
    put(backend, store, "/c.md", "# Study\n\n- contradicts [[Use Redis]] (see table 2)\n")
    said = "# Still no Redis\n\n- [decision] We never use [[Redis]]\n- supersedes [[Use Redis]]\n"
    newer = put(backend, store, "/d.md", said)
    kinds = {one["kind"]: one for one in conflicts(backend, store)}
    assert set(kinds) == {"values", "declared"}, "what /b.md says is not settled by /d.md"
    declared = {side["memory"]["path"]: side for side in kinds["declared"]["sides"]}
    assert declared["/c.md"]["relation"] == {"type": "contradicts", "target_text": "Use Redis"}
    assert (declared["/a.md"]["line"], declared["/a.md"]["observation"]) == (None, None)
    [settled] = conflicts(backend, store, status="superseded")
    assert settled["superseded_by"] == newer.id
    assert {side["memory"]["path"] for side in settled["sides"]} == {"/a.md", "/d.md"}


def test_a_changed_or_deleted_side_leaves_no_conflict(sessions_backend: Backend, store: str) -> None:
    backend = sessions_backend
    memories = backend.client().beta.memory_stores.memories
    put(backend, store, "/a.md", "# A\n\n- [port] The port is 8080\n- [port] The port is 9090\n")
    changed = put(backend, store, "/b.md", "- [port] [[A]]: the port is 9091\n")
    gone = put(backend, store, "/c.md", "- [port] [[A]]: the port is 9092\n")
    memories.update(changed.id, memory_store_id=store, content="- [port] [[A]]: the port is 8080\n")
    memories.delete(gone.id, memory_store_id=store)
    assert {side["observation"]["content"] for one in conflicts(backend, store) for side in one["sides"]} == {
        "The port is 8080",
        "The port is 9090",
        "[[A]]: the port is 8080",
    }


def test_a_withheld_text_is_a_side_of_no_conflict() -> None:
    scene = Searched()
    hidden = scene.create("/a.md", "# A\n\n- [port] The port is 8080\n")
    scene.create("/b.md", "- [port] [[A]]: the port is 9090\n")
    scene.deliver()

    def listed() -> int:
        asked = {"path_prefix": None, "superseded": False, "limit": 10}
        return len(scene.at(HOME).conflicts.page(scene.call(), scene.store, **asked).items)  # type: ignore[arg-type]  # keywords of more than one type

    assert listed() == 1
    scene.judge(hidden)
    scene.deliver()
    assert listed() == 0
