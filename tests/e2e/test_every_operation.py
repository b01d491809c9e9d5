"""Ours: the unchanged SDK performs every operation, in every region, on the deployment itself."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from botocore.exceptions import ClientError

from memolith.adapters.aws.clients import Clients
from scripts.verify_proof import check
from tests.e2e.conftest import until

pytestmark = pytest.mark.e2e


@pytest.fixture(params=[0, 1], ids=["in the first region", "in the second region"])
def here(request: pytest.FixtureRequest, sdk: dict[str, Anthropic], regions: tuple[str, ...]) -> Anthropic:
    return sdk[regions[request.param]]


def test_a_store_lives_its_whole_life(here: Anthropic) -> None:
    stores = here.beta.memory_stores
    store = stores.create(name="life", description="d", metadata={"a": "1"})
    assert stores.retrieve(store.id).name == "life"
    changed = stores.update(store.id, name="lives", metadata={"a": None, "b": "2"})
    assert (changed.name, changed.metadata) == ("lives", {"b": "2"})
    assert store.id in [one.id for one in stores.list(limit=100)]
    assert stores.archive(store.id).archived_at is not None
    assert store.id not in [one.id for one in stores.list(limit=100)]
    assert store.id in [one.id for one in stores.list(limit=100, include_archived=True)]
    restored = here.post(f"/v1/memory_stores/{store.id}/restore", cast_to=object, body={})
    assert isinstance(restored, dict) and restored["id"] == store.id, "nothing is to be restored, and nothing changes"
    assert stores.delete(store.id).type == "memory_store_deleted"
    with pytest.raises(anthropic.NotFoundError):
        stores.retrieve(store.id)
    with pytest.raises(anthropic.NotFoundError, match="erasure has begun"):
        here.post(f"/v1/memory_stores/{store.id}/restore", cast_to=object, body={})


def test_a_memory_lives_its_whole_life_in_a_store_of_the_first_region(here: Anthropic, store_id: str) -> None:
    """The caller reads its own write by id, by path, in lists and in memory_versions, wherever it lands."""
    memories, versions = here.beta.memory_stores.memories, here.beta.memory_stores.memory_versions
    memory = memories.create(store_id, path="/notes/a.md", content="one", view="full")
    assert memory.content == "one"
    assert [m.path for m in memories.list(store_id) if m.type == "memory"] == ["/notes/a.md"]
    updated = memories.update(
        memory.id,
        memory_store_id=store_id,
        content="two — zwei",
        precondition={"type": "content_sha256", "content_sha256": memory.content_sha256},
    )
    assert memories.retrieve(memory.id, memory_store_id=store_id).content == "two — zwei"
    moved = memories.update(memory.id, memory_store_id=store_id, path="/archive/a.md")
    assert (moved.id, moved.path) == (memory.id, "/archive/a.md")
    assert [m.path for m in memories.list(store_id, depth=1)] == ["/archive/"]
    first = versions.redact(memory.memory_version_id, memory_store_id=store_id)
    assert (first.path, first.content) == (None, None)
    assert memories.delete(memory.id, memory_store_id=store_id).type == "memory_deleted"
    history = [v.operation for v in versions.list(store_id, memory_id=memory.id)]
    assert history == ["deleted", "modified", "modified", "created"]
    assert versions.retrieve(updated.memory_version_id, memory_store_id=store_id).content == "two — zwei"
    assert list(memories.list(store_id)) == []


def test_a_remark_becomes_an_entry_of_the_log_of_the_day(here: Anthropic, store_id: str) -> None:
    address = f"/v1/memory_stores/{store_id}/log"
    said: list[Any] = [here.post(address, cast_to=object, body={"text": text}) for text in ("one", "two")]
    assert [one["number"] for one in said] == [1, 2]
    assert (
        here.beta.memory_stores.memories.retrieve(said[0]["memory_id"], memory_store_id=store_id).path
        == said[0]["path"]
    )


def test_a_citation_is_an_event_of_its_session_and_uses_are_listed(here: Anthropic, store_id: str) -> None:
    attached = [{"type": "memory_store", "memory_store_id": store_id}]
    session: Any = here.post("/v1/sessions", cast_to=object, body={"resources": attached})
    cite = f"/v1/sessions/{session['id']}/citations"
    said: Any = here.post(cite, cast_to=object, body={"entries": [{"path": "/a.md"}]})
    assert (said["accepted"], said["duplicates"]) == (1, 0)
    listed: Any = here.get(f"/v1/memory_stores/{store_id}/usage", cast_to=object)
    assert {one["type"] for one in listed["data"]} <= {"memory_usage"}


def test_what_is_written_in_one_region_is_read_in_the_other(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    here, there = (sdk[region].beta.memory_stores.memories for region in regions[:2])
    memory = here.create(store_id, path="/hello.md", content="from here")

    def arrived() -> bool:
        return any(one.type == "memory" and one.id == memory.id for one in there.list(store_id))

    until(arrived)
    assert there.retrieve(memory.id, memory_store_id=store_id).content == "from here"


def test_a_conflict_is_told_once_and_the_caller_can_read_again_and_succeed(here: Anthropic, store_id: str) -> None:
    """The API's: 409 with its type; ours: `x-should-retry: false`, so that the SDK asks once."""
    memories = here.beta.memory_stores.memories
    memory = memories.create(store_id, path="/a", content="1")
    with pytest.raises(anthropic.ConflictError) as refused:
        memories.update(
            memory.id,
            memory_store_id=store_id,
            content="3",
            precondition={"type": "content_sha256", "content_sha256": "0" * 64},
        )
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert refused.value.body["error"]["type"] == "memory_precondition_failed_error"  # type: ignore[index]  # JSON has no type
    current = memories.retrieve(memory.id, memory_store_id=store_id)
    assert memories.update(
        memory.id,
        memory_store_id=store_id,
        content="3",
        precondition={"type": "content_sha256", "content_sha256": current.content_sha256},
    )


def test_every_answer_names_its_region_and_the_stores_home(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    for region in regions:
        answer = sdk[region].beta.memory_stores.with_raw_response.retrieve(store_id)
        assert answer.headers["x-memolith-region"] == region
        assert answer.headers["x-memolith-home"] == regions[0]
        assert answer.headers["request-id"].startswith("req_")


def test_a_redacted_text_leaves_every_bucket(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients, dev: dict[str, Any]
) -> None:
    memories = sdk[regions[0]].beta.memory_stores.memories
    memory = memories.create(store_id, path="/secret.md", content="xyzzy-4711-plugh")
    memories.update(memory.id, memory_store_id=store_id, content="clean")

    def everywhere() -> bool:
        return all(_count(aws, dev, region, store_id) >= 2 for region in regions)

    until(everywhere)
    sdk[regions[0]].beta.memory_stores.memory_versions.redact(memory.memory_version_id, memory_store_id=store_id)
    until(lambda: not any(_found(aws, dev, region, store_id, b"xyzzy-4711-plugh") for region in regions))


def _versions(aws: Clients, dev: dict[str, Any], region: str, store_id: str) -> list[dict[str, Any]]:
    bucket = dev["regions"][region]["bucket"]
    pages = aws.s3(region).get_paginator("list_object_versions").paginate(Bucket=bucket)
    return [dict(one) for page in pages for one in page.get("Versions", []) if f"/log/{store_id}/" in one["Key"]]


def _count(aws: Clients, dev: dict[str, Any], region: str, store_id: str) -> int:
    return len(_versions(aws, dev, region, store_id))


def _found(aws: Clients, dev: dict[str, Any], region: str, store_id: str, text: bytes) -> bool:
    bucket = dev["regions"][region]["bucket"]
    for one in _versions(aws, dev, region, store_id):
        try:
            got = aws.s3(region).get_object(Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])
        except ClientError as error:
            assert error.response["Error"]["Code"] == "NoSuchVersion"  # the eraser was quicker
            continue
        if text in got["Body"].read():
            return True
    return False


def test_the_graph_of_a_store_is_asked_in_every_region(here: Anthropic, store_id: str) -> None:
    memories = here.beta.memory_stores.memories
    ada = memories.create(store_id, path="/graph/ada.md", content="# Ada of graphs\n\n- [fact] counts #math\n")
    memories.create(store_id, path="/graph/eve.md", content="- knows [[Ada of graphs]]\n")

    def ask(what: str, **query: str) -> Any:
        return here.get(f"/v1/memory_stores/{store_id}/{what}", cast_to=object, options={"params": query})

    into = ask("graph", memory_id=ada.id, direction="in")
    assert [node["path"] for node in into["nodes"]] == ["/graph/ada.md", "/graph/eve.md"]
    [result] = ask("context", url="memory://graph/ada")["results"]
    assert [one["content"] for one in result["observations"]] == ["counts #math"]
    assert ask("observations", tag="math")["observations"][0]["memory"]["memory_id"] == ada.id
    assert ask("conflicts", path_prefix="/graph/")["conflicts"] == []
    for name, port in (("one", 80), ("two", 90)):
        text = f"- [port] [[Gateway]]: the port is {port}\n"
        here.beta.memory_stores.memories.create(store_id, path=f"/graph/{name}.md", content=text)
    [conflict] = ask("conflicts", path_prefix="/graph/")["conflicts"]
    body = {"memory_version_ids": [side["memory_version_id"] for side in conflict["sides"]], "keep": "both"}
    place = f"/v1/memory_stores/{store_id}/conflicts/{conflict['id']}/resolve"
    decided: Any = here.post(place, cast_to=object, body=body)
    assert (decided["keep"], decided["conflict_id"]) == ("both", conflict["id"])
    assert ask("conflicts", path_prefix="/graph/")["conflicts"] == []
    assert ask("conflicts", status="resolved")["conflicts"][0]["resolution"] == decided
    newest = [one["path"] for one in ask("activity")["memories"][:4]]
    assert newest == ["/graph/two.md", "/graph/one.md", "/graph/eve.md", "/graph/ada.md"]


def test_a_version_is_proven_in_every_region_once_it_is_sealed(here: Anthropic, store_id: str) -> None:
    """The reader may ask KMS for the public halves, and the script verifies what it answers.

    What was written before the region's first tick cannot be proven (docs/integrity.md): it is written again.
    """
    memories = here.beta.memory_stores.memories
    memory = memories.create(store_id, path="/proven.md", content="written early")
    proofs: list[Any] = []

    def is_sealed() -> bool:
        nonlocal memory
        path = f"/v1/memory_stores/{store_id}/memory_versions/{memory.memory_version_id}/proof"
        try:
            proofs.append(here.get(path, cast_to=object))
        except anthropic.NotFoundError as error:
            if memory.content_size_bytes != len(b"proven") and "what it was is not sealed" in str(error):
                memory = memories.update(memory.id, memory_store_id=store_id, content="proven")
            return False
        return True

    until(is_sealed, 200)
    keys: Any = here.get("/v1/integrity/keys", cast_to=object)
    text = memories.retrieve(memory.id, memory_store_id=store_id).content or ""
    did = "modified" if text == "proven" else "created"
    assert check(proofs[0], keys["keys"], text.encode()).startswith(
        f"proven: version {memory.memory_version_id}, {did} by"
    )


def test_an_admin_manages_keys_over_http_and_a_revoked_one_is_refused(here: Anthropic) -> None:
    made: Any = here.post("/v1/api_keys", cast_to=object, body={"name": "over http", "scope": "read"})
    mine = here.with_options(api_key=made["api_key"], max_retries=0)
    mine.beta.memory_stores.list(limit=1)
    with pytest.raises(anthropic.PermissionDeniedError):
        mine.get("/v1/api_keys", cast_to=object)
    listed: Any = here.get("/v1/api_keys", cast_to=object)
    assert made["id"] in [one["id"] for one in listed["data"]]
    revoked: Any = here.post(f"/v1/api_keys/{made['id']}/revoke", cast_to=object)
    assert revoked["revoked_at"]
    with pytest.raises(anthropic.AuthenticationError):
        mine.beta.memory_stores.list(limit=1)
