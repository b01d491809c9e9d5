"""Sessions begun and listed as callers of the API do."""

from __future__ import annotations

from typing import Any

from tests.api.harness import Backend, Reply


def create_store(backend: Backend, name: str = "Team notes") -> str:
    return backend.client().beta.memory_stores.create(name=name, description=f"about {name}").id


def begin_session(backend: Backend, *resources: dict[str, Any], **fields: Any) -> Reply:
    attached = [{"type": "memory_store", **resource} for resource in resources]
    return backend.raw("POST", "/v1/sessions", body={"resources": attached, **fields})


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def key_id(api_key: str) -> str:
    return f"apikey_{api_key.split('-')[3]}"


def begin_session_with(backend: Backend, api_key: str, store: str, **fields: Any) -> dict[str, Any]:
    body = {"resources": [{"type": "memory_store", "memory_store_id": store}], **fields}
    return backend.raw("POST", "/v1/sessions", body=body, headers=bearer(api_key)).body


def listed_sessions(backend: Backend, query: str = "") -> list[str]:
    reply = backend.raw("GET", "/v1/sessions", query)
    assert reply.status == 200, reply.body
    return [one["id"] for one in reply.body["data"]]
