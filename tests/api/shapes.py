"""What every answer must look like, whatever was asked: checked on each answer that passes through the tests' gateway.

Source: docs/api-compatibility.md §1.3 and §1.11. The SDK itself accepts almost anything, so nothing here leans
on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from memolith.core.trust import NAMES

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
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_SHA256 = re.compile(r"[0-9a-f]{64}")
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
        _check_stream(answer["body"])
        return
    raw = answer["body"].encode()
    body = json.loads(raw, parse_constant=_never)
    assert json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() == raw, "compact, and not escaped"
    if status in (200, 202):
        check_object(body)
    else:
        _check_error(status, headers, body)


def _check_stream(body: str) -> None:
    assert body.isascii(), "some clients break lines at others than the form names"
    opened, *frames = body.split("\n\n")[:-1]
    assert opened == ": open"
    for one in frames:
        event, data = one.split("\n")
        shown = json.loads(data.removeprefix("data: "))
        assert event == f"event: {shown['type']}"
        _check_event(shown)


def _never(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def _check_error(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
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
        _check_event(body)
        return
    _CHECKS[body["type"]](body)


def _check_api_key(body: Mapping[str, Any]) -> None:
    """A laptop's alone; its text is there once, where it was made."""
    names = "id name scope created_at expires_at revoked_at memory_store_ids holder requests_per_minute"
    _fields(body, names + (" api_key" if "api_key" in body else ""))
    assert body["id"].startswith("apikey_")
    assert body["scope"] in {"read", "write", "admin"}
    _instants(body, "created_at")
    assert all(body[name] is None or _INSTANT.fullmatch(body[name]) for name in ("expires_at", "revoked_at"))


def _check_store(body: Mapping[str, Any]) -> None:
    """One in a listing of deleted stores also says when it is erased; as a session's resource it is another object."""
    if "memory_store_id" in body:
        _check_resource(body)
        return
    names = "id name description metadata created_at updated_at archived_at scan_policy retention durability"
    deleted = "erase_after" in body
    _fields(body, f"{names} second_region approval pipelines" + (" erase_after" if deleted else ""))
    if deleted:
        _instants(body, "erase_after")
    assert body["id"].startswith("memstore_")
    assert isinstance(body["name"], str)
    assert isinstance(body["description"], str)
    assert all(isinstance(text, str) for pair in body["metadata"].items() for text in pair)
    _instants(body, "created_at", "updated_at")
    assert body["archived_at"] is None or _INSTANT.fullmatch(body["archived_at"])
    assert set(body["retention"]) == {"days", "versions", "transcript_days"}
    assert all(type(number) is int and number > 0 for number in body["retention"].values())
    assert body["durability"] == ("one_region" if body["second_region"] is None else "two_regions")
    assert set(body["scan_policy"]) == {"policy", "allow", "secrets"}
    assert body["scan_policy"]["secrets"] in {"refuse", "redact", "flag"}
    assert body["scan_policy"]["policy"] in {"strict", "standard", "audit"}
    assert all(isinstance(rule, str) for rule in body["scan_policy"]["allow"])


def _check_memory(body: Mapping[str, Any]) -> None:
    """One that was asked for as of an instant also says whether it is blank."""
    if "blank" in body:
        _check_past_memory(body)
        return
    _fields(
        body,
        "id memory_store_id memory_version_id path content content_sha256 content_size_bytes created_at updated_at"
        " flags withheld trust" + (" redacted" if "redacted" in body else ""),
    )
    for secret in body.get("redacted", ()):
        assert set(secret) == {"kind", "line", "column"}
        assert re.fullmatch(r"[a-z0-9-]{1,60}", secret["kind"])
        assert min(secret["line"], secret["column"]) > 0
    assert body["id"].startswith("mem_")
    assert body["memory_store_id"].startswith("memstore_")
    assert body["memory_version_id"].startswith("memver_")
    assert body["trust"] in NAMES
    assert body["path"].startswith("/")
    assert body["content"] is None or isinstance(body["content"], str)
    assert _SHA256.fullmatch(body["content_sha256"])
    assert type(body["content_size_bytes"]) is int
    _instants(body, "created_at", "updated_at")
    _check_judged(body)


def _check_judged(body: Mapping[str, Any]) -> None:
    assert all(isinstance(flag, str) for flag in body["flags"])
    if body["withheld"] is not None:
        assert set(body["withheld"]) == {"reason", "rules", "since"}
        assert isinstance(body["withheld"]["reason"], str)
        assert all(isinstance(rule, str) for rule in body["withheld"]["rules"])
        _instants(body["withheld"], "since")


def _check_past_memory(body: Mapping[str, Any]) -> None:
    gone = ("path", "content_sha256", "content_size_bytes")
    assert type(body["blank"]) is bool
    assert all((body[name] is None) == body["blank"] for name in gone)
    assert body["content"] is None or not body["blank"]
    filled = {"path": "/blank", "content_sha256": "0" * 64, "content_size_bytes": 0} if body["blank"] else {}
    _check_memory({name: value for name, value in {**body, **filled}.items() if name != "blank"})


def _check_hit(body: Mapping[str, Any]) -> None:
    _fields(body, "score excerpt memory disputed")
    assert isinstance(body["score"], int | float)
    assert isinstance(body["excerpt"], str)
    assert body["memory"]["content"] is None
    assert body["memory"]["withheld"] is None
    _check_memory(body["memory"])


def _check_prefix(body: Mapping[str, Any]) -> None:
    _fields(body, "path")
    assert body["path"].startswith("/")
    assert body["path"].endswith("/")


def _check_version(body: Mapping[str, Any]) -> None:
    _fields(
        body,
        "id memory_id memory_store_id operation path content content_sha256 content_size_bytes created_at created_by"
        " redacted_at redacted_by flags withheld imported trust",
    )
    assert type(body["imported"]) is bool
    assert body["trust"] in NAMES
    assert body["id"].startswith("memver_")
    assert body["operation"] in {"created", "modified", "deleted"}
    _instants(body, "created_at")
    _actor(body["created_by"])
    _actor(body["redacted_by"])
    redacted = body["redacted_at"] is not None
    assert redacted == (body["redacted_by"] is not None)
    assert redacted == (body["path"] is None)
    gone = redacted or body["operation"] == "deleted"
    assert gone == (body["content_sha256"] is None)
    assert gone == (body["content_size_bytes"] is None)
    assert body["content"] is None or not gone
    _check_judged(body)


def _check_imported(body: Mapping[str, Any]) -> None:
    _fields(body, "memory_version_id memory_id status reason path_taken withheld_rules redacted")
    assert body["status"] in {"imported", "known", "waiting", "refused"}
    assert (body["reason"] is not None) == (body["status"] == "refused")
    assert body["status"] == "refused" or not body["path_taken"]
    assert all(isinstance(rule, str) for rule in body["withheld_rules"])


def _check_quarantined(body: Mapping[str, Any]) -> None:
    _fields(
        body,
        "memory_store_id memory_version_id memory_version_ids status withheld verdicts places all_places",
    )
    assert body["memory_version_id"] == body["memory_version_ids"][0]
    assert (body["status"] == "released") == (body["withheld"] is None)
    _check_judged({"flags": [], "withheld": body["withheld"]})
    for verdict in body["verdicts"] or ():
        _fields(verdict, "memory_version_id outcome reason findings decided_at decided_by")
        assert all("excerpt" not in finding for finding in verdict["findings"])
        _instants(verdict, "decided_at")
    for place in body["places"] or ():
        _fields(place, "memory_id memory_version_id operation path created_at head")
        _instants(place, "created_at")
    assert (body["places"] is None) == (body["all_places"] is None)


def _check_divergent(body: Mapping[str, Any]) -> None:
    _fields(
        body,
        "id memory_id memory_store_id operation path content content_sha256 content_size_bytes created_at created_by "
        "withheld current",
    )
    _instants(body, "created_at")
    if body["current"] is not None:
        check_object(body["current"])


def _check_restored(body: Mapping[str, Any]) -> None:
    _fields(body, "id memory")
    if body["memory"] is not None:
        check_object(body["memory"])


def _check_tombstone(body: Mapping[str, Any]) -> None:
    _fields(body, "id")


def _check_session(body: Mapping[str, Any]) -> None:
    token = {"token", "token_expires_at"} & set(body)
    names = (
        "id title metadata status resources created_at updated_at archived_at created_by agent environment_id "
        "vault_ids outcome_evaluations stats usage budget deployment_id"
    )
    _fields({name: value for name, value in body.items() if name not in token}, names)
    assert token in (set(), {"token", "token_expires_at"})
    assert body["id"].startswith("sesn_")
    assert body["status"] == ("idle" if body["archived_at"] is None else "terminated")
    _instants(body, "created_at", "updated_at", *({"token_expires_at"} & token))
    for resource in body["resources"]:
        _check_resource(resource)


def _check_resource(body: Mapping[str, Any]) -> None:
    _fields(body, "memory_store_id access instructions name description mount_path")
    assert re.fullmatch(r"/mnt/memory/[a-z0-9]+(-[a-z0-9]+)*", body["mount_path"])


def _check_thread(body: Mapping[str, Any]) -> None:
    names = "id session_id parent_thread_id status agent created_at updated_at archived_at stats usage workflow_run_id"
    _fields(body, names)
    assert body["id"].removeprefix("sthr_") == body["session_id"].removeprefix("sesn_")
    assert body["status"] == ("idle" if body["archived_at"] is None else "terminated")
    _instants(body, "created_at", "updated_at")


def _check_context(body: Mapping[str, Any]) -> None:
    _fields(body, "session_id pinned_at text stores")
    _instants(body, "pinned_at")
    for one in body["stores"]:
        names = "memory_store_id access instructions name description mount_path index"
        assert set(one) == set(names.split())
        index = one["index"]
        shown = "source text remarks lines lines_total truncated more trust"
        assert set(index) == set(shown.split())
        assert index["lines"] <= min(index["lines_total"], 200)
        assert len(index["text"].encode()) <= 25_000


def _check_graph(body: Mapping[str, Any]) -> None:
    _fields(body, "nodes edges candidates truncated")
    for node in body["nodes"]:
        _check_node(node)
    for edge in body["edges"]:
        assert set(edge) == _names("from to type target_text context line candidates")


def _check_graph_context(body: Mapping[str, Any]) -> None:
    _fields(body, "results metadata candidates has_more page page_size")
    for result in body["results"]:
        assert set(result) == _names("primary_result observations related_results truncated")
        assert result["primary_result"]["type"] == "entity"
        assert {one["type"] for one in result["observations"]} <= {"observation"}
        assert {one["type"] for one in result["related_results"]} <= {"entity", "relation"}


def _check_observations(body: Mapping[str, Any]) -> None:
    _fields(body, "observations truncated")
    for one in body["observations"]:
        assert set(one) == _names("memory_id line category content tags context valid disputed memory")
        _check_node(one["memory"])


def _check_conflicts(body: Mapping[str, Any]) -> None:
    _fields(body, "conflicts truncated")
    for one in body["conflicts"]:
        assert set(one) == _names("id kind status superseded_by resolution sides")
        assert (one["status"] == "resolved") == (one["resolution"] is not None)
        assert one["status"] != "superseded" or one["superseded_by"] is not None
        if one["resolution"] is not None:
            _check_resolution(one["resolution"])
            assert one["resolution"]["conflict_id"] == one["id"]
        assert len(one["sides"]) == 2
        for side in one["sides"]:
            names = "memory memory_version_id statement_id written_at written_by line observation relation"
            assert set(side) == _names(names)
            _check_node(side["memory"])
            _instants(side, "written_at")


def _check_resolution(body: Mapping[str, Any]) -> None:
    _fields(body, "conflict_id keep statements resolved_at resolved_by")
    _instants(body, "resolved_at")
    assert len(body["statements"]) == 2
    for one in body["statements"]:
        assert set(one) == _names("statement_id memory_id")
    assert body["keep"] in ("both", *(one["statement_id"] for one in body["statements"]))


def _check_transcript_search(body: Mapping[str, Any]) -> None:
    _fields(body, "hits sessions_searched truncated")
    names = "session_id session_title memory_store_ids event_id event_type processed_at age trust score excerpt"
    for one in body["hits"]:
        assert set(one) == _names(names)
        _instants(one, "processed_at")


def _check_activity(body: Mapping[str, Any]) -> None:
    _fields(body, "memories since page page_size has_more truncated")
    _instants(body, "since")
    names = "memory_id path operation memory_version_id changed_at age trust changes first_changed_at changed_by"
    for one in body["memories"]:
        assert set(one) == _names(names)
        assert one["changes"] >= 1 and one["memory_version_id"].startswith("memver_")
        _instants(one, "changed_at", "first_changed_at")


def _check_recall(body: Mapping[str, Any]) -> None:
    _fields(body, "memories")
    for one in body["memories"]:
        assert all(isinstance(reason, str) for reason in one["why"])
        _check_node({name: value for name, value in one.items() if name not in ("content", "why")})


def _check_node(node: Mapping[str, Any]) -> None:
    names = "memory_id path title type permalink tags created_at updated_at age distance flags trust valid disputed"
    assert set(node) == set(names.split())
    assert node["memory_id"].startswith("mem_")
    _instants(node, "created_at", "updated_at")


def _check_event(body: Mapping[str, Any]) -> None:
    """An event has whatever its sender gave it, and beside it what is Memolith's to say."""
    assert {"id", "type", "processed_at", "trust", "client_event_id", "redactions"} <= set(body)
    assert type(body["redactions"]) is int
    _instants(body, "processed_at")


def _check_receipt(body: Mapping[str, Any]) -> None:
    _fields(body, "type accepted duplicates redactions")


def _check_proposal(body: Mapping[str, Any]) -> None:
    names = "id memory_store_id status edit_count proposed_at proposed_by expires_at decided_at decided_by complete"
    _fields(body, f"{names} endorsed_by erased why reason edits")
    assert re.fullmatch(r"prop_[0-9a-z]{26}", body["id"])
    _instants(body, "proposed_at", "expires_at")
    names = "type number op path to content content_sha256 expected_content_sha256 memory_id why sources trust withheld"
    for number, edit in enumerate(body["edits"] or (), 1):
        assert set(edit) == _names(f"{names} conflict result reversal diff")
        assert (edit["type"], edit["number"]) == ("proposed_edit", number)
        for result in filter(None, (edit["result"], edit["reversal"])):
            assert set(result) == _names("outcome memory_id memory_version_id detail error")


def _check_remark(body: Mapping[str, Any]) -> None:
    _fields(body, "memory_store_id memory_id memory_version_id path number unchanged")
    assert re.fullmatch(r"/logs/\d{4}/\d\d/\d{4}-\d\d-\d\d(\.\d+)?\.md", body["path"])
    assert body["number"] >= 1


def _check_citations(body: Mapping[str, Any]) -> None:
    _fields(body, "accepted duplicates")


def _check_usage(body: Mapping[str, Any]) -> None:
    _fields(body, "memory_id path cited last_cited_on read last_read_on unused counted_since")


def _check_extraction(body: Mapping[str, Any]) -> None:
    names = "session_id memory_store_id outcome proposal_id notes dropped model prompt_sha256 usage"
    _fields(body, names)


def _check_health(body: Mapping[str, Any]) -> None:
    _fields(body, "status")


def _check_proof(body: Mapping[str, Any]) -> None:
    """Of a version, or of its erasure; neither has a text. Format 2 where the statements of a chain follow one."""
    inclusion = _names("name index path statement seal")
    parts = [body["version"], body["order"]] if "order" in body else [body]
    assert body["memolith_proof"] == (2 if any("chain" in part for part in parts) else 1)
    if "order" in body:
        _fields(body, "memolith_proof version order")
        assert set(body["version"]) - {"chain"} == inclusion
        assert set(body["order"]) - {"chain"} == {*inclusion, "body"}
    else:
        assert set(body) - {"chain", "type"} == {*inclusion, "memolith_proof", "opening"}
        assert set(body["opening"]) == {"nonce", "metadata"}


def _check_integrity_keys(body: Mapping[str, Any]) -> None:
    """Public halves alone: a private one has a ``d``."""
    _fields(body, "keys")
    for key in body["keys"]:
        assert set(key) in (_names("kid region kty crv x"), _names("kid region kty crv x y"))


def _check_dream(body: Mapping[str, Any]) -> None:
    _fields(
        body,
        "id status inputs outputs output_behavior model instructions session_id created_at ended_at archived_at usage"
        " error x_memolith",
    )
    _instants(body, "created_at")
    assert body["status"] in _names("pending running completed failed canceled")


_CHECKS = {
    "memory_version_proof": _check_proof,
    "integrity_keys": _check_integrity_keys,
    "dream": _check_dream,
    "session": _check_session,
    "session_thread": _check_thread,
    "api_key": _check_api_key,
    "session_context": _check_context,
    "transcript_receipt": _check_receipt,
    "extraction": _check_extraction,
    "remark": _check_remark,
    "citation_receipt": _check_citations,
    "memory_usage": _check_usage,
    "memory_store": _check_store,
    "memory": _check_memory,
    "memory_prefix": _check_prefix,
    "memory_search_hit": _check_hit,
    "memory_version": _check_version,
    "imported_version": _check_imported,
    "quarantined_text": _check_quarantined,
    "proposal": _check_proposal,
    "divergent_version": _check_divergent,
    "divergent_version_restored": _check_restored,
    "divergent_version_dismissed": _check_tombstone,
    "memory_deleted": _check_tombstone,
    "memory_store_deleted": _check_tombstone,
    "session_deleted": _check_tombstone,
    "memory_graph": _check_graph,
    "memory_activity": _check_activity,
    "transcript_search": _check_transcript_search,
    "memory_conflicts": _check_conflicts,
    "memory_conflict_resolution": _check_resolution,
    "memory_recall": _check_recall,
    "memory_context": _check_graph_context,
    "memory_observations": _check_observations,
    "health": _check_health,
}


def _names(names: str) -> set[str]:
    return set(names.split())


def _fields(body: Mapping[str, Any], names: str) -> None:
    assert set(body) == {"type", *names.split()}


def _instants(body: Mapping[str, Any], *names: str) -> None:
    for name in names:
        assert _INSTANT.fullmatch(body[name])


def _actor(body: Mapping[str, Any] | None) -> None:
    if body is not None:
        assert set(body) == {"type", body["type"].replace("api_actor", "api_key").replace("_actor", "") + "_id"}
