"""Every error: its status, its type, the field it names. Sent raw, because the SDK would not send most of them."""

from __future__ import annotations

import re

import anthropic
import pytest

from memolith.wire.routes.table import KEY_ROUTES, ROUTES
from tests.api.harness import Backend

STORES = "/v1/memory_stores"
UNKNOWN_STORE = "memstore_useast1_01kb0000000000000000000000"


@pytest.fixture(scope="module")
def backend(shared_backend: Backend) -> Backend:
    """Shared, since nearly every request here is refused; a test that writes has a store of its own."""
    return shared_backend


@pytest.fixture(scope="module")
def empty_store_id(backend: Backend) -> str:
    """A store in which no test writes anything, shared as well."""
    return backend.client().beta.memory_stores.create(name="Empty").id


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "body: must be a JSON object"),
        (b" \n", "body: must be a JSON object"),
        (b"[]", "body: must be an object"),
        (b'"text"', "body: must be an object"),
        (b"null", "body: must be an object"),
        (b"{", "body: must be valid JSON"),
        (b'{"name":"a",}', "body: must be valid JSON"),
        (b"{'name':'a'}", "body: must be valid JSON"),
        (b'{"name":"a"} {}', "body: must be valid JSON"),
        (b'\xef\xbb\xbf{"name":"a"}', "body: must be valid JSON"),
        (b'{"name":"\n"}', "body: must be valid JSON"),
        (b'{"name":NaN}', "body: must be valid JSON, which has no NaN"),
        (b'{"name":-Infinity}', "body: must be valid JSON, which has no -Infinity"),
        (b'{"name":"\xff"}', "body: must be UTF-8"),
        (b'{"name":"\xed\xa0\x80"}', "body: must be UTF-8"),
        (b"\xff\xfe{\x00}\x00", "body: must be UTF-8"),
        (b"[" * 200_000, "body: is nested too deeply"),
        (b'{"name":' * 100_000, "body: is nested too deeply"),
        (b'{"name":' + b"9" * 5_000 + b"}", "body: must be valid JSON"),
        (b'{"name":1e999}', "body: must not have a number as large as 1e999"),
        (b'{"name":"a","metadata":{"k":[-1e400]}}', "body: must not have a number as large as -1e400"),
        (b'{"name":' + b"9" * 500 + b".0}", "body: must not have a number as large as " + "9" * 80),
        (b'{"name":1.7e308}', "name: must be a string"),
        (b'{"name":"a","name":"b"}', "name: must be given once"),
        (b'{"name":"a","metadata":{"k":"1","k":"2"}}', "k: must be given once"),
        (b"{" + b",".join(b'"k%d":1' % n for n in range(65)) + b"}", "body: must have at most 64 fields in one object"),
        (b'{"name":"\\ud800"}', "name: must not contain lone surrogates"),
        (b'{"name":"a","metadata":{"k":"\\udfff"}}', "metadata.k: must not contain lone surrogates"),
        (b'{"name":"a","metadata":{"\\udfff":"v"}}', "body: must not have lone surrogates in a field's name"),
        (b'{"\\ud800":1}', "body: must not have lone surrogates in a field's name"),
        (b"{}", "name: is required"),
        (b'{"name":null}', "name: must be a string"),
        (b'{"name":1}', "name: must be a string"),
        (b'{"name":"a","title":"b"}', "title: is not a field of this request"),
        (b'{"name":"a","' + b"x" * 500 + b'":1}', "x" * 80 + ": is not a field of this request"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_a_body_at_fault_is_told_field_and_rule(backend: Backend, body: bytes, message: str) -> None:
    reply = backend.raw("POST", STORES, body=body)
    assert (reply.status, reply.error["type"], reply.error["message"]) == (400, "invalid_request_error", message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"path": "/a"}, "content: is required"),
        ({"content": "x"}, "path: is required"),
        ({"path": "/a", "content": None}, "content: must be a string"),
        ({"path": None, "content": "x"}, "path: must be a string"),
        ({"path": "/a", "content": 1}, "content: must be a string"),
        ({"path": "/a", "content": True}, "content: must be a string"),
        ({"path": ["/a"], "content": "x"}, "path: must be a string"),
        ({"path": "/a", "content": "x", "precondition": {}}, "precondition: is not a field of this request"),
        ({"path": "/a", "content": "\ud800"}, "content: must not contain lone surrogates"),
        ({"path": "/\udc00", "content": "x"}, "path: must not contain lone surrogates"),
    ],
    ids=ascii,
)
def test_a_new_memory_at_fault_is_told_field_and_rule(
    backend: Backend, empty_store_id: str, body: object, message: str
) -> None:
    reply = backend.raw("POST", f"{STORES}/{empty_store_id}/memories", body=body)
    assert (reply.status, reply.error["message"]) == (400, message)


SHA = "0" * 64


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "content: must be given, or path, or both"),
        ({"content": None, "path": None}, "content: must be given, or path, or both"),
        (
            {"precondition": {"type": "content_sha256", "content_sha256": SHA}},
            "content: must be given, or path, or both",
        ),
        ({"content": "x", "precondition": None}, "precondition: must not be null; leave it out instead"),
        ({"content": "x", "precondition": "x"}, "precondition: must be an object"),
        ({"content": "x", "precondition": {}}, "precondition.type: is required"),
        (
            {"content": "x", "precondition": {"type": "content_sha256"}},
            "precondition.content_sha256: is required",
        ),
        (
            {"content": "x", "precondition": {"type": "not_exists", "content_sha256": SHA}},
            "precondition.type: must be 'content_sha256'",
        ),
        (
            {"content": "x", "precondition": {"type": "content_sha256", "content_sha256": "A" * 64}},
            "precondition.content_sha256: must be 64 lower-case hexadecimal characters",
        ),
        (
            {"content": "x", "precondition": {"type": "content_sha256", "content_sha256": SHA + "\n"}},
            "precondition.content_sha256: must be 64 lower-case hexadecimal characters",
        ),
        (
            {"content": "x", "precondition": {"type": "content_sha256", "content_sha256": SHA, "x": 1}},
            "precondition.x: is not a field of this request",
        ),
    ],
    ids=ascii,
)
def test_an_update_at_fault_is_told_field_and_rule_and_changes_nothing(
    backend: Backend, store_id: str, body: object, message: str
) -> None:
    memory = backend.client().beta.memory_stores.memories.create(store_id, path="/a", content="1")
    reply = backend.raw("POST", f"{STORES}/{store_id}/memories/{memory.id}", body=body)
    assert (reply.status, reply.error["message"]) == (400, message)
    assert backend.client().beta.memory_stores.memories.retrieve(memory.id, memory_store_id=store_id).content == "1"


@pytest.mark.parametrize("sha256", ["", "x", "0" * 63, "A" * 64, "0" * 65, "%ff"])
def test_a_deletion_with_a_malformed_precondition_deletes_nothing(backend: Backend, store_id: str, sha256: str) -> None:
    """Ours: an empty or misspelt precondition must not act as none."""
    memory = backend.client().beta.memory_stores.memories.create(store_id, path="/a", content="1")
    path = f"{STORES}/{store_id}/memories/{memory.id}"
    reply = backend.raw("DELETE", path, f"expected_content_sha256={sha256}")
    assert (reply.status, reply.error["message"].split(":")[0]) == (400, "expected_content_sha256")
    twice = backend.raw("DELETE", path, f"expected_content_sha256={SHA}&expected_content_sha256={SHA}")
    assert twice.status == 400
    in_body = backend.raw("DELETE", path, body={"expected_content_sha256": SHA})
    assert (in_body.status, in_body.error["message"]) == (
        400,
        "expected_content_sha256: is not a field of this request",
    )
    assert backend.raw("GET", path).status == 200


@pytest.mark.parametrize(
    ("listing", "query", "field"),
    [
        ("stores", "include_archived=yes", "include_archived"),
        ("stores", "include_archived=", "include_archived"),
        ("stores", "deleted=1", "deleted"),
        ("stores", "deleted=", "deleted"),
        ("stores", "created_at%5Bgte%5D=yesterday", "created_at[gte]"),
        ("stores", "created_at[lte]=2026-01-02", "created_at[lte]"),
        ("stores", "created_at[gte]=2026-01-02T03:04:05", "created_at[gte]"),
        ("stores", "created_at[gte]=2026-13-02T03:04:05Z", "created_at[gte]"),
        ("stores", "created_at[gte]=2026-01-02T03:04:05Z&created_at%5Bgte%5D=2026-01-02T03:04:05Z", "created_at[gte]"),
        ("stores", "created_at[gte]=0001-01-01T00:00:00%2B23:59", None),
        ("stores", "created_at[gte]=9999-12-31T23:59:59.999999-23:59", None),
        ("stores", "page=", "page"),
        ("stores", "page=page_", "page"),
        ("stores", "page=page_AAAA", "page"),
        ("stores", "page=%ff", "page"),
        ("stores", "page=" + "page_" + "A" * 5000, "page"),
        ("memories", "view=all", "view"),
        ("memories", "view=basic&view=full", "view"),
        ("memories", "depth=2", "depth"),
        ("memories", "path_prefix=%ed%a0%80", "path_prefix"),
        ("memories", "path_prefix=%ff/", "path_prefix"),
        ("memory_versions", "operation=moved_in", "operation"),
        ("memory_versions", "memory_id=", "memory_id"),
        ("memory_versions", "memory_id=" + "x" * 129, "memory_id"),
        ("memory_versions", "session_id=" + "x" * 129, "session_id"),
        ("memory_versions", "api_key_id=", "api_key_id"),
        ("memory_versions", "api_key_id=apikey_x&session_id=sesn_x", "session_id"),
        ("memory_versions", "memory_id=mem_01kb0000000000000000000000", None),
        ("memory_versions", "created_at[lte]=1", "created_at[lte]"),
    ],
)
def test_a_query_value_at_fault_is_named(
    backend: Backend, empty_store_id: str, listing: str, query: str, field: str | None
) -> None:
    path = STORES if listing == "stores" else f"{STORES}/{empty_store_id}/{listing}"
    reply = backend.raw("GET", path, query)
    if field is None:
        assert reply.status == 200
    else:
        assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
        assert reply.error["message"].startswith(f"{field}: ")


def test_what_older_sdks_send_is_tolerated(backend: Backend, store_id: str) -> None:
    """They send beta=true, order and order_by; versions and betas come and go."""
    backend.client().beta.memory_stores.memories.create(store_id, path="/a", content="1")
    reply = backend.raw(
        "GET",
        f"{STORES}/{store_id}/memories",
        "beta=true&order=desc&order_by=path&order_by=%ff&&",
        headers={
            "anthropic-version": "1999-01-01",
            "anthropic-beta": "managed-agents-2026-04-01,agent-memory-2026-07-22,what",
            "idempotency-key": "x",
        },
    )
    assert [row["path"] for row in reply.body["data"]] == ["/a"]


@pytest.mark.parametrize(
    ("method", "path", "query", "field"),
    [
        ("GET", "", "x", "x"),
        ("GET", "", "names=a", "names"),
        ("GET", "/{store}", "view=full", "view"),
        ("GET", "/{store}/memories", "prefix=/a/", "prefix"),
        ("GET", "/{store}/memories", "%ff=%ff", "query"),
        ("GET", "/{store}/memories", "=", "query"),
        ("GET", "/{store}/memory_versions", "as_of=2026-11-21T10:00:00Z", "as_of"),
        ("GET", "/{store}/search", "query=x&tag=y", "tag"),
        ("GET", "/{store}/recall", "query=a&as_of=2026-11-21T10:00:00Z", "as_of"),
        ("GET", "/{store}/context", "url=a&limit=1", "limit"),
        ("GET", "/{store}/observations", "tags=a", "tags"),
        ("GET", "/{store}/recall", "query=x&path_prefix=/a/", "path_prefix"),
        ("POST", "/{store}/memories", "path_prefix=/a/", "path_prefix"),
        ("DELETE", "/{store}", "force=true", "force"),
        ("POST", "/{store}/archive", "x=y", "x"),
    ],
)
def test_a_parameter_that_the_operation_does_not_know_is_refused_and_nothing_is_done(
    backend: Backend, empty_store_id: str, method: str, path: str, query: str, field: str
) -> None:
    body = {"path": "/a", "content": "1"} if path.endswith("/memories") and method == "POST" else None
    reply = backend.raw(method, f"{STORES}{path.format(store=empty_store_id)}", query, body=body)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert reply.error["message"].startswith(f"{field}: is not a parameter of this operation")
    store = backend.raw("GET", f"{STORES}/{empty_store_id}")
    assert (store.status, store.body["archived_at"]) == (200, None)
    assert backend.raw("GET", f"{STORES}/{empty_store_id}/memories").body["data"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/v1",
        "/v1/",
        "/v1/memory_stores/",
        "/v2/memory_stores",
        "/v1/messages",
        "/v1/memory_stores/{store}/",
        "/v1/memory_stores//memories",
        "/v1/memory_stores/{store}/memories/",
        "/v1/memory_stores/{store}/memories/x/y",
        "/v1/memory_stores/{store}/unarchive",
        "/v1/memory_stores/{store}/memory_versions/x/restore",
        "/v1/memory_stores/%ff",
        "/v1%2Fmemory_stores",
        "/V1/memory_stores",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_not_found(backend: Backend, empty_store_id: str, method: str, path: str) -> None:
    reply = backend.raw(method, path.replace("{store}", empty_store_id))
    assert (reply.status, reply.error["type"]) == (404, "not_found_error")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/memory_stores", "GET, POST"),
        ("PATCH", "/v1/memory_stores/s", "GET, POST, DELETE"),
        ("PUT", "/v1/memory_stores/s/memories/m", "GET, POST, DELETE"),
        ("GET", "/v1/memory_stores/s/archive", "POST"),
        ("PUT", "/v1/memory_stores/s/memory_versions", "GET, POST"),
        ("DELETE", "/v1/memory_stores/s/memory_versions/v", "GET"),
        ("GET", "/v1/memory_stores/s/memory_versions/v/redact", "POST"),
    ],
)
def test_a_known_path_with_another_method_says_which_it_takes(
    backend: Backend, method: str, path: str, allowed: str
) -> None:
    """Ours."""
    reply = backend.raw(method, path)
    assert (reply.status, reply.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    "id",
    [
        "x",
        "mem_x",
        "..%2f..",
        "%2e%2e",
        "mem_01KB0000000000000000000000",
        "%00",
        "%F0%9F%A7%A0",
        "a%2Fb",
        "%252e",
        "x" * 5_000,
        "mem_",
    ],
)
def test_a_malformed_id_is_one_that_does_not_exist(backend: Backend, empty_store_id: str, id: str) -> None:
    """Ours: 404, not 400, for whatever kind of id."""
    for method, path in (
        ("GET", f"{STORES}/{id}"),
        ("POST", f"{STORES}/{id}/archive"),
        ("DELETE", f"{STORES}/{id}"),
        ("GET", f"{STORES}/{id}/memories"),
        ("GET", f"{STORES}/{empty_store_id}/memories/{id}"),
        ("DELETE", f"{STORES}/{empty_store_id}/memories/{id}"),
        ("GET", f"{STORES}/{empty_store_id}/memory_versions/{id}"),
        ("POST", f"{STORES}/{empty_store_id}/memory_versions/{id}/redact"),
    ):
        reply = backend.raw(method, path)
        assert (reply.status, reply.error["type"]) == (404, "not_found_error")


def test_an_unknown_store_is_not_found(backend: Backend) -> None:
    with pytest.raises(anthropic.NotFoundError) as refused:
        backend.client().beta.memory_stores.retrieve(UNKNOWN_STORE)
    assert refused.value.type == "not_found_error"
    assert re.fullmatch(r"req_[0-9a-z]{26}", refused.value.request_id or "")
    assert refused.value.body["request_id"] == refused.value.request_id  # type: ignore[index]  # JSON has no type


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param(method, "/".join(route.path), id=f"{method} /{'/'.join(route.path)}")
        for route in (*ROUTES, *KEY_ROUTES)
        for method in route.methods
    ],
)
def test_every_operation_of_the_table_refuses_a_parameter_that_it_does_not_know(
    backend: Backend, method: str, path: str
) -> None:
    reply = backend.raw(method, "/" + path.replace("*", "some_id"), "surely_unknown=1")
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert reply.error["message"].startswith("surely_unknown: is not a parameter of this operation")
