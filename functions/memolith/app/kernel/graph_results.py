"""What the use cases of the graph return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from memolith.core.graph.valid_time import Interval


class Dispute(NamedTuple):
    """An open conflict of a memory, and the line of its statement; None where the memory as a whole is in dispute."""

    conflict_id: str
    line: int | None


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
    disputed: tuple[Dispute, ...] = ()


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
    """A statement of a note, when it says that it holds, and the ids of open conflicts that it is a side of."""

    memory_id: str
    line: int
    category: str | None
    text: str
    tags: tuple[str, ...]
    context: str | None
    valid: Interval | None
    disputed: tuple[str, ...] = ()


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
    disputed = tuple(Dispute(*one) for one in fields.get("disputed", ()))
    return GraphNode(**_tuples({**fields, "disputed": disputed}))


def decode_observation(fields: Mapping[str, Any]) -> GraphObservation:
    """Parse what ``asdict`` made of an observation. Raises TypeError."""
    return GraphObservation(**_tuples(fields))


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def with_disputes(answer: GraphAnswer, disputes: Mapping[str, tuple[Dispute, ...]]) -> GraphAnswer:
    """Return the same with what is in dispute: its memories, and their statements."""
    if not disputes:
        return answer
    nodes = (replace(one, disputed=disputes.get(one.memory_id, ())) for one in answer.nodes)
    observations = (
        replace(one, disputed=tuple(of.conflict_id for of in disputes.get(one.memory_id, ()) if of.line == one.line))
        for one in answer.observations
    )
    return replace(answer, nodes=tuple(nodes), observations=tuple(observations))
