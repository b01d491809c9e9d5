"""What an operator asks of a region: how its index is, what was set aside, and to try that again.

What is shown of a dead letter names objects and reasons. A key holds no path, and no content is ever shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from memolith.app.kernel.peer_messages import decode_error
from memolith.app.kernel.region import Region
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.log_position import Epoch
from memolith.ports.dead_letters import DeadLetters, Depths

REASON_MAX_CHARACTERS = 200
TRIED_IN_VAIN = "failed every time; the function's log says why"


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How a region's index is.

    Attributes:
        region: whose.
        serving: the generation of tables that answers.
        complete: whether it holds everything that the bucket does; otherwise it says 503 to what it does not know.
        building: the generation that a rebuild is making, if one is under way.
        watermarks: by home, up to when this region holds everything that was acknowledged there, in microseconds since
            1970; a home that is not in it is one of which nothing is known.
        lag_ms: by home, how long ago that is.
        queues: by queue, how much stands where.
    """

    region: str
    serving: int
    complete: bool
    building: int | None
    watermarks: Mapping[str, int]
    lag_ms: Mapping[str, int]
    queues: Mapping[str, Depths]

    @property
    def well(self) -> bool:
        """Whether there is nothing here for an operator to do."""
        return self.complete and not any(depths.set_aside for depths in self.queues.values())


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One dead letter as an operator sees it: what it is about, and why it was set aside."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class Home:
    """Where one store has its home.

    Attributes:
        store_id, name: which store.
        home, state: the region that takes its writes, and whether it does now.
        epochs: every term so far, the present one last.
        moving_to: where a planned move goes, if one is under way.
        apart: the objects that hold changes of the store which a lost home had acknowledged, and which came after the
            new home had changed the same settings: they are not in force.
        second_region: where every write that was acknowledged stands too; None if the store does not ask for that.
        second_stands_in: since the region that the store names became its home, the next one is its second: it holds
            every write that was acknowledged since, and what else has been replicated (`is_held`).
        erase_after: of a deleted store that can still be restored, when it is erased (microseconds since 1970).
    """

    store_id: str
    name: str
    home: str
    state: str
    epochs: tuple[str, ...]
    moving_to: str | None
    apart: tuple[str, ...] = ()
    second_region: str | None = None
    second_stands_in: bool = False
    erase_after: int | None = None


HOME_FIELDS = frozenset(field.name for field in fields(Home))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a move or a fail-over: how far it is, what it copied, how long the store took no writes."""

    store_id: str
    state: str
    copied: int
    paused_ms: int | None


STEPS_MAX = 10_000
"""Calls after which a move that is still copying ahead is given up."""

TRIES = 3
TRY_AGAIN_AFTER_S = 2.0
"""How often a step is asked for, and how long after it was not answered, or refused for the moment."""


def homes(region: Region) -> Iterator[Home]:
    """Yield every store that a region knows, from its reconciler. One invocation for a hundred stores.

    Raises:
        Unavailable: it does not answer, or not to the end: what only reads has done nothing.
    """
    after: str | None = None
    while True:
        try:
            answer = _reconciler(region, {"call": "homes.list", "after": after})
        except OutcomeUnknown as error:
            facts = {"region": region.name, "object": "reconciler", "cause": error.cause or error.message}
            raise Unavailable("the function did not say which stores it knows", **facts, hint="try again") from error
        for one in answer["stores"]:
            known = {name: value for name, value in one.items() if name in HOME_FIELDS}
            yield Home(**{**known, "epochs": tuple(one["epochs"]), "apart": tuple(one["apart"])})
        after = answer["next"]
        if after is None:
            return


def newest(listed: Iterable[Home]) -> list[Home]:
    """Return each store once, as the region lists it that knows of its latest epoch; of equals, as the first does."""
    known = dict[str, Home]()
    for one in listed:
        known[one.store_id] = max(known.get(one.store_id, one), one, key=lambda home: Epoch.parse(home.epochs[-1]).rank)
    return list(known.values())


def move(region: Region, store_id: str) -> Iterator[Step]:
    """Move a store's home to `region`; yield a step for each call of its reconciler, the last ``moved`` or ``at home``.

    Raises:
        whatever the reconciler answers; Unavailable, OutcomeUnknown: begin again, and it goes on.
    """
    yield from _steps(region, {"call": "homes.move", "store_id": store_id})


def _steps(region: Region, payload: Mapping[str, Any]) -> Iterator[Step]:
    for _ in range(STEPS_MAX):
        step = _step(region, payload)
        yield step
        if step.state != "copying":
            return


def _step(region: Region, payload: Mapping[str, Any]) -> Step:
    """Take a step, again where it may not have been done, or not to its end: a repetition goes on with it."""
    for _ in range(TRIES - 1):
        try:
            return Step(**_reconciler(region, payload))
        except (Unavailable, OutcomeUnknown):
            region.clock.pause(TRY_AGAIN_AFTER_S)
    return Step(**_reconciler(region, payload))


def fail_over(region: Region, store_id: str, old: str) -> Iterator[Step]:
    """Make `region` the home of a store whose home was `old`, without asking `old`. Yields and raises as `move`."""
    yield from _steps(region, {"call": "homes.fail_over", "store_id": store_id, "old": old})


def is_held(region: Region, store_id: str) -> bool:
    """Tell whether a failover to `region` begins with all that the store has acknowledged in two regions.

    Raises:
        whatever the reconciler answers; Unavailable, OutcomeUnknown: it does not answer.
    """
    return bool(_reconciler(region, {"call": "homes.is_held", "store_id": store_id})["held"])


def _reconciler(region: Region, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    answer = region.peers.call(region.name, "reconciler", payload)
    if "error" in answer:
        raise decode_error(answer["error"])
    return answer


def index_status(region: Region, queues: Mapping[str, DeadLetters]) -> IndexStatus:
    """Ask the region's tables and queues. One read, and two requests a queue.

    Raises:
        Unavailable: the tables or the queues do not answer.
    """
    view = region.view()
    now_us = region.clock.now_us()
    return IndexStatus(
        region=region.name,
        serving=view.index.generation,
        complete=view.complete,
        building=view.building,
        watermarks=dict(view.watermarks),
        lag_ms={home: max(now_us - until, 0) // 1000 for home, until in view.watermarks.items()},
        queues={name: depths(queue) for name, queue in queues.items()},
    )


def depths(queue: DeadLetters) -> Depths:
    """How much stands in a queue and beside it. Raises Unavailable."""
    return queue.depths()


def look(queue: DeadLetters, limit: int) -> list[DeadLetter]:
    """Show up to `limit` dead letters, a line for each object that they are about. They stay where they are.

    Raises:
        Unavailable: the queue does not answer.
    """
    bodies = queue.look(limit)
    return [letter for body in bodies for letter in letters_of(body)]


def send_back(queue: DeadLetters) -> Iterator[int]:
    """Redrive the dead letters; yield how many are on their way so far. Repeatable at any point.

    Raises:
        Unavailable: the queue does not answer; what was not moved is where it was.
    """
    yield from queue.send_back()


def letters_of(body: str) -> list[DeadLetter]:
    """Return what one dead letter is about, whether from S3, a rebuild, or the function that dead-lettered it."""
    try:
        payload = json.loads(body)
    except ValueError:
        return [DeadLetter("?", "not JSON")]
    if not isinstance(payload, dict):
        return [DeadLetter("?", "neither an event nor a letter")]
    if "reason" in payload:
        return [DeadLetter(_subject(payload), str(payload["reason"])[:REASON_MAX_CHARACTERS])]
    return [DeadLetter(subject, TRIED_IN_VAIN) for subject in _subjects(payload)]


def _subject(letter: Mapping[str, Any]) -> str:
    return str(letter["key"]) if isinstance(letter.get("key"), str) else "a message of no known kind"


def _subjects(message: Mapping[str, Any]) -> list[str]:
    if isinstance(message.get("rebuild"), dict):
        batch = message["rebuild"]
        return [f"batch {batch.get('batch')} of {batch.get('run')}"]
    if isinstance(message.get("fold_again"), dict):
        return [_subject(message["fold_again"])]
    if isinstance(message.get("inspect"), str):
        return [str(message["inspect"])]
    if isinstance(message.get("Records"), list):
        return [_event_key(record) for record in message["Records"]] or ["an event of no object"]
    return [_subject(message)]


def _event_key(record: Any) -> str:
    """Return the key as the event has it, encoded: it is shown, not used."""
    try:
        return str(record["s3"]["object"]["key"])
    except (KeyError, TypeError, IndexError):
        return "a message of no known kind"
