"""Limits at their edges and one beyond, through the unchanged SDK. Each is the API's unless it says that it is ours."""

from __future__ import annotations

import json
from collections.abc import Callable

import anthropic
import pytest

from memolith.core.limits import CONTENT_MAX_BYTES
from memolith.wire.requests import BODY_MAX_BYTES
from tests.api.harness import Backend


@pytest.fixture(scope="module")
def backend(shared_backend: Backend) -> Backend:
    """Shared: what is taken is written to a store of the test's own, and what is refused writes nothing."""
    return shared_backend


@pytest.fixture(scope="module")
def kept_store_id(backend: Backend) -> str:
    """A store with the memory ``/ok``, shared by tests all of whose requests are refused."""
    client = backend.client()
    store_id = client.beta.memory_stores.create(name="Kept").id
    client.beta.memory_stores.memories.create(store_id, path="/ok", content="x")
    return store_id


@pytest.mark.parametrize("character", ["a", "\x00", "ä", "🧠"])
def test_content_is_limited_in_bytes(client: anthropic.Anthropic, store_id: str, character: str) -> None:
    """The limit is the API's; that beyond it is a 413 is ours."""
    memories = client.beta.memory_stores.memories
    content = character * (CONTENT_MAX_BYTES // len(character.encode()))
    memory = memories.create(store_id, path="/full", content=content)
    assert memory.content_size_bytes == CONTENT_MAX_BYTES
    assert memories.retrieve(memory.id, memory_store_id=store_id).content == content
    assert [row.content for row in memories.list(store_id, view="full") if row.type == "memory"] == [content]
    with pytest.raises(anthropic.APIStatusError, match="content") as refused:
        memories.create(store_id, path="/fuller", content=content + "a")
    assert (refused.value.status_code, refused.value.type) == (413, "request_too_large")
    with pytest.raises(anthropic.APIStatusError, match="content") as refused:
        memories.update(memory.id, memory_store_id=store_id, content=content + "a")
    assert refused.value.status_code == 413


LAMBDA_ANSWER_MAX_BYTES = 6_291_556
"""Source: what Lambda itself says when an answer is larger."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "size_bytes",
    [CONTENT_MAX_BYTES, 100_000, 90_000, 45_000],
)
def test_a_full_listing_of_the_worst_content_fits_into_an_answer(
    backend: Backend, store_id: str, size_bytes: int
) -> None:
    """Ours: JSON needs six bytes for a control character, and Lambda's envelope, JSON again, one more."""
    memories = backend.client().beta.memory_stores.memories
    paths = [f"/{number:02}" for number in range(21)]
    for path in paths:
        memories.create(store_id, path=path, content="\x01" * size_bytes)
    for listing in ("memories", "memory_versions"):
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            query = "view=full&limit=100" + (f"&page={cursor}" if cursor else "")
            event = backend.event("GET", f"/v1/memory_stores/{store_id}/{listing}", query)
            answer = backend.answer(event)
            assert len(json.dumps(answer).encode()) < LAMBDA_ANSWER_MAX_BYTES
            page = json.loads(answer["body"])
            seen += [row["path"] for row in page["data"]]
            cursor = page["next_page"]
        assert sorted(seen) == paths


PATHS_TAKEN = [
    "/a",
    "/" + "a" * 1023,
    "/" + "ä" * 511,
    "/a" * 20,
    "/…",
    "/.hidden",
    "/..a",
    "/a..",
    "/ ",
    "/a\\b",
    "/~",
    "/%2e%2e",
    "/\u00e9",
    "/\ue000",
]
PATHS_REFUSED = [
    "",
    "/",
    "a",
    "a/b",
    "//",
    "/a//b",
    "/a/",
    "/.",
    "/..",
    "/a/./b",
    "/a/../b",
    "/" + "a" * 1024,
    "/" + "ä" * 512,
    "/a" * 21,
    "/a\x00",
    "/a\nb",
    "/a\x7f",
    "/a\u0085",
    "/a\u200b",
    "/a\u200d",
    "/a\ufeff",
    "/a\u202e",
    "/a\u2028",
    "/a\u2029",
    "/e\u0301",
    "/\u212b",
]


@pytest.mark.parametrize("path", PATHS_TAKEN, ids=ascii)
def test_a_path_within_the_grammar_is_taken_and_kept(client: anthropic.Anthropic, store_id: str, path: str) -> None:
    memories = client.beta.memory_stores.memories
    memory = memories.create(store_id, path=path, content="x")
    assert memory.path == path
    assert [row.path for row in memories.list(store_id)] == [path]
    parent = path[: path.rindex("/") + 1]
    assert [row.path for row in memories.list(store_id, path_prefix=parent)] == [path]


@pytest.mark.parametrize("path", PATHS_REFUSED, ids=ascii)
def test_a_path_outside_the_grammar_is_refused_by_name(
    client: anthropic.Anthropic, kept_store_id: str, path: str
) -> None:
    memories = client.beta.memory_stores.memories
    (kept,) = memories.list(kept_store_id)
    assert kept.type == "memory"
    with pytest.raises(anthropic.BadRequestError, match="path"):
        memories.create(kept_store_id, path=path, content="x")
    with pytest.raises(anthropic.BadRequestError, match="path"):
        memories.update(kept.id, memory_store_id=kept_store_id, path=path)
    assert list(memories.list(kept_store_id)) == [kept]


@pytest.mark.parametrize("prefix", ["", "a/", "/a", "//", "/../", "/a//", "/\x00/", "/" + "a" * 1024 + "/"], ids=ascii)
def test_a_prefix_outside_the_grammar_is_refused_by_name(
    client: anthropic.Anthropic, kept_store_id: str, prefix: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match="path_prefix"):
        client.beta.memory_stores.memories.list(kept_store_id, path_prefix=prefix)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "n" * 256),
        ("name", "a\nb"),
        ("name", "\x7f"),
        ("name", 1),
        ("description", "d" * 1025),
        ("description", ["d"]),
        ("metadata", {f"k{number}": "" for number in range(17)}),
        ("metadata", {"": "v"}),
        ("metadata", {"k" * 65: "v"}),
        ("metadata", {"k": "v" * 513}),
        ("metadata", {"k": 1}),
        ("metadata", {"k": {"nested": "v"}}),
        ("metadata", "text"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_a_stores_fields_are_limited(
    client: anthropic.Anthropic, kept_store_id: str, field: str, value: object
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=field):
        client.beta.memory_stores.create(**{"name": "n", field: value})  # type: ignore[arg-type]  # keywords of more than one type
    with pytest.raises(anthropic.BadRequestError, match=field):
        client.beta.memory_stores.update(kept_store_id, **{field: value})  # type: ignore[arg-type]  # keywords of more than one type


def test_a_stores_fields_are_taken_at_their_limits(client: anthropic.Anthropic) -> None:
    name, description = "🧠" * 255, "ä" * 1024
    metadata = {f"{number:064}": "🧠" * 512 for number in range(16)}
    store = client.beta.memory_stores.create(name=name, description=description, metadata=metadata)
    assert client.beta.memory_stores.retrieve(store.id) == store
    assert (store.name, store.description, store.metadata) == (name, description, metadata)


@pytest.mark.parametrize("limit", ["0", "101", "-1", "1.5", "", "x", "1e2", "٣", "99999999999", "0x10", "+1", "null"])
def test_a_limit_outside_one_to_a_hundred_is_refused(backend: Backend, kept_store_id: str, limit: str) -> None:
    """The bounds are the API's; refusing rather than clamping is ours."""
    for listing in ("", f"/{kept_store_id}/memories", f"/{kept_store_id}/memory_versions"):
        reply = backend.raw("GET", f"/v1/memory_stores{listing}", f"limit={limit}")
        assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
        assert reply.error["message"].startswith("limit: ")


@pytest.mark.parametrize("limit", ["1", "100", "007"])
def test_a_limit_from_one_to_a_hundred_is_taken(backend: Backend, kept_store_id: str, limit: str) -> None:
    assert backend.raw("GET", f"/v1/memory_stores/{kept_store_id}/memories", f"limit={limit}").status == 200


@pytest.mark.parametrize("depth", ["2", "-1", "", "01", "true"])
def test_a_depth_other_than_zero_and_one_is_refused(backend: Backend, kept_store_id: str, depth: str) -> None:
    reply = backend.raw("GET", f"/v1/memory_stores/{kept_store_id}/memories", f"depth={depth}")
    assert (reply.status, reply.error["message"]) == (400, "depth: must be one of 0, 1")


def test_at_the_cap_new_paths_fail_and_old_ones_stay_editable(make_backend: Callable[[int], Backend]) -> None:
    """The cap is the API's; that it is a 400 is ours."""
    client = make_backend(3).client()
    memories = client.beta.memory_stores.memories
    store_id = client.beta.memory_stores.create(name="small").id
    made = [memories.create(store_id, path=f"/{number}", content="x") for number in range(3)]
    with pytest.raises(anthropic.BadRequestError, match="3"):
        memories.create(store_id, path="/3", content="x")
    with pytest.raises(anthropic.ConflictError):
        memories.create(store_id, path="/0", content="x")
    assert memories.update(made[0].id, memory_store_id=store_id, content="y", path="/moved").path == "/moved"
    memories.delete(made[1].id, memory_store_id=store_id)
    assert memories.create(store_id, path="/3", content="x").path == "/3"


def test_a_body_larger_than_any_request_is_refused_whatever_it_holds(backend: Backend, store_id: str) -> None:
    """Ours; the gateway's own limit lies beyond."""
    path = f"/v1/memory_stores/{store_id}/memories"
    for size in (BODY_MAX_BYTES + 1, 5_500_000):
        for body in (b"x" * size, b"\xff" * size, b'{"path":"/a","content":"' + b"x" * size + b'"}'):
            for method, target in (("POST", path), ("POST", f"/v1/memory_stores/{store_id}/archive")):
                reply = backend.raw(method, target, body=body)
                assert (reply.status, reply.error["type"]) == (413, "request_too_large")
    assert backend.raw("POST", path, body=b"x" * BODY_MAX_BYTES).status == 400
