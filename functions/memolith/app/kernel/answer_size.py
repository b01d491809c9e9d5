"""How much of the graph, or of a proposal, one answer takes, so that none is larger than Lambda may send.

Numbers are limited already, but not what stands behind them: five hundred observations of two thousand characters for
each of fifty notes. What comes first in an answer matters most, so it is cut at its end, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from memolith.app.kernel.conflict_results import Conflict
from memolith.app.kernel.graph_results import GraphAnswer, GraphEdge, GraphNode, GraphObservation
from memolith.core.limits import GRAPH_MAX_BYTES

EACH_BYTES = 60
"""What ids, times and names of fields of one thing take. They are ASCII: a seventh of what the rest may become."""

RECORDS_MAX_BYTES = 1_500_000
"""What the records of one page of a listing may take as JSON. A character beyond ASCII takes three times as much where
it is sent.
"""

PROPOSAL_SENT_MAX_BYTES = 4_500_000
"""What the texts and diffs of one proposal may take in Lambda's answer, which ends at 6,291,556; paths and reasons, as
long as they may be, take what is left."""

T = TypeVar("T")


class Room:
    """The bytes that are left of an answer."""

    def __init__(self, left: int = GRAPH_MAX_BYTES) -> None:
        self.left = left

    def take(self, some: Sequence[T], size: Callable[[T], int]) -> tuple[T, ...]:
        """Return the first of them, as many as there is room for, and take their room."""
        for number, one in enumerate(some):
            needed = size(one)
            if needed > self.left:
                return tuple(some[:number])
            self.left -= needed
        return tuple(some)

    def fits(self, size: int) -> bool:
        """Take the room of one thing, if there is as much."""
        if size > self.left:
            return False
        self.left -= size
        return True


def bounded(answer: GraphAnswer, room: Room) -> GraphAnswer:
    """Return the part of an answer that there is room for: its first node always, of its tags only what fits; then what
    this states, the others, and the relations among them. Contents are not counted.
    """
    if not answer.nodes:
        return answer
    root = answer.nodes[0]
    first = room.take([root], _node) or (replace(root, tags=()),)
    observations = room.take(answer.observations, _observation)
    nodes = (*first, *room.take(answer.nodes[1:], _node))
    known = {one.memory_id for one in nodes}
    linked = [
        one for one in answer.edges if one.source_id in known and (one.target_id is None or one.target_id in known)
    ]
    edges = room.take(linked, _edge)
    kept = (nodes, edges, observations)
    whole = kept == (answer.nodes, answer.edges, answer.observations)
    return replace(answer, nodes=nodes, edges=edges, observations=observations, truncated=answer.truncated or not whole)


def stated(answer: GraphAnswer, room: Room) -> GraphAnswer:
    """Return a list of observations, as much of it as there is room for, and the nodes of these."""
    nodes = {one.memory_id: one for one in answer.nodes}
    shown = room.take(answer.observations, lambda one: _observation(one) + _node(nodes[one.memory_id]))
    kept = {one.memory_id for one in shown}
    return replace(
        answer,
        nodes=tuple(one for one in answer.nodes if one.memory_id in kept),
        observations=shown,
        truncated=answer.truncated or len(shown) < len(answer.observations),
    )


def conflict(one: Conflict) -> int:
    """Return the size of both sides."""
    return sum(
        _node(side.memory)
        + (_observation(side.observation) if side.observation is not None else 0)
        + _bytes(*(side.relation or ()))
        for side in one.sides
    )


def _node(one: GraphNode) -> int:
    return _bytes(one.path, one.title, one.type, one.permalink, *one.tags)


def _edge(one: GraphEdge) -> int:
    return _bytes(one.type, one.target, one.context, *one.candidates)


def _observation(one: GraphObservation) -> int:
    return _bytes(one.category, one.text, one.context, *one.tags)


def _bytes(*texts: str | None) -> int:
    return EACH_BYTES + sum(len(text.encode()) + 1 for text in texts if text)
