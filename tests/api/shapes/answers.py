"""What every answer must look like, whatever was asked: checked on each answer that passes through the tests' gateway.

Source: docs/api-compatibility.md §1.3 and §1.11. The SDK itself accepts almost anything, so nothing here leans
on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.api.shapes.fields import INSTANT, check_fields, check_instants, words
from tests.api.shapes.graph import (
    check_activity,
    check_conflicts,
    check_graph,
    check_graph_context,
    check_observations,
    check_recall,
    check_resolution,
)
from tests.api.shapes.memories import (
    check_hit,
    check_imported,
    check_memory,
    check_prefix,
    check_quarantined,
    check_version,
)
from tests.api.shapes.sessions import (
    check_context,
    check_event,
    check_extraction,
    check_receipt,
    check_session,
    check_thread,
    check_transcript_search,
)
from tests.api.shapes.stores import check_citations, check_dream, check_proposal, check_remark, check_store, check_usage

ERROR_TYPES = {
    400: {"invalid_request_error"},
    401: {"authentication_error"},
    403: {"permission_error"},
    404: {"not_found_error"},
    405: {"invalid_request_error"},
    409: {"memory_precondition_failed_error", "memory_path_conflict_error", "memory_snapshot_incomplete_error"},
    413: {"request_too_large"},
    429: {"rate_limit_error", "memory_budget_error"},
    500: {"api_error"},
    503: {"overloaded_error", "api_error", "memory_damaged_error"},
    504: {"timeout_error"},
}
_REQUEST_ID = re.compile(r"req_[0-9a-z]{26}")


def check_answer(answer: Mapping[str, Any]) -> None:
    """Asserts all that holds for any answer of the API."""
    status, headers = answer["statusCode"], answer["headers"]
    streamed = headers["content-type"] == "text/event-stream; charset=utf-8"
    assert streamed or headers["content-type"] == "application/json"
    assert _REQUEST_ID.fullmatch(headers["request-id"])
    assert headers["x-memolith-region"]
    assert headers["x-memolith-home"]
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    assert not answer["isBase64Encoded"]
    if streamed:
        assert status == 200
        check_stream(answer["body"])
        return
    raw = answer["body"].encode()
    body = json.loads(raw, parse_constant=_never)
    assert json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() == raw, "compact, and not escaped"
    if status in (200, 202):
        check_object(body)
    else:
        check_error(status, headers, body)


def check_stream(body: str) -> None:
    assert body.isascii(), "some clients break lines at others than the form names"
    opened, *frames = body.split("\n\n")[:-1]
    assert opened == ": open"
    for one in frames:
        event, data = one.split("\n")
        shown = json.loads(data.removeprefix("data: "))
        assert event == f"event: {shown['type']}"
        check_event(shown)


def _never(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def check_error(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
    assert set(body) == {"type", "error", "request_id"}
    assert body["type"] == "error"
    assert body["request_id"] == headers["request-id"]
    error = body["error"]
    assert error["type"] in ERROR_TYPES[status]
    assert isinstance(error["message"], str)
    assert error["message"]
    extra = set(error) - {"type", "message"}
    if error["type"] == "memory_path_conflict_error":
        assert extra == {"conflicting_memory_id", "conflicting_path"}
    elif error["type"] == "memory_snapshot_incomplete_error":
        assert extra == {"as_of", "complete_until"}
    elif error["type"] == "memory_damaged_error":
        assert extra == {"memory_version_id", "region", "object", "damage"}
    else:
        assert extra <= {"findings"}
    if status == 429:
        assert int(headers["retry-after"]) >= 1
    if status in (409, 504):
        assert headers["x-should-retry"] == "false"


def check_object(body: Mapping[str, Any]) -> None:
    """Asserts that a successful answer is one of the API's objects, with every field of it and no other."""
    if "data" in body:
        sent = set(body) == {"data"} and bool(body["data"])  # what was sent is no page, and only events are sent
        assert sent or set(body) == {"data", "next_page"}
        assert not sent or all(row["id"].startswith("sevt_") for row in body["data"])
        assert sent or body["next_page"] is None or re.fullmatch(r"page_[A-Za-z0-9_-]+", body["next_page"])
        for row in body["data"]:
            check_object(row)
        return
    if str(body.get("id", "")).startswith("sevt_"):
        check_event(body)
        return
    _CHECKS[body["type"]](body)


def check_api_key(body: Mapping[str, Any]) -> None:
    """A laptop's alone; its text is there once, where it was made."""
    names = "id name scope created_at expires_at revoked_at memory_store_ids holder requests_per_minute"
    check_fields(body, names + (" api_key" if "api_key" in body else ""))
    assert body["id"].startswith("apikey_")
    assert body["scope"] in {"read", "write", "admin"}
    check_instants(body, "created_at")
    assert all(body[name] is None or INSTANT.fullmatch(body[name]) for name in ("expires_at", "revoked_at"))


def check_divergent(body: Mapping[str, Any]) -> None:
    check_fields(
        body,
        "id memory_id memory_store_id operation path content content_sha256 content_size_bytes created_at created_by "
        "withheld current",
    )
    check_instants(body, "created_at")
    if body["current"] is not None:
        check_object(body["current"])


def check_restored(body: Mapping[str, Any]) -> None:
    check_fields(body, "id memory")
    if body["memory"] is not None:
        check_object(body["memory"])


def check_tombstone(body: Mapping[str, Any]) -> None:
    check_fields(body, "id")


def check_health(body: Mapping[str, Any]) -> None:
    check_fields(body, "status")


def check_proof(body: Mapping[str, Any]) -> None:
    """Of a version, or of its erasure; neither has a text. Format 2 where the statements of a chain follow one."""
    inclusion = words("name index path statement seal")
    parts = [body["version"], body["order"]] if "order" in body else [body]
    assert body["memolith_proof"] == (2 if any("chain" in part for part in parts) else 1)
    if "order" in body:
        check_fields(body, "memolith_proof version order")
        assert set(body["version"]) - {"chain"} == inclusion
        assert set(body["order"]) - {"chain"} == {*inclusion, "body"}
    else:
        assert set(body) - {"chain", "type"} == {*inclusion, "memolith_proof", "opening"}
        assert set(body["opening"]) == {"nonce", "metadata"}


def check_integrity_keys(body: Mapping[str, Any]) -> None:
    """Public halves alone: a private one has a ``d``."""
    check_fields(body, "keys")
    for key in body["keys"]:
        assert set(key) in (words("kid region kty crv x"), words("kid region kty crv x y"))


_CHECKS = {
    "memory_version_proof": check_proof,
    "integrity_keys": check_integrity_keys,
    "dream": check_dream,
    "session": check_session,
    "session_thread": check_thread,
    "api_key": check_api_key,
    "session_context": check_context,
    "transcript_receipt": check_receipt,
    "extraction": check_extraction,
    "remark": check_remark,
    "citation_receipt": check_citations,
    "memory_usage": check_usage,
    "memory_store": check_store,
    "memory": check_memory,
    "memory_prefix": check_prefix,
    "memory_search_hit": check_hit,
    "memory_version": check_version,
    "imported_version": check_imported,
    "quarantined_text": check_quarantined,
    "proposal": check_proposal,
    "divergent_version": check_divergent,
    "divergent_version_restored": check_restored,
    "divergent_version_dismissed": check_tombstone,
    "memory_deleted": check_tombstone,
    "memory_store_deleted": check_tombstone,
    "session_deleted": check_tombstone,
    "memory_graph": check_graph,
    "memory_activity": check_activity,
    "transcript_search": check_transcript_search,
    "memory_conflicts": check_conflicts,
    "memory_conflict_resolution": check_resolution,
    "memory_recall": check_recall,
    "memory_context": check_graph_context,
    "memory_observations": check_observations,
    "health": check_health,
}
