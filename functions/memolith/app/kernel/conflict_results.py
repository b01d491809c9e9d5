"""What the use case of conflicts returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memolith.app.kernel.graph_results import GraphNode, GraphObservation, decode_node, decode_observation
from memolith.core.objects.resolution_record import ResolutionRecord


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a conflict: a statement of a note, or the note as a whole, at a version that somebody wrote.

    `memory.updated_at` is when it was written; when it holds, the statement says, and its note. `relation` is a type
    and a target. `statement_id` is by which a person chooses this side.
    """

    memory: GraphNode
    version_id: str
    written_by: str | None
    observation: GraphObservation | None = None
    line: int | None = None
    relation: tuple[str, str] | None = None
    statement_id: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a person decided about a conflict: for the statement that is `kept`, or that both stand, where it is None.

    `memory_ids` are of the statements, in their order.
    """

    conflict_id: str
    statement_ids: tuple[str, str]
    memory_ids: tuple[str, str]
    kept: str | None
    decided_at: int
    decided_by: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements that contradict each other: by their ``values``, or because a note has ``declared`` it.

    `superseded_by` is the memory of the one whose note says that it supersedes the other's.
    """

    kind: str
    sides: tuple[Side, Side]
    superseded_by: str | None = None
    id: str = ""
    resolution: Resolution | None = None


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
    decided = fields.get("resolution")
    resolution = None if decided is None else decode_resolution(decided)
    return Conflict(fields["kind"], (first, second), fields["superseded_by"], fields.get("id", ""), resolution)


def decode_resolution(fields: Mapping[str, Any]) -> Resolution:
    """Parse what ``asdict`` made of a resolution, and JSON of that. Raises TypeError."""
    (first, second), (one, other) = fields["statement_ids"], fields["memory_ids"]
    return Resolution(**{**fields, "statement_ids": (first, second), "memory_ids": (one, other)})


def to_resolution(record: ResolutionRecord) -> Resolution:
    """Return a decision as an answer shows it."""
    return Resolution(record.conflict_id, record.statement_ids, record.memory_ids, record.kept, record.at, record.by)


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
