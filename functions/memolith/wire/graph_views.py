"""The graph as the API's JSON objects. A context has the shape of Basic Memory's. Source: docs/graph.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memolith.app.kernel.conflict_results import Conflict, Conflicts, Resolution, Side
from memolith.app.kernel.graph_results import Dispute, GraphAnswer, GraphContext, GraphEdge, GraphNode, GraphObservation
from memolith.core.ages import age
from memolith.core.graph.valid_time import Interval
from memolith.core.times import rfc3339
from memolith.core.trust import name_of
from memolith.wire.json_views import Json, actor


def graph(answer: GraphAnswer, now_us: int) -> Json:
    """Render what is linked with a note."""
    return {
        "type": "memory_graph",
        "nodes": [_node(one, now_us) for one in answer.nodes],
        "edges": [_edge(one) for one in answer.edges],
        "candidates": list(answer.candidates),
        "truncated": answer.truncated,
    }


def observations(answer: GraphAnswer, now_us: int) -> Json:
    """Render what notes state, each with its note."""
    nodes = {one.memory_id: _node(one, now_us) for one in answer.nodes}
    rows = [_observation(one) | {"memory": nodes[one.memory_id]} for one in answer.observations]
    return {"type": "memory_observations", "observations": rows, "truncated": answer.truncated}


def conflicts(answer: Conflicts, now_us: int) -> Json:
    """Render statements that contradict each other, each with both sides."""
    rows = [
        {
            "id": one.id,
            "kind": one.kind,
            "status": _status(one),
            "superseded_by": one.superseded_by,
            "resolution": None if one.resolution is None else resolution(one.resolution),
            "sides": [_side(side, now_us) for side in one.sides],
        }
        for one in answer.items
    ]
    return {"type": "memory_conflicts", "conflicts": rows, "truncated": answer.truncated}


def _status(one: Conflict) -> str:
    if one.resolution is not None:
        return "resolved"
    return "open" if one.superseded_by is None else "superseded"


def resolution(one: Resolution) -> Json:
    """Render a person's decision about a conflict; `keep` is the statement that was chosen, or that both stand."""
    return {
        "type": "memory_conflict_resolution",
        "conflict_id": one.conflict_id,
        "keep": one.kept or "both",
        "statements": [
            {"statement_id": id, "memory_id": memory_id}
            for id, memory_id in zip(one.statement_ids, one.memory_ids, strict=True)
        ],
        "resolved_at": rfc3339(one.decided_at),
        "resolved_by": actor(one.decided_by),
    }


def disputes(some: Sequence[Dispute]) -> list[Json]:
    """Render the open conflicts of a memory, each with the line of its statement."""
    return [{"conflict_id": one.conflict_id, "line": one.line} for one in some]


def _side(side: Side, now_us: int) -> Json:
    type, target = side.relation or (None, None)
    return {
        "memory": _node(side.memory, now_us),
        "memory_version_id": side.version_id,
        "statement_id": side.statement_id,
        "written_at": rfc3339(side.memory.updated_at),
        "written_by": actor(side.written_by),
        "line": side.line,
        "observation": None if side.observation is None else _observation(side.observation),
        "relation": None if type is None else {"type": type, "target_text": target},
    }


def recalled(answer: GraphAnswer, now_us: int) -> Json:
    """Render the memories that matter now, each with why."""
    rows = [_node(one, now_us) | {"content": one.content, "why": list(one.why)} for one in answer.nodes]
    return {"type": "memory_recall", "memories": rows}


def context(answer: GraphContext, now_us: int, asked: Mapping[str, Any]) -> Json:
    """Render a context: each note with what it states, what it is linked with, and the relations themselves."""
    results = [_result(one, now_us) for one in answer.items]
    related = sum(len(one["related_results"]) for one in results)
    return {
        "type": "memory_context",
        "results": results,
        "metadata": {
            **asked,
            "generated_at": rfc3339(now_us),
            "primary_count": len(results),
            "related_count": related,
            "total_results": len(results) + related,
            "total_observations": sum(len(one["observations"]) for one in results),
        },
        "candidates": list(answer.candidates),
        "has_more": answer.more,
    }


def _result(answer: GraphAnswer, now_us: int) -> Json:
    root, titles = answer.nodes[0], {one.memory_id: one.title for one in answer.nodes}
    entities = [_entity(one, now_us) for one in answer.nodes[1:]]
    relations = [_relation(one, titles) for one in answer.edges]
    return {
        "primary_result": _entity(root, now_us) | {"content": root.content},
        "observations": [{"type": "observation", **_observation(one)} for one in answer.observations],
        "related_results": [*entities, *relations],
        "truncated": answer.truncated,
    }


def _entity(node: GraphNode, now_us: int) -> Json:
    shown = _node(node, now_us)
    return {**shown, "type": "entity", "note_type": node.type, "file_path": node.path.lstrip("/")}


def _relation(edge: GraphEdge, titles: Mapping[str, str]) -> Json:
    return {
        "type": "relation",
        "relation_type": edge.type,
        "from_entity": titles.get(edge.source_id),
        "from_id": edge.source_id,
        "to_entity": titles.get(edge.target_id or ""),
        "to_id": edge.target_id,
        "to_name": edge.target,
        "context": edge.context,
        "line": edge.line,
        "candidates": list(edge.candidates),
    }


def _node(node: GraphNode, now_us: int) -> Json:
    return {
        "memory_id": node.memory_id,
        "path": node.path,
        "title": node.title,
        "type": node.type,
        "permalink": node.permalink,
        "tags": list(node.tags),
        "created_at": rfc3339(node.created_at),
        "updated_at": rfc3339(node.updated_at),
        "age": age(node.updated_at, now_us),
        "distance": node.distance,
        "flags": list(node.flags),
        "trust": name_of(node.trust),
        "valid": _interval(node.valid),
        "disputed": disputes(node.disputed),
    }


def _edge(edge: GraphEdge) -> Json:
    return {
        "from": edge.source_id,
        "to": edge.target_id,
        "type": edge.type,
        "target_text": edge.target,
        "context": edge.context,
        "line": edge.line,
        "candidates": list(edge.candidates),
    }


def _observation(one: GraphObservation) -> Json:
    return {
        "memory_id": one.memory_id,
        "line": one.line,
        "category": one.category,
        "content": one.text,
        "tags": list(one.tags),
        "context": one.context,
        "valid": _interval(one.valid),
        "disputed": list(one.disputed),
    }


def _interval(valid: Interval | None) -> Json | None:
    if valid is None:
        return None
    since, until = valid
    return {"from": None if since is None else rfc3339(since), "until": None if until is None else rfc3339(until)}
