"""Whatever is sent, the answer is one of the documented ones: never a 5xx, never an envelope of another shape.

The harness checks each answer's shape; here requests are generated.
"""

from __future__ import annotations

import base64
import json
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.harness import Backend, memolith_backend, model_backend
from tests.support.examples import examples

STORES = "/v1/memory_stores"
QUIET = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

any_text = st.text(st.characters(codec=None), max_size=40)
"""Any characters at all, lone surrogates included."""
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
field_names = st.sampled_from(
    ["name", "description", "metadata", "path", "content", "precondition", "type", "content_sha256", "x"]
)
bodies = st.one_of(
    st.dictionaries(field_names, json_values, max_size=5).map(lambda body: json.dumps(body).encode()),
    json_values.map(lambda body: json.dumps(body).encode()),
    st.binary(max_size=200),
    st.text(string.printable, max_size=60).map(str.encode),
)
parameters = st.sampled_from(
    [
        "limit",
        "page",
        "view",
        "depth",
        "path_prefix",
        "memory_id",
        "operation",
        "api_key_id",
        "session_id",
        "service_account_id",
        "created_at[gte]",
        "created_at%5Blte%5D",
        "include_archived",
        "expected_content_sha256",
        "beta",
    ]
)
values = st.one_of(
    st.text(string.ascii_letters + string.digits + "%+&=;[]/_-.:", max_size=60),
    st.sampled_from(["full", "basic", "1", "0", "true", "/a/", "2026-01-02T03:04:05Z", "%ff", "%00", "page_", ""]),
    st.binary(max_size=40).map(lambda raw: "page_" + base64.urlsafe_b64encode(raw).decode().rstrip("=")),
    st.integers().map(str),
)
queries = st.lists(st.tuples(parameters, values), max_size=4).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
)
methods = st.sampled_from(["GET", "POST", "DELETE"])


@pytest.fixture(params=[model_backend, memolith_backend], ids=["model", "memolith"], scope="module")
def settled(request: pytest.FixtureRequest) -> tuple[Backend, list[str]]:
    """A backend with a store, a memory in it, and all paths of the API that lead to them."""
    backend: Backend = request.param()
    client = backend.client().beta.memory_stores
    store = client.create(name="s").id
    memory = client.memories.create(store, path="/a/b", content="x")
    client.memories.update(memory.id, memory_store_id=store, content="y")
    base = f"{STORES}/{store}"
    paths = [
        STORES,
        base,
        f"{base}/memories",
        f"{base}/memories/{memory.id}",
        f"{base}/memory_versions",
        f"{base}/memory_versions/{memory.memory_version_id}",
        f"{base}/memory_versions/{memory.memory_version_id}/redact",
    ]
    return backend, paths


@QUIET
@given(data=st.data(), method=methods, query=queries, body=bodies)
def test_no_body_and_no_query_is_answered_with_a_5xx(
    settled: tuple[Backend, list[str]], data: st.DataObject, method: str, query: str, body: bytes
) -> None:
    backend, paths = settled
    path = data.draw(st.sampled_from(paths))
    if method == "DELETE" and path == paths[1]:
        method = "POST"
    reply = backend.raw(method, path, query, body if method != "GET" else b"")
    assert reply.status in {200, 400, 404, 405, 409, 413}


@QUIET
@given(
    method=methods,
    path=st.text(string.printable + "äé%\ud800🧠", max_size=80).map(lambda text: "/v1/memory_stores/" + text)
    | st.text(max_size=40),
    query=any_text,
)
def test_no_path_is_answered_with_a_5xx(settled: tuple[Backend, list[str]], method: str, path: str, query: str) -> None:
    backend, _ = settled
    assert backend.raw(method, path, query, b"{}").status in {200, 400, 404, 405}


@QUIET
@given(path=any_text.map(lambda text: "/" + text), content=any_text)
def test_every_path_and_content_is_either_kept_exactly_or_refused_by_name(
    settled: tuple[Backend, list[str]], path: str, content: str
) -> None:
    backend, paths = settled
    reply = backend.raw("POST", paths[2], "view=full", {"path": path, "content": content})
    if reply.status == 200:
        assert (reply.body["path"], reply.body["content"]) == (path, content)
        kept = backend.raw("GET", f"{paths[2]}/{reply.body['id']}").body
        assert kept == reply.body
        assert backend.raw("DELETE", f"{paths[2]}/{reply.body['id']}").status == 200
    else:
        assert reply.status in {400, 409}
        assert reply.status == 409 or reply.error["message"].startswith(("path: ", "content: "))


@QUIET
@given(
    headers=st.dictionaries(
        st.sampled_from(["authorization", "x-api-key", "anthropic-workspace-id", "content-type", "accept", "x"]),
        any_text | st.sampled_from(["Bearer ", "Bearer sk-memolith-a-b-c", "sk-memolith-main-x_0-" + "s" * 32]),
        max_size=4,
    )
)
def test_no_header_is_answered_with_a_5xx(settled: tuple[Backend, list[str]], headers: dict[str, str]) -> None:
    backend, _ = settled
    assert backend.raw("GET", STORES, headers=headers).status in {200, 401, 403}


@QUIET
@given(
    event=st.fixed_dictionaries(
        {},
        optional={
            "version": st.just("2.0"),
            "rawPath": st.just(STORES) | any_text,
            "rawQueryString": any_text,
            "headers": st.none() | st.dictionaries(any_text, any_text, max_size=3),
            "body": st.none() | any_text,
            "isBase64Encoded": st.booleans(),
            "requestContext": st.none() | st.fixed_dictionaries({}, optional={"http": st.just({"method": "POST"})}),
        },
    )
)
def test_no_event_brings_the_boundary_down(settled: tuple[Backend, list[str]], event: dict[str, Any]) -> None:
    backend, _ = settled
    complete = {"rawPath": "/", "requestContext": {"http": {"method": "GET"}}, **event}
    complete["requestContext"] = complete["requestContext"] or {"http": {"method": "GET"}}
    complete["requestContext"].setdefault("http", {"method": "GET"})
    assert backend.answer(complete)["statusCode"] in {400, 401, 403, 404, 405}


LONG_REGION = "a" * 2_100
"""Longer than a key of a row may be."""


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_an_api_key_with_a_long_region_is_answered_with_401(header: str) -> None:
    backend = memolith_backend()
    text = f"sk-memolith-main-{LONG_REGION}_{'0' * 26}-{'x' * 32}"
    sent = {"authorization": "", header: f"Bearer {text}" if header == "authorization" else text}
    for method, path in (("GET", STORES), ("POST", STORES), ("GET", "/v1/sessions")):
        assert backend.raw(method, path, headers=sent).status == 401, (method, path)


def test_a_store_id_with_a_long_region_is_answered_with_404() -> None:
    backend = memolith_backend()
    store = f"memstore_{LONG_REGION}_{'0' * 26}"
    attached = {"resources": [{"type": "memory_store", "memory_store_id": store}]}
    statuses = [
        backend.raw("GET", "/v1/search", f"query=x&memory_store_ids={store}").status,
        backend.raw("POST", "/v1/sessions", body=attached).status,
    ]
    assert statuses == [404, 404]
