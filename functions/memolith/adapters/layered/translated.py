"""Port failures as callers see them: the one place that puts region, object, cause and hint into each error.

    the adapter raises   Unavailable("SlowDown")
    the caller sees      the bucket did not answer (region=…, object=…, cause=SlowDown); try again

A use case handles `ObjectNotFound`, `ObjectExists` and `Contended` itself. The other two are callers' errors already
and pass through it, unless the use case knows better what the failure means for what it has done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from memolith.adapters.layered.intercepted import (
    Call,
    InterceptedDeadLetters,
    InterceptedErasableObjects,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedPeers,
    InterceptedQueue,
    InterceptedTables,
)
from memolith.app.kernel.region import Region
from memolith.core.errors import MemolithError
from memolith.ports import errors as port_errors
from memolith.ports.dead_letters import DeadLetters
from memolith.ports.index import Tables
from memolith.ports.objects import ErasableObjects
from memolith.ports.queue import Queue

T = TypeVar("T")

RETRY = "try again"
READ_FIRST = "read before trying again"
REPAIR = "run 'memolith repair'"

SUBJECTS_NAMED = 3
"""How many of the keys or tables of one call an error names."""

_FAR_SIDES = {
    "objects": "the bucket",
    "erasable": "the bucket",
    "index": "the index",
    "tables": "the index",
    "queue": "the queue",
    "dead_letters": "the dead-letter queue",
    "peers": "the function",
}


def translate(call: Call, act: Callable[[], T]) -> T:
    """Do the call; add to its error which far side failed, in which region, and what to do next."""
    try:
        return act()
    except port_errors.Damaged as error:
        message = f"{_far_side(call)} has an object that is not what was put"
        raise port_errors.Damaged(message, **_facts(call, error), hint=error.hint or REPAIR) from error
    except port_errors.Unavailable as error:
        message, hint = f"{_far_side(call)} did not answer", error.hint or RETRY
        raise port_errors.Unavailable(message, **_facts(call, error), hint=hint) from error
    except port_errors.OutcomeUnknown as error:
        message = f"{_far_side(call)} did not say whether it is done"
        raise port_errors.OutcomeUnknown(message, **_facts(call, error), hint=READ_FIRST) from error


def _far_side(call: Call) -> str:
    return _FAR_SIDES[call.name.partition(".")[0]]


def _facts(call: Call, error: MemolithError) -> dict[str, str]:
    is_message = call.name.startswith("queue.")
    named = [] if is_message else list(dict.fromkeys(call.subjects))[:SUBJECTS_NAMED]
    return {"region": call.target, "object": ",".join(named), "cause": error.cause or error.message}


def translated(region: Region) -> Region:
    """Return the region with its buckets, index and peers behind `translate`."""
    return replace(
        region,
        objects=InterceptedObjects(region.objects, region.name, translate),
        index=InterceptedIndex(region.index, region.name, translate),
        peers=InterceptedPeers(region.peers, region.name, translate),
    )


def translated_erasable(erasable: ErasableObjects, region: str) -> ErasableObjects:
    """Return the eraser's own way into a bucket behind `translate`."""
    return InterceptedErasableObjects(erasable, region, translate)


def translated_tables(tables: Tables, region: str) -> Tables:
    """Return the maker of tables behind `translate`."""
    return InterceptedTables(tables, region, translate)


def translated_queue(queue: Queue, region: str) -> Queue:
    """Return a queue behind `translate`."""
    return InterceptedQueue(queue, region, translate)


def translated_dead_letters(dead_letters: DeadLetters, region: str) -> DeadLetters:
    """Return a dead-letter queue behind `translate`."""
    return InterceptedDeadLetters(dead_letters, region, translate)
