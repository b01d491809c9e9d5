"""What memories, their versions and what is said of either look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memolith.core.trust import NAMES
from tests.api.shapes.fields import SHA256, check_actor, check_fields, check_instants


def check_memory(body: Mapping[str, Any]) -> None:
    """One that was asked for as of an instant also says whether it is blank."""
    if "blank" in body:
        check_past_memory(body)
        return
    check_fields(
        body,
        "id memory_store_id memory_version_id path content content_sha256 content_size_bytes created_at updated_at"
        " flags withheld trust" + "".join(f" {name}" for name in ("damaged", "redacted") if name in body),
    )
    if "damaged" in body:
        assert (body["damaged"], body["content"]) == (True, None)
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
    assert SHA256.fullmatch(body["content_sha256"])
    assert type(body["content_size_bytes"]) is int
    check_instants(body, "created_at", "updated_at")
    check_judged(body)


def check_judged(body: Mapping[str, Any]) -> None:
    assert all(isinstance(flag, str) for flag in body["flags"])
    if body["withheld"] is not None:
        assert set(body["withheld"]) == {"reason", "rules", "since"}
        assert isinstance(body["withheld"]["reason"], str)
        assert all(isinstance(rule, str) for rule in body["withheld"]["rules"])
        check_instants(body["withheld"], "since")


def check_past_memory(body: Mapping[str, Any]) -> None:
    gone = ("path", "content_sha256", "content_size_bytes")
    assert type(body["blank"]) is bool
    assert all((body[name] is None) == body["blank"] for name in gone)
    assert body["content"] is None or not body["blank"]
    filled = {"path": "/blank", "content_sha256": "0" * 64, "content_size_bytes": 0} if body["blank"] else {}
    check_memory({name: value for name, value in {**body, **filled}.items() if name != "blank"})


def check_hit(body: Mapping[str, Any]) -> None:
    check_fields(body, "score excerpt memory disputed")
    assert isinstance(body["score"], int | float)
    assert isinstance(body["excerpt"], str)
    assert body["memory"]["content"] is None
    assert body["memory"]["withheld"] is None
    check_memory(body["memory"])


def check_prefix(body: Mapping[str, Any]) -> None:
    check_fields(body, "path")
    assert body["path"].startswith("/")
    assert body["path"].endswith("/")


def check_version(body: Mapping[str, Any]) -> None:
    check_fields(
        body,
        "id memory_id memory_store_id operation path content content_sha256 content_size_bytes created_at created_by"
        " redacted_at redacted_by flags withheld imported trust",
    )
    assert type(body["imported"]) is bool
    assert body["trust"] in NAMES
    assert body["id"].startswith("memver_")
    assert body["operation"] in {"created", "modified", "deleted"}
    check_instants(body, "created_at")
    check_actor(body["created_by"])
    check_actor(body["redacted_by"])
    redacted = body["redacted_at"] is not None
    assert redacted == (body["redacted_by"] is not None)
    assert redacted == (body["path"] is None) or (body["imported"] and not redacted)
    gone = redacted or body["operation"] == "deleted"
    assert gone == (body["content_sha256"] is None)
    assert gone == (body["content_size_bytes"] is None)
    assert body["content"] is None or not gone
    check_judged(body)


def check_imported(body: Mapping[str, Any]) -> None:
    check_fields(body, "memory_version_id memory_id status reason path_taken withheld_rules redacted")
    assert body["status"] in {"imported", "known", "waiting", "refused"}
    assert (body["reason"] is not None) == (body["status"] == "refused")
    assert body["status"] == "refused" or not body["path_taken"]
    assert all(isinstance(rule, str) for rule in body["withheld_rules"])


def check_quarantined(body: Mapping[str, Any]) -> None:
    check_fields(
        body,
        "memory_store_id memory_version_id memory_version_ids status withheld verdicts places all_places",
    )
    assert body["memory_version_id"] == body["memory_version_ids"][0]
    assert (body["status"] == "released") == (body["withheld"] is None)
    check_judged({"flags": [], "withheld": body["withheld"]})
    for verdict in body["verdicts"] or ():
        check_fields(verdict, "memory_version_id outcome reason findings decided_at decided_by")
        assert all("excerpt" not in finding for finding in verdict["findings"])
        check_instants(verdict, "decided_at")
    for place in body["places"] or ():
        check_fields(place, "memory_id memory_version_id operation path created_at head")
        check_instants(place, "created_at")
    assert (body["places"] is None) == (body["all_places"] is None)
