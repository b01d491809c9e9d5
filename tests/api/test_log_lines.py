"""What a request leaves in the function's log: who asked, so that a leaked key can be followed, and never a secret."""

from __future__ import annotations

import hashlib
import logging
from typing import Any

import pytest

from tests.api.harness import Backend

ANYONE = {"workspace_id": None, "key_id": None, "session_id": None}


@pytest.fixture
def backend(sessions_backend: Backend, caplog: pytest.LogCaptureFixture) -> Backend:
    caplog.set_level("DEBUG")
    return sessions_backend


def _bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def _key_id(api_key: str) -> str:
    return f"apikey_{api_key.split('-')[3]}"


def _last(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    """What the last request's line says of its operation and its caller."""
    line = [record for record in caplog.records if record.message == "request"][-1]
    return {name: getattr(line, name) for name in ("operation", "status", *ANYONE)}


def _session(backend: Backend) -> tuple[str, dict[str, Any]]:
    store = backend.client().beta.memory_stores.create(name="notes").id
    body = {"resources": [{"type": "memory_store", "memory_store_id": store}]}
    return store, backend.raw("POST", "/v1/sessions", body=body).body


def test_the_line_of_a_request_names_the_key_or_the_session_and_the_workspace(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    store, session = _session(backend)
    by_key = {"workspace_id": "wrkspc_main", "key_id": _key_id(backend.api_key), "session_id": None}
    assert _last(caplog) == {"operation": "create_session", "status": "200", **by_key}
    memories = f"/v1/memory_stores/{store}/memories"
    backend.raw("GET", memories, headers=_bearer(session["token"]))
    by_session = {"workspace_id": "wrkspc_main", "key_id": None, "session_id": session["id"]}
    assert _last(caplog) == {"operation": "list_memories", "status": "200", **by_session}
    backend.raw("DELETE", f"/v1/sessions/{session['id']}")
    backend.raw("GET", memories, headers=_bearer(session["token"]))
    assert _last(caplog) == {"operation": "list_memories", "status": "401", **by_session}
    backend.memolith.api_keys.revoke("wrkspc_main", _key_id(backend.api_key))
    backend.raw("GET", memories)
    assert _last(caplog) == {"operation": "list_memories", "status": "401", **by_key}


def test_the_line_of_a_request_that_presents_nothing_true_names_nobody(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    _, session = _session(backend)
    for text in ("", "nonsense", session["token"][:-4] + "AAAA", "st-memolith-a.b.c"):
        backend.raw("GET", "/v1/memory_stores", headers=_bearer(text))
        assert _last(caplog) == {"operation": "list_stores", "status": "401", **ANYONE}


def test_no_line_of_any_logger_has_a_secret_a_token_or_a_part_of_one(
    backend: Backend, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    store, session = _session(backend)
    limited = backend.issue_key("main", "write", stores=[store])
    forged = f"{limited[:-8]}deadbeef"
    renewed = backend.raw("POST", f"/v1/sessions/{session['id']}/token").body
    presented = [
        backend.api_key,
        limited,
        forged,
        session["token"],
        renewed["token"],
        session["token"][:-8] + "deadbeef",
    ]
    requests = [
        ("GET", "/v1/memory_stores", None),
        ("GET", "/v1/sessions", None),
        ("GET", f"/v1/sessions/{session['id']}", None),
        ("GET", f"/v1/memory_stores/{store}/memories", None),
        ("POST", f"/v1/memory_stores/{store}/memories", {"path": "/a", "content": "x"}),
        ("POST", "/v1/sessions", {"resources": [], "token": session["token"]}),
        ("GET", f"/v1/nothing/{session['token']}", None),
    ]
    for text in presented:
        for method, path, body in requests:
            backend.raw(method, path, body=body, headers=_bearer(text))
            backend.raw(method, path, body=body, headers={"authorization": f"Bearer {text}", "x-api-key": presented[0]})
    keys, tokens = presented[:3], presented[3:]
    secrets = [key.rsplit("-", 1)[1] for key in keys]
    secrets += [hashlib.sha256(key.encode()).hexdigest() for key in keys]
    secrets += [part for token in tokens for part in token.removeprefix("st-memolith-").split(".")[1:]]
    formatter = logging.Formatter()
    printed = capfd.readouterr()
    written = printed.out + printed.err
    written += "".join(f"{record.__dict__} {formatter.format(record)}\n" for record in caplog.records)
    assert written.count("'message': 'request'") >= len(presented) * len(requests)
    for secret in secrets:
        assert len(secret) > 20
        assert secret not in written
