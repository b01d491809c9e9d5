"""What the use case of conflicts returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memolith.app.kernel.graph_results import GraphNode, GraphObservation, decode_node, decode_observation


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a conflict: a statement of a note, or the note as a whole, at a version that somebody wrote.

    `memory.updated_at` is when it was written; when it holds, the statement says, and its note. `relation` is a type
    and a target.
    """

    memory: GraphNode
    version_id: str
    written_by: str | None
    observation: GraphObservation | None = None
    line: int | None = None
    relation: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements that contradict each other: by their ``values``, or because a note has ``declared`` it.

    `superseded_by` is the memory of the one whose note says that it supersedes the other's.
    """

    kind: str
    sides: tuple[Side, Side]
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Conflicts, those of the notes changed last first. `truncated`: there are more, or more were not looked at."""

    items: tuple[Conflict, ...]
    truncated: bool


def decode_conflicts(fields: Mapping[str, Any]) -> Conflicts:
    """Parse what ``asdict`` made of conflicts, and JSON of that. Raises KeyError, TypeError."""
    return Conflicts(tuple(map(_decode_conflict, fields["items"])), fields["truncated"])


def _decode_conflict(fields: Mapping[str, Any]) -> Conflict:
    first, second = map(_decode_side, fields["sides"])
    return Conflict(fields["kind"], (first, second), fields["superseded_by"])


def _decode_side(fields: Mapping[str, Any]) -> Side:
    stated, relation = fields["observation"], fields["relation"]
    return Side(
        **{
            **fields,
            "memory": decode_node(fields["memory"]),
            "observation": None if stated is None else decode_observation(stated),
            "relation": None if relation is None else tuple(relation),
        }
    )
