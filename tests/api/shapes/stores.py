"""What stores and what is kept or decided beside their memories look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.api.shapes.fields import INSTANT, check_fields, check_instants, words
from tests.api.shapes.sessions import check_resource


def check_store(body: Mapping[str, Any]) -> None:
    """One in a listing of deleted stores also says when it is erased; as a session's resource it is another object."""
    if "memory_store_id" in body:
        check_resource(body)
        return
    names = "id name description metadata created_at updated_at archived_at scan_policy retention durability"
    deleted = "erase_after" in body
    check_fields(body, f"{names} second_region approval pipelines" + (" erase_after" if deleted else ""))
    if deleted:
        check_instants(body, "erase_after")
    assert body["id"].startswith("memstore_")
    assert isinstance(body["name"], str)
    assert isinstance(body["description"], str)
    assert all(isinstance(text, str) for pair in body["metadata"].items() for text in pair)
    check_instants(body, "created_at", "updated_at")
    assert body["archived_at"] is None or INSTANT.fullmatch(body["archived_at"])
    assert set(body["retention"]) == {"days", "versions", "transcript_days"}
    assert all(type(number) is int and number > 0 for number in body["retention"].values())
    assert body["durability"] == ("one_region" if body["second_region"] is None else "two_regions")
    assert set(body["scan_policy"]) == {"policy", "allow", "secrets"}
    assert body["scan_policy"]["secrets"] in {"refuse", "redact", "flag"}
    assert body["scan_policy"]["policy"] in {"strict", "standard", "audit"}
    assert all(isinstance(rule, str) for rule in body["scan_policy"]["allow"])


def check_proposal(body: Mapping[str, Any]) -> None:
    names = "id memory_store_id status edit_count proposed_at proposed_by expires_at decided_at decided_by complete"
    check_fields(body, f"{names} endorsed_by erased why reason edits")
    assert re.fullmatch(r"prop_[0-9a-z]{26}", body["id"])
    check_instants(body, "proposed_at", "expires_at")
    names = "type number op path to content content_sha256 expected_content_sha256 memory_id why sources trust withheld"
    for number, edit in enumerate(body["edits"] or (), 1):
        assert set(edit) == words(f"{names} conflict result reversal diff content_left_out diff_left_out")
        assert (edit["type"], edit["number"]) == ("proposed_edit", number)
        for result in filter(None, (edit["result"], edit["reversal"])):
            assert set(result) == words("outcome memory_id memory_version_id detail error")


def check_remark(body: Mapping[str, Any]) -> None:
    check_fields(body, "memory_store_id memory_id memory_version_id path number unchanged")
    assert re.fullmatch(r"/logs/\d{4}/\d\d/\d{4}-\d\d-\d\d(\.\d+)?\.md", body["path"])
    assert body["number"] >= 1


def check_citations(body: Mapping[str, Any]) -> None:
    check_fields(body, "accepted duplicates")


def check_usage(body: Mapping[str, Any]) -> None:
    check_fields(body, "memory_id path cited last_cited_on read last_read_on unused counted_since")


def check_dream(body: Mapping[str, Any]) -> None:
    check_fields(
        body,
        "id status inputs outputs output_behavior model instructions session_id created_at ended_at archived_at usage"
        " error x_memolith",
    )
    check_instants(body, "created_at")
    assert body["status"] in words("pending running completed failed canceled")
