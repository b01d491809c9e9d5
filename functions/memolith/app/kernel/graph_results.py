"""What the use cases of the graph return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memolith.core.graph.valid_time import Interval


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A note. `distance` is from the nearest root; `content` is None unless it was asked for; `why` says, of a memory
    that was recalled, what speaks for it; `trust` is the letter of its class; `valid` is when its frontmatter says that
    it holds.
    """

    memory_id: str
    path: str
    title: str
    type: str
    permalink: str | None
    tags: tuple[str, ...]
    created_at: int
    updated_at: int
    distance: int = 0
    flags: tuple[str, ...] = ()
    content: str | None = None
    why: tuple[str, ...] = ()
    trust: str | None = None
    valid: Interval | None = None


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A relation of a note. `target_id` is None where no note is meant yet, or several: then they are `candidates`."""

    source_id: str
    line: int
    type: str
    target: str
    context: str | None
    target_id: str | None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphObservation:
    """A statement of a note, and when it says that it holds."""

    memory_id: str
    line: int
    category: str | None
    text: str
    tags: tuple[str, ...]
    context: str | None
    valid: Interval | None


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """A part of a store's graph.

    Attributes:
        nodes: nearest first; the roots have the distance 0.
        candidates: paths of the notes that the name of a root may mean, if these are several.
        truncated: there is more than was asked for.
        more: there is a next page of roots.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...] = ()
    observations: tuple[GraphObservation, ...] = ()
    candidates: tuple[str, ...] = ()
    truncated: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class GraphContext:
    """For each root, a page of them, the part of the graph around it. `candidates` and `more` as in `GraphAnswer`."""

    items: tuple[GraphAnswer, ...]
    candidates: tuple[str, ...] = ()
    more: bool = False


def decode_answer(fields: Mapping[str, Any]) -> GraphAnswer:
    """Parse what ``asdict`` made of an answer, and JSON of that. Raises KeyError, TypeError."""
    return GraphAnswer(
        tuple(map(decode_node, fields["nodes"])),
        tuple(GraphEdge(**_tuples(one)) for one in fields["edges"]),
        tuple(map(decode_observation, fields["observations"])),
        tuple(fields["candidates"]),
        fields["truncated"],
        fields["more"],
    )


def decode_context(fields: Mapping[str, Any]) -> GraphContext:
    """Parse what ``asdict`` made of a context, and JSON of that. Raises KeyError, TypeError."""
    return GraphContext(tuple(map(decode_answer, fields["items"])), tuple(fields["candidates"]), fields["more"])


def decode_node(fields: Mapping[str, Any]) -> GraphNode:
    """Parse what ``asdict`` made of a note. Raises TypeError."""
    return GraphNode(**_tuples(fields))


def decode_observation(fields: Mapping[str, Any]) -> GraphObservation:
    """Parse what ``asdict`` made of an observation. Raises TypeError."""
    return GraphObservation(**_tuples(fields))


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
