"""memory_stores through the unchanged SDK. Each claim is the API's unless it says that it is ours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import anthropic
import pytest

from memolith.core.times import rfc3339
from tests.api.harness import Backend


def test_a_new_store_has_what_it_was_given_and_defaults_for_the_rest(client: anthropic.Anthropic) -> None:
    plain = client.beta.memory_stores.create(name="Demo Memory")
    full = client.beta.memory_stores.create(name="é\u200d", description="d" * 1024, metadata={"k" * 64: "v" * 512})
    assert (plain.name, plain.description, plain.metadata, plain.archived_at) == ("Demo Memory", "", {}, None)
    assert plain.created_at == plain.updated_at
    assert (full.name, full.description, full.metadata) == ("é\u200d", "d" * 1024, {"k" * 64: "v" * 512})
    assert client.beta.memory_stores.retrieve(full.id) == full


def test_names_need_not_be_unique(client: anthropic.Anthropic) -> None:
    assert client.beta.memory_stores.create(name="x").id != client.beta.memory_stores.create(name="x").id


def test_an_update_changes_what_it_names_and_moves_updated_at(client: anthropic.Anthropic) -> None:
    before = client.beta.memory_stores.create(name="a", description="b", metadata={"keep": "1", "drop": "2"})
    after = client.beta.memory_stores.update(before.id, metadata={"drop": None, "add": "3"})
    assert (after.name, after.description) == ("a", "b")
    assert after.metadata == {"keep": "1", "add": "3"}
    assert after.updated_at > before.updated_at
    assert client.beta.memory_stores.update(before.id, description="").description == ""
    assert client.beta.memory_stores.update(before.id, name="c").name == "c"


def test_an_update_of_nothing_is_no_change(client: anthropic.Anthropic) -> None:
    before = client.beta.memory_stores.create(name="a", metadata={"k": "v"})
    assert client.beta.memory_stores.update(before.id) == before
    assert client.beta.memory_stores.update(before.id, name=None, description=None, metadata=None) == before
    assert client.beta.memory_stores.update(before.id, name="a", metadata={"k": "v", "absent": None}) == before


def test_metadata_never_exceeds_sixteen_pairs_after_a_patch(client: anthropic.Anthropic) -> None:
    store = client.beta.memory_stores.create(name="a", metadata={f"k{n}": "" for n in range(16)})
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.beta.memory_stores.update(store.id, metadata={"k16": ""})
    assert "metadata" in str(refused.value)
    swapped = client.beta.memory_stores.update(
        store.id, metadata={**{f"k{n}": None for n in range(16)}, **{f"n{n}": "" for n in range(16)}}
    )
    assert swapped.metadata == {f"n{n}": "" for n in range(16)}


def test_memory_writes_do_not_move_a_stores_updated_at(client: anthropic.Anthropic, store_id: str) -> None:
    before = client.beta.memory_stores.retrieve(store_id)
    client.beta.memory_stores.memories.create(store_id, path="/a", content="x")
    assert client.beta.memory_stores.retrieve(store_id) == before


def test_archiving_is_one_way_and_repeatable(client: anthropic.Anthropic, store_id: str) -> None:
    archived = client.beta.memory_stores.archive(store_id)
    assert archived.archived_at is not None
    assert archived.updated_at == archived.archived_at
    assert client.beta.memory_stores.archive(store_id) == archived
    assert client.beta.memory_stores.retrieve(store_id) == archived


def test_an_archived_store_takes_no_new_content_but_can_be_read_and_emptied(
    client: anthropic.Anthropic, store_id: str
) -> None:
    memories = client.beta.memory_stores.memories
    kept = memories.create(store_id, path="/kept", content="x")
    gone = memories.create(store_id, path="/gone", content="y")
    client.beta.memory_stores.archive(store_id)
    with pytest.raises(anthropic.BadRequestError):
        client.beta.memory_stores.update(store_id, name="b")
    with pytest.raises(anthropic.BadRequestError):
        client.beta.memory_stores.update(store_id, name="b", extra_body={"durability": "one_region"})
    unchanged = client.beta.memory_stores.update(store_id, extra_body={"durability": "one_region"})
    assert unchanged == client.beta.memory_stores.retrieve(store_id)
    with pytest.raises(anthropic.BadRequestError):
        memories.create(store_id, path="/new", content="z")
    with pytest.raises(anthropic.BadRequestError):
        memories.update(kept.id, memory_store_id=store_id, content="z")
    assert memories.retrieve(kept.id, memory_store_id=store_id).content == "x"
    memories.delete(gone.id, memory_store_id=store_id)
    versions = client.beta.memory_stores.memory_versions
    assert versions.redact(gone.memory_version_id, memory_store_id=store_id).redacted_at is not None
    assert [memory.path for memory in memories.list(store_id) if memory.type == "memory"] == ["/kept"]
    assert client.beta.memory_stores.delete(store_id).id == store_id


def test_a_deleted_store_is_gone_with_everything_in_it(client: anthropic.Anthropic, store_id: str) -> None:
    memory = client.beta.memory_stores.memories.create(store_id, path="/a", content="x")
    deleted = client.beta.memory_stores.delete(store_id)
    assert (deleted.id, deleted.type) == (store_id, "memory_store_deleted")
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.retrieve(store_id)
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.delete(store_id)
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.memories.retrieve(memory.id, memory_store_id=store_id)
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.memory_versions.list(store_id)
    assert [store.id for store in client.beta.memory_stores.list()] == []


def test_a_deleted_store_waits_for_its_erasure_where_admins_see_it(backend: Backend, store_id: str) -> None:
    """Ours: the vendor's deletion is final."""
    kept = backend.client().beta.memory_stores.create(name="kept").id
    backend.client().beta.memory_stores.delete(store_id)
    [waiting] = backend.raw("GET", "/v1/memory_stores", "deleted=true").body["data"]
    assert (waiting["id"], waiting["name"], waiting["archived_at"]) == (store_id, "Team notes", None)
    deleted_at, erase_after = (datetime.fromisoformat(waiting[name]) for name in ("updated_at", "erase_after"))
    assert erase_after - deleted_at == timedelta(days=7)
    listed = backend.raw("GET", "/v1/memory_stores", "deleted=false").body["data"]
    assert [store["id"] for store in listed] == [kept]
    for scope in ("read", "write"):
        headers = {"authorization": f"Bearer {backend.issue_key('main', scope)}"}
        assert backend.raw("GET", "/v1/memory_stores", "deleted=true", headers=headers).status == 403
        assert backend.raw("POST", f"/v1/memory_stores/{store_id}/restore", headers=headers).status == 403


def test_a_deleted_store_is_restored_with_everything_in_it(backend: Backend, store_id: str) -> None:
    """Ours. Restoring again changes nothing."""
    client = backend.client()
    before = client.beta.memory_stores.retrieve(store_id)
    memory = client.beta.memory_stores.memories.create(store_id, path="/a", content="x")
    client.beta.memory_stores.memories.update(memory.id, memory_store_id=store_id, content="y")
    client.beta.memory_stores.delete(store_id)
    restored = backend.raw("POST", f"/v1/memory_stores/{store_id}/restore")
    assert (restored.status, restored.body["id"], restored.body["name"]) == (200, store_id, "Team notes")
    assert backend.raw("POST", f"/v1/memory_stores/{store_id}/restore").body == restored.body
    assert client.beta.memory_stores.retrieve(store_id).created_at == before.created_at
    assert client.beta.memory_stores.memories.retrieve(memory.id, memory_store_id=store_id).content == "y"
    assert len(list(client.beta.memory_stores.memory_versions.list(store_id))) == 2
    assert client.beta.memory_stores.memories.create(store_id, path="/b", content="z").path == "/b"
    assert backend.raw("GET", "/v1/memory_stores", "deleted=true").body["data"] == []


def test_another_workspaces_deleted_store_is_not_found(backend: Backend, store_id: str) -> None:
    backend.client().beta.memory_stores.delete(store_id)
    headers = {"authorization": f"Bearer {backend.issue_key('other', 'admin')}"}
    assert backend.raw("POST", f"/v1/memory_stores/{store_id}/restore", headers=headers).status == 404
    assert backend.raw("GET", "/v1/memory_stores", "deleted=true", headers=headers).body["data"] == []
    assert backend.raw("POST", "/v1/memory_stores/memstore_x/restore").status == 404
    assert backend.raw("POST", f"/v1/memory_stores/{store_id}/restore", body={"a": 1}).status == 400


def test_deleted_stores_are_listed_in_pages_that_continue_only_themselves(backend: Backend) -> None:
    made = [backend.client().beta.memory_stores.create(name=f"s{number}").id for number in range(4)]
    for id in made:
        backend.client().beta.memory_stores.delete(id)
    first = backend.raw("GET", "/v1/memory_stores", "deleted=true&limit=3").body
    assert [store["id"] for store in first["data"]] == made[:0:-1]
    rest = backend.raw("GET", "/v1/memory_stores", f"deleted=true&limit=3&page={first['next_page']}").body
    assert [store["id"] for store in rest["data"]] == made[:1]
    assert backend.raw("GET", "/v1/memory_stores", f"limit=3&page={first['next_page']}").status == 400


def test_stores_are_listed_newest_first_in_pages(client: anthropic.Anthropic) -> None:
    made = [client.beta.memory_stores.create(name=f"s{number}").id for number in range(23)]
    assert [store.id for store in client.beta.memory_stores.list()] == made[::-1]
    assert [store.id for store in client.beta.memory_stores.list(limit=5)] == made[::-1]
    page = client.beta.memory_stores.list(limit=22)
    assert len(page.data) == 22
    assert [store.id for store in page.get_next_page().data] == made[:1]
    assert len(client.beta.memory_stores.list().data) == 20


def test_archived_stores_are_listed_only_on_demand(client: anthropic.Anthropic) -> None:
    old = client.beta.memory_stores.create(name="old").id
    new = client.beta.memory_stores.create(name="new").id
    client.beta.memory_stores.archive(old)
    assert [store.id for store in client.beta.memory_stores.list()] == [new]
    assert [store.id for store in client.beta.memory_stores.list(include_archived=False)] == [new]
    assert [store.id for store in client.beta.memory_stores.list(include_archived=True)] == [new, old]


def test_stores_are_filtered_by_creation_time_both_ends_included(backend: Backend, client: anthropic.Anthropic) -> None:
    made = []
    for name in "abc":
        backend.clock.advance(3600)
        made.append(client.beta.memory_stores.create(name=name))
    middle = made[1].created_at

    def names(**bounds: object) -> str:
        return "".join(store.name for store in client.beta.memory_stores.list(**bounds))  # type: ignore[arg-type]  # keywords of more than one type

    assert names(created_at_gte=middle) == "cb"
    assert names(created_at_lte=middle) == "ba"
    assert names(created_at_gte=middle, created_at_lte=middle) == "b"
    assert names(created_at_gte=middle + timedelta(microseconds=1)) == "c"
    assert names(created_at_lte=rfc3339(backend.clock.now_us())) == "cba"
    assert names(created_at_lte=datetime(1969, 7, 20, tzinfo=UTC)) == ""
    assert names(created_at_gte=datetime(1969, 7, 20, tzinfo=UTC)) == "cba"


def test_a_store_of_another_workspace_does_not_exist(backend: Backend, store_id: str) -> None:
    """Ours: 404 for what is another's, for every operation, never 403."""
    memory = backend.client().beta.memory_stores.memories.create(store_id, path="/a", content="x")
    stranger = backend.client(backend.issue_key("other", "admin")).beta.memory_stores
    attempts: list[Callable[[], object]] = [
        lambda: stranger.retrieve(store_id),
        lambda: stranger.update(store_id, name="mine"),
        lambda: stranger.archive(store_id),
        lambda: stranger.delete(store_id),
        lambda: stranger.memories.create(store_id, path="/a", content="x"),
        lambda: stranger.memories.retrieve(memory.id, memory_store_id=store_id),
        lambda: stranger.memories.update(memory.id, memory_store_id=store_id, content="y"),
        lambda: stranger.memories.delete(memory.id, memory_store_id=store_id),
        lambda: stranger.memories.list(store_id),
        lambda: stranger.memory_versions.list(store_id),
        lambda: stranger.memory_versions.retrieve(memory.memory_version_id, memory_store_id=store_id),
        lambda: stranger.memory_versions.redact(memory.memory_version_id, memory_store_id=store_id),
    ]
    for attempt in attempts:
        with pytest.raises(anthropic.NotFoundError) as refused:
            attempt()
        assert refused.value.response.headers["x-memolith-home"] == "unknown"
    assert list(stranger.list(include_archived=True)) == []
    assert backend.client().beta.memory_stores.memories.retrieve(memory.id, memory_store_id=store_id).content == "x"


def test_a_memory_is_found_only_in_its_own_store(client: anthropic.Anthropic, store_id: str) -> None:
    memory = client.beta.memory_stores.memories.create(store_id, path="/a", content="x")
    other = client.beta.memory_stores.create(name="other").id
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.memories.retrieve(memory.id, memory_store_id=other)
    with pytest.raises(anthropic.NotFoundError):
        client.beta.memory_stores.memory_versions.retrieve(memory.memory_version_id, memory_store_id=other)
