"""Memories through the unchanged SDK: written, read, renamed, deleted. Each claim is the API's unless it says ours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import anthropic
import pytest

from tests.api.harness import Backend


@pytest.fixture(scope="module")
def backend(shared_backend: Backend) -> Backend:
    """Shared: each test has a store of its own."""
    return shared_backend


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_new_memory_is_answered_without_its_content_unless_asked(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    basic = memories.create(store_id, path="/notes/ä.md", content="Grüße\n")
    assert basic.content is None
    assert (basic.content_sha256, basic.content_size_bytes) == (sha256("Grüße\n"), 8)
    assert basic.memory_store_id == store_id
    full = memories.create(store_id, path="/notes/b.md", content="b", view="full")
    assert full.content == "b"
    assert memories.retrieve(basic.id, memory_store_id=store_id).content == "Grüße\n"
    assert memories.retrieve(basic.id, memory_store_id=store_id, view="basic") == basic


@pytest.mark.parametrize(
    "content",
    ["", "\n", "\r\n a \t", "\x00\x01\x1f\x7f", "\ufeff", "\ufffd", "e\u0301 is not é", "🧠" * 5, '"\\/', "\u2028"],
)
def test_content_comes_back_exactly_as_it_was_sent(client: anthropic.Anthropic, store_id: str, content: str) -> None:
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content=content, view="full")
    assert memory.content == content
    assert memory.content_sha256 == sha256(content)
    assert memories.retrieve(memory.id, memory_store_id=store_id).content == content


def test_create_never_overwrites(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    holder = memories.create(store_id, path="/a", content="x")
    with pytest.raises(anthropic.ConflictError) as refused:
        memories.create(store_id, path="/a", content="x")
    assert refused.value.type == "memory_path_conflict_error"
    error = refused.value.body["error"]  # type: ignore[index]  # JSON has no type
    assert (error["conflicting_memory_id"], error["conflicting_path"]) == (holder.id, "/a")


@pytest.mark.parametrize(("held", "wanted"), [("/a", "/a/b"), ("/a/b", "/a"), ("/a/b/c/d", "/a"), ("/a", "/a/b/c/d")])
def test_a_path_and_its_ancestor_cannot_both_be_memories(
    client: anthropic.Anthropic, store_id: str, held: str, wanted: str
) -> None:
    memories = client.beta.memory_stores.memories
    holder = memories.create(store_id, path=held, content="x")
    other = memories.create(store_id, path="/z", content="x")
    attempts: list[Callable[[], object]] = [
        lambda: memories.create(store_id, path=wanted, content="y"),
        lambda: memories.update(other.id, memory_store_id=store_id, path=wanted),
    ]
    for attempt in attempts:
        with pytest.raises(anthropic.ConflictError) as refused:
            attempt()
        error = refused.value.body["error"]  # type: ignore[index]  # JSON has no type
        assert error["type"] == "memory_path_conflict_error"
        assert (error["conflicting_memory_id"], error["conflicting_path"]) == (holder.id, held)


def test_paths_that_only_begin_alike_do_not_conflict(client: anthropic.Anthropic, store_id: str) -> None:
    paths = ["/a", "/ab", "/a-b/c", "/A", "/a b", "/é", "/%41", "/a,b", "/a+b", "/a#b?c&d=e"]
    for path in paths:
        client.beta.memory_stores.memories.create(store_id, path=path, content=path)
    listed = list(client.beta.memory_stores.memories.list(store_id, view="full"))
    assert [memory.path for memory in listed] == sorted(paths, key=str.encode)
    assert all(memory.type == "memory" and memory.content == memory.path for memory in listed)


def test_a_path_is_free_again_once_its_memory_is_deleted_or_has_moved(
    client: anthropic.Anthropic, store_id: str
) -> None:
    memories = client.beta.memory_stores.memories
    first = memories.create(store_id, path="/a", content="1")
    memories.delete(first.id, memory_store_id=store_id)
    second = memories.create(store_id, path="/a", content="2")
    assert second.id != first.id
    memories.update(second.id, memory_store_id=store_id, path="/b")
    third = memories.create(store_id, path="/a/c", content="3")
    assert [(m.id, m.path) for m in memories.list(store_id) if m.type == "memory"] == [
        (third.id, "/a/c"),
        (second.id, "/b"),
    ]


def test_an_update_makes_one_version_and_keeps_the_id(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    before = memories.create(store_id, path="/a", content="1")
    after = memories.update(before.id, memory_store_id=store_id, content="2")
    assert after.id == before.id
    assert after.content is None
    assert after.memory_version_id != before.memory_version_id
    assert after.created_at == before.created_at
    assert after.updated_at > before.updated_at
    assert memories.update(before.id, memory_store_id=store_id, content="3", view="full").content == "3"
    assert len(list(client.beta.memory_stores.memory_versions.list(store_id, memory_id=before.id))) == 3


def test_a_rename_keeps_id_and_content(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    before = memories.create(store_id, path="/a", content="x")
    after = memories.update(before.id, memory_store_id=store_id, path="/b/c", view="full")
    assert (after.id, after.path, after.content) == (before.id, "/b/c", "x")
    assert after.content_sha256 == before.content_sha256
    under_itself = memories.update(before.id, memory_store_id=store_id, path="/b/c/d")
    assert under_itself.path == "/b/c/d", "the memory being renamed does not stand in its own way"
    both = memories.update(before.id, memory_store_id=store_id, path="/e", content="y", view="full")
    assert (both.path, both.content) == ("/e", "y")


def test_a_rename_never_overwrites(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    mover = memories.create(store_id, path="/a", content="x")
    holder = memories.create(store_id, path="/b", content="y")
    with pytest.raises(anthropic.ConflictError) as refused:
        memories.update(mover.id, memory_store_id=store_id, path="/b", content="z")
    assert refused.value.body["error"]["conflicting_memory_id"] == holder.id  # type: ignore[index]  # JSON has no type
    assert memories.retrieve(mover.id, memory_store_id=store_id).path == "/a"
    assert memories.retrieve(mover.id, memory_store_id=store_id).content == "x"


def test_what_is_so_already_is_answered_without_a_new_version(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    before = memories.create(store_id, path="/a", content="x")
    assert memories.update(before.id, memory_store_id=store_id, content="x") == before
    assert memories.update(before.id, memory_store_id=store_id, path="/a") == before
    assert memories.update(before.id, memory_store_id=store_id, path="/a", content="x") == before
    full = memories.update(before.id, memory_store_id=store_id, content="x", view="full")
    assert full.content == "x"
    assert len(list(client.beta.memory_stores.memory_versions.list(store_id))) == 1


def test_a_precondition_guards_an_update(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content="1")
    memories.update(
        memory.id,
        memory_store_id=store_id,
        content="2",
        precondition={"type": "content_sha256", "content_sha256": sha256("1")},
    )
    for change in ({"content": "3"}, {"path": "/b"}, {"content": "3", "path": "/b"}):
        with pytest.raises(anthropic.ConflictError) as refused:
            memories.update(
                memory.id,
                memory_store_id=store_id,
                precondition={"type": "content_sha256", "content_sha256": sha256("1")},
                **change,  # type: ignore[arg-type]  # keywords of more than one type
            )
        assert refused.value.type == "memory_precondition_failed_error"
    current = memories.retrieve(memory.id, memory_store_id=store_id)
    assert (current.path, current.content) == ("/a", "2")


def test_a_failed_precondition_is_forgiven_where_the_state_is_what_was_asked_for(
    client: anthropic.Anthropic, store_id: str
) -> None:
    """So that an update whose answer was lost can be repeated."""
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content="1")
    once = memories.update(
        memory.id,
        memory_store_id=store_id,
        content="2",
        precondition={"type": "content_sha256", "content_sha256": sha256("1")},
    )
    again = memories.update(
        memory.id,
        memory_store_id=store_id,
        content="2",
        precondition={"type": "content_sha256", "content_sha256": sha256("1")},
    )
    assert again == once


def test_a_precondition_guards_a_deletion(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content="1")
    with pytest.raises(anthropic.ConflictError) as refused:
        memories.delete(memory.id, memory_store_id=store_id, expected_content_sha256=sha256("2"))
    assert refused.value.type == "memory_precondition_failed_error"
    deleted = memories.delete(memory.id, memory_store_id=store_id, expected_content_sha256=sha256("1"))
    assert (deleted.id, deleted.type) == (memory.id, "memory_deleted")


def test_a_deleted_memory_is_not_found(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content="1")
    memories.delete(memory.id, memory_store_id=store_id)
    with pytest.raises(anthropic.NotFoundError):
        memories.retrieve(memory.id, memory_store_id=store_id)
    with pytest.raises(anthropic.NotFoundError):
        memories.update(memory.id, memory_store_id=store_id, content="2")
    with pytest.raises(anthropic.NotFoundError):
        memories.delete(memory.id, memory_store_id=store_id)


def test_a_conflict_costs_the_sdk_one_request(backend: Backend, store_id: str) -> None:
    """Ours: the SDK repeats a 409 twice unless it is told not to."""
    client = backend.client()
    memory = client.beta.memory_stores.memories.create(store_id, path="/a", content="1")
    backend.gateway.log.clear()
    with pytest.raises(anthropic.ConflictError):
        client.beta.memory_stores.memories.create(store_id, path="/a", content="1")
    with pytest.raises(anthropic.ConflictError):
        client.beta.memory_stores.memories.delete(memory.id, memory_store_id=store_id, expected_content_sha256="0" * 64)
    assert [status for _, _, status in backend.gateway.log] == [409, 409]
