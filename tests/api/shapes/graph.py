"""What is told of a store's memories together looks like: graph, conflicts, activity, recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.api.shapes.fields import check_fields, check_instants, words


def check_graph(body: Mapping[str, Any]) -> None:
    check_fields(body, "nodes edges candidates truncated")
    for node in body["nodes"]:
        check_node(node)
    for edge in body["edges"]:
        assert set(edge) == words("from to type target_text context line candidates")


def check_graph_context(body: Mapping[str, Any]) -> None:
    check_fields(body, "results metadata candidates has_more page page_size")
    for result in body["results"]:
        assert set(result) == words("primary_result observations related_results truncated")
        assert result["primary_result"]["type"] == "entity"
        assert {one["type"] for one in result["observations"]} <= {"observation"}
        assert {one["type"] for one in result["related_results"]} <= {"entity", "relation"}


def check_observations(body: Mapping[str, Any]) -> None:
    check_fields(body, "observations truncated")
    for one in body["observations"]:
        assert set(one) == words("memory_id line category content tags context valid disputed memory")
        check_node(one["memory"])


def check_conflicts(body: Mapping[str, Any]) -> None:
    check_fields(body, "conflicts truncated")
    for one in body["conflicts"]:
        assert set(one) == words("id kind status superseded_by resolution sides")
        assert (one["status"] == "resolved") == (one["resolution"] is not None)
        assert one["status"] != "superseded" or one["superseded_by"] is not None
        if one["resolution"] is not None:
            check_resolution(one["resolution"])
            assert one["resolution"]["conflict_id"] == one["id"]
        assert len(one["sides"]) == 2
        for side in one["sides"]:
            names = "memory memory_version_id statement_id written_at written_by line observation relation"
            assert set(side) == words(names)
            check_node(side["memory"])
            check_instants(side, "written_at")


def check_resolution(body: Mapping[str, Any]) -> None:
    check_fields(body, "conflict_id keep statements resolved_at resolved_by")
    check_instants(body, "resolved_at")
    assert len(body["statements"]) == 2
    for one in body["statements"]:
        assert set(one) == words("statement_id memory_id")
    assert body["keep"] in ("both", *(one["statement_id"] for one in body["statements"]))


def check_activity(body: Mapping[str, Any]) -> None:
    check_fields(body, "memories since page page_size has_more truncated")
    check_instants(body, "since")
    names = "memory_id path operation memory_version_id changed_at age trust changes first_changed_at changed_by"
    for one in body["memories"]:
        assert set(one) == words(names)
        assert one["changes"] >= 1 and one["memory_version_id"].startswith("memver_")
        check_instants(one, "changed_at", "first_changed_at")


def check_recall(body: Mapping[str, Any]) -> None:
    check_fields(body, "memories")
    for one in body["memories"]:
        assert all(isinstance(reason, str) for reason in one["why"])
        check_node({name: value for name, value in one.items() if name not in ("content", "why")})


def check_node(node: Mapping[str, Any]) -> None:
    names = "memory_id path title type permalink tags created_at updated_at age distance flags trust valid disputed"
    assert set(node) == set(names.split())
    assert node["memory_id"].startswith("mem_")
    check_instants(node, "created_at", "updated_at")
