"""memory_versions through the unchanged SDK. Each claim is the API's unless it says that it is ours."""

from __future__ import annotations

from datetime import timedelta

import anthropic
import pytest

from memolith.app.api import history_import
from memolith.app.kernel.results import RequestContext
from memolith.core.commands import ImportedVersion
from memolith.core.times import LAST_US
from memolith.wire.auth import credentials
from tests.api.harness import Backend, memolith_backend
from tests.api.session_calls import create_store


def history(client: anthropic.Anthropic, store_id: str) -> tuple[str, list[str]]:
    """A memory that was made, changed, moved and deleted: its id, and its versions' ids, oldest first."""
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content="1")
    ids = [memory.memory_version_id]
    ids.append(memories.update(memory.id, memory_store_id=store_id, content="2").memory_version_id)
    ids.append(memories.update(memory.id, memory_store_id=store_id, path="/b").memory_version_id)
    memories.delete(memory.id, memory_store_id=store_id)
    (newest,) = client.beta.memory_stores.memory_versions.list(store_id, memory_id=memory.id, limit=1).data
    return memory.id, [*ids, newest.id]


def test_every_change_is_one_version_newest_first(backend: Backend, store_id: str) -> None:
    client = backend.client()
    memory_id, ids = history(client, store_id)
    listed = list(client.beta.memory_stores.memory_versions.list(store_id))
    assert [version.id for version in listed] == ids[::-1]
    assert [version.operation for version in listed] == ["deleted", "modified", "modified", "created"]
    assert [version.path for version in listed] == ["/b", "/b", "/a", "/a"]
    assert [version.content_size_bytes for version in listed] == [None, 1, 1, 1]
    assert {version.memory_id for version in listed} == {memory_id}
    assert all(version.created_by.type == "api_actor" for version in listed if version.created_by)
    assert [version.created_at for version in listed] == sorted((v.created_at for v in listed), reverse=True)


def test_a_version_is_retrieved_with_its_content(client: anthropic.Anthropic, store_id: str) -> None:
    _, ids = history(client, store_id)
    versions = client.beta.memory_stores.memory_versions
    contents = [versions.retrieve(id, memory_store_id=store_id).content for id in ids]
    assert contents == ["1", "2", "2", None]
    assert versions.retrieve(ids[0], memory_store_id=store_id, view="basic").content is None
    assert [version.content for version in versions.list(store_id, view="full")] == [None, "2", "2", "1"]
    assert [version.content for version in versions.list(store_id)] == [None] * 4


def test_a_version_names_the_key_that_wrote_it(backend: Backend, store_id: str) -> None:
    key = backend.issue_key("main", "write")
    backend.client(key).beta.memory_stores.memories.create(store_id, path="/a", content="x")
    backend.client().beta.memory_stores.memories.create(store_id, path="/b", content="x")
    key_id = "apikey_" + key.split("-")[3]
    versions = backend.client().beta.memory_stores.memory_versions
    assert [version.path for version in versions.list(store_id, api_key_id=key_id)] == ["/a"]
    assert list(versions.list(store_id, api_key_id="apikey_011CZkZaBF1tNoB5wlCeusgy")) == []
    assert list(versions.list(store_id, session_id="sesn_x")) == []
    assert list(versions.list(store_id, service_account_id="svac_x")) == []


def test_versions_are_filtered(backend: Backend, store_id: str) -> None:
    client = backend.client()
    memory_id, ids = history(client, store_id)
    backend.clock.advance(60)
    other = client.beta.memory_stores.memories.create(store_id, path="/other", content="x")
    versions = client.beta.memory_stores.memory_versions
    listed = {version.id: version for version in versions.list(store_id)}
    assert [v.id for v in versions.list(store_id, memory_id=memory_id)] == ids[::-1]
    assert [v.id for v in versions.list(store_id, operation="created")] == [other.memory_version_id, ids[0]]
    assert [v.id for v in versions.list(store_id, operation="deleted", memory_id=memory_id)] == [ids[3]]
    at = listed[ids[1]].created_at
    assert [v.id for v in versions.list(store_id, created_at_gte=at, created_at_lte=at)] == [ids[1]]
    assert [v.id for v in versions.list(store_id, created_at_lte=at, memory_id=memory_id)] == [ids[1], ids[0]]
    assert [v.id for v in versions.list(store_id, created_at_gte=at + timedelta(seconds=30))] == [
        other.memory_version_id
    ]


@pytest.mark.slow
def test_filters_and_pages_go_together(client: anthropic.Anthropic, store_id: str) -> None:
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content="0")
    for number in range(1, 30):
        memories.update(memory.id, memory_store_id=store_id, content=str(number))
        memories.create(store_id, path=f"/b{number}", content="x")
    versions = client.beta.memory_stores.memory_versions
    changed = list(versions.list(store_id, memory_id=memory.id, view="full", limit=7))
    assert [version.content for version in changed] == [str(number) for number in range(29, -1, -1)]
    created = list(versions.list(store_id, operation="created", limit=7))
    assert [version.path for version in created] == [f"/b{number}" for number in range(29, 0, -1)] + ["/a"]
    assert len(list(versions.list(store_id, limit=7))) == 59


def test_redaction_takes_the_text_and_keeps_the_row(client: anthropic.Anthropic, store_id: str) -> None:
    _, ids = history(client, store_id)
    versions = client.beta.memory_stores.memory_versions
    before = versions.retrieve(ids[0], memory_store_id=store_id)
    redacted = versions.redact(ids[0], memory_store_id=store_id)
    assert (redacted.content, redacted.path, redacted.content_sha256, redacted.content_size_bytes) == (None,) * 4
    assert redacted.redacted_at is not None
    assert redacted.redacted_by is not None
    assert (redacted.id, redacted.operation, redacted.created_at, redacted.created_by) == (
        before.id,
        before.operation,
        before.created_at,
        before.created_by,
    )
    assert versions.retrieve(ids[0], memory_store_id=store_id) == redacted
    assert versions.retrieve(ids[1], memory_store_id=store_id).content == "2"
    assert [version.redacted_at is None for version in versions.list(store_id)] == [True, True, True, False]


def test_redacting_again_changes_nothing(backend: Backend, store_id: str) -> None:
    """Ours: the API does not say; the first redaction's time and author stay."""
    client = backend.client()
    _, ids = history(client, store_id)
    versions = client.beta.memory_stores.memory_versions
    once = versions.redact(ids[0], memory_store_id=store_id)
    backend.clock.advance(60)
    assert versions.redact(ids[0], memory_store_id=store_id) == once


def test_the_head_of_a_live_memory_is_not_redacted(client: anthropic.Anthropic, store_id: str) -> None:
    """That it is refused is the API's; that it is a 400 is ours."""
    memories = client.beta.memory_stores.memories
    versions = client.beta.memory_stores.memory_versions
    memory = memories.create(store_id, path="/a", content="1")
    with pytest.raises(anthropic.BadRequestError):
        versions.redact(memory.memory_version_id, memory_store_id=store_id)
    memories.update(memory.id, memory_store_id=store_id, content="2")
    assert versions.redact(memory.memory_version_id, memory_store_id=store_id).content is None
    assert memories.retrieve(memory.id, memory_store_id=store_id).content == "2"


def test_all_versions_of_a_deleted_memory_can_be_redacted(client: anthropic.Anthropic, store_id: str) -> None:
    memory_id, ids = history(client, store_id)
    versions = client.beta.memory_stores.memory_versions
    for id in ids:
        versions.redact(id, memory_store_id=store_id)
    assert [version.path for version in versions.list(store_id, memory_id=memory_id, view="full")] == [None] * 4


def test_a_version_that_is_stored_as_redacted_after_the_year_9999_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = memolith_backend()
    store = create_store(backend)
    memory_id, version_id = "mem_01kb0000000000000000000000", "memver_01kb0000000000000000000000"
    version = ImportedVersion(memory_id, version_id, "created", "user:user_1", 0, redacted_at=LAST_US + 1)
    monkeypatch.setattr(history_import, "IMPORT_AHEAD_MAX_US", LAST_US)
    call = RequestContext(credentials({"authorization": f"Bearer {backend.api_key}"}, backend.memolith.sessions.verify))
    backend.memolith.imports.import_versions(call, store, [version])
    address = f"/v1/memory_stores/{store}/memory_versions"
    [listed] = backend.raw("GET", address).body["data"]
    assert (listed["id"], listed["redacted_at"]) == (version_id, "9999-12-31T23:59:59.999999Z")
    for method, path in (("GET", version_id), ("POST", f"{version_id}/redact")):
        assert backend.raw(method, f"{address}/{path}").body == listed
