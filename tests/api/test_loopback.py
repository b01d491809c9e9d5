"""The same API over a real socket on 127.0.0.1: what `Gateway` leaves out is HTTP itself."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import anthropic

from tests.api.harness import Backend, memolith_backend
from tests.api.loopback import serving
from tests.api.transport import request_over_loopback


def test_the_sdk_performs_every_operation_over_a_socket(backend: Backend) -> None:
    with serving(backend.answer) as port:
        client = anthropic.Anthropic(api_key=backend.api_key, base_url=f"http://127.0.0.1:{port}")
        stores = client.beta.memory_stores
        store = stores.create(name="över", description="d", metadata={"k": "v"})
        assert stores.retrieve(store.id) == store
        assert stores.update(store.id, description="").description == ""
        assert [one.id for one in stores.list()] == [store.id]
        memory = stores.memories.create(store.id, path="/ä b/+c", content="1\n")
        assert [one.path for one in stores.memories.list(store.id, path_prefix="/ä b/")] == ["/ä b/+c"]
        assert stores.memories.retrieve(memory.id, memory_store_id=store.id).content == "1\n"
        changed = stores.memories.update(memory.id, memory_store_id=store.id, content="2", path="/b")
        assert changed.path == "/b"
        assert len(list(stores.memory_versions.list(store.id))) == 2
        versions = stores.memory_versions
        assert versions.retrieve(memory.memory_version_id, memory_store_id=store.id).content == "1\n"
        assert versions.redact(memory.memory_version_id, memory_store_id=store.id).content is None
        assert stores.memories.delete(memory.id, memory_store_id=store.id).type == "memory_deleted"
        assert stores.archive(store.id).archived_at is not None
        assert stores.delete(store.id).type == "memory_store_deleted"
        client.close()


def test_raw_bytes_over_a_socket_are_answered_like_any(backend: Backend) -> None:
    headers = {"authorization": f"Bearer {backend.api_key}", "content-type": "application/json"}
    with serving(backend.answer) as port:
        status, answered, body = request_over_loopback(port, "POST", "/v1/memory_stores", headers, b'{"name":"\xff"}')
        assert (status, json.loads(body)["error"]["message"]) == (400, "body: must be UTF-8")
        assert answered["x-memolith-region"] == backend.home
        status, _, _ = request_over_loopback(port, "PUT", "/v1/memory_stores", headers)
        assert status == 405


def test_many_callers_at_once_lose_no_edit() -> None:
    """Read-modify-write with the precondition, eight at a time: edits found are edits acknowledged."""
    backend = memolith_backend()
    with serving(backend.answer) as port, ThreadPoolExecutor(8) as pool:
        client = anthropic.Anthropic(api_key=backend.api_key, base_url=f"http://127.0.0.1:{port}")
        memories = client.beta.memory_stores.memories
        store_id = client.beta.memory_stores.create(name="s").id
        memory_id = memories.create(store_id, path="/a", content="").id

        def edit(number: int) -> int:
            acknowledged = 0
            for _ in range(3):
                seen = memories.retrieve(memory_id, memory_store_id=store_id)
                try:
                    memories.update(
                        memory_id,
                        memory_store_id=store_id,
                        content=f"{seen.content}{number}\n",
                        precondition={"type": "content_sha256", "content_sha256": seen.content_sha256},
                    )
                    acknowledged += 1
                except anthropic.ConflictError:
                    continue
            return acknowledged

        acknowledged = sum(pool.map(edit, range(8)))
        content = memories.retrieve(memory_id, memory_store_id=store_id).content or ""
        assert len(content.splitlines()) == acknowledged
        assert len(list(client.beta.memory_stores.memory_versions.list(store_id))) == acknowledged + 1
        client.close()
