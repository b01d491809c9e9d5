"""What sessions and what was said in them look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.api.shapes.fields import check_fields, check_instants, words


def check_session(body: Mapping[str, Any]) -> None:
    token = {"token", "token_expires_at"} & set(body)
    names = (
        "id title metadata status resources created_at updated_at archived_at created_by agent environment_id "
        "vault_ids outcome_evaluations stats usage budget deployment_id"
    )
    check_fields({name: value for name, value in body.items() if name not in token}, names)
    assert token in (set(), {"token", "token_expires_at"})
    assert body["id"].startswith("sesn_")
    assert body["status"] == ("idle" if body["archived_at"] is None else "terminated")
    check_instants(body, "created_at", "updated_at", *({"token_expires_at"} & token))
    for resource in body["resources"]:
        check_resource(resource)


def check_resource(body: Mapping[str, Any]) -> None:
    check_fields(body, "memory_store_id access instructions name description mount_path")
    assert re.fullmatch(r"/mnt/memory/[a-z0-9]+(-[a-z0-9]+)*", body["mount_path"])


def check_thread(body: Mapping[str, Any]) -> None:
    names = "id session_id parent_thread_id status agent created_at updated_at archived_at stats usage workflow_run_id"
    check_fields(body, names)
    assert body["id"].removeprefix("sthr_") == body["session_id"].removeprefix("sesn_")
    assert body["status"] == ("idle" if body["archived_at"] is None else "terminated")
    check_instants(body, "created_at", "updated_at")


def check_context(body: Mapping[str, Any]) -> None:
    check_fields(body, "session_id pinned_at text stores")
    check_instants(body, "pinned_at")
    for one in body["stores"]:
        names = "memory_store_id access instructions name description mount_path index"
        assert set(one) == set(names.split())
        index = one["index"]
        shown = "source text remarks lines lines_total truncated more trust"
        assert set(index) == set(shown.split())
        assert index["lines"] <= min(index["lines_total"], 200)
        assert len(index["text"].encode()) <= 25_000


def check_transcript_search(body: Mapping[str, Any]) -> None:
    check_fields(body, "hits sessions_searched truncated")
    names = "session_id session_title memory_store_ids event_id event_type processed_at age trust score excerpt"
    for one in body["hits"]:
        assert set(one) == words(names)
        check_instants(one, "processed_at")


def check_event(body: Mapping[str, Any]) -> None:
    """An event has whatever its sender gave it, and beside it what is Memolith's to say."""
    assert {"id", "type", "processed_at", "trust", "client_event_id", "redactions"} <= set(body)
    assert type(body["redactions"]) is int
    check_instants(body, "processed_at")


def check_receipt(body: Mapping[str, Any]) -> None:
    check_fields(body, "type accepted duplicates redactions")


def check_extraction(body: Mapping[str, Any]) -> None:
    names = "session_id memory_store_id outcome proposal_id notes dropped model prompt_sha256 usage"
    check_fields(body, names)
