"""What an operator is told of a region and of what was set aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.layered import Call, InterceptedDeadLetters
from memolith.adapters.memory import MemoryDeadLetters, MemoryQueue
from memolith.app.operations import operator
from memolith.app.operations.operator import TRIED_IN_VAIN, DeadLetter, letters_of
from memolith.core.errors import Unavailable
from memolith.core.rows.control import ControlRow
from memolith.ports import errors as port_errors
from memolith.ports.dead_letters import DeadLetters
from memolith.ports.index import Change
from tests.unit.app.scene import HOME, Scene


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"key": "a/b", "reason": "no metadata"}', [DeadLetter("a/b", "no metadata")]),
        ('{"message": "text", "reason": "neither"}', [DeadLetter("a message of no known kind", "neither")]),
        (
            json.dumps({"Records": [{"s3": {"object": {"key": "a%2Fb"}}}, {"s3": {"object": {"key": "c"}}}]}),
            [DeadLetter("a%2Fb", TRIED_IN_VAIN), DeadLetter("c", TRIED_IN_VAIN)],
        ),
        ('{"Records": [1]}', [DeadLetter("a message of no known kind", TRIED_IN_VAIN)]),
        ('{"Records": []}', [DeadLetter("an event of no object", TRIED_IN_VAIN)]),
        ('{"rebuild": {"run": "run_1", "batch": 3}}', [DeadLetter("batch 3 of run_1", TRIED_IN_VAIN)]),
        ('{"inspect": "a/b"}', [DeadLetter("a/b", TRIED_IN_VAIN)]),
        ('{"key": "a/b"}', [DeadLetter("a/b", TRIED_IN_VAIN)]),
        ("{}", [DeadLetter("a message of no known kind", TRIED_IN_VAIN)]),
        ("[1]", [DeadLetter("?", "neither an event nor a letter")]),
        ("content", [DeadLetter("?", "not JSON")]),
    ],
)
def test_a_letter_is_told_by_what_it_is_about_and_why(body: str, expected: list[DeadLetter]) -> None:
    assert letters_of(body) == expected


def test_a_reason_is_no_longer_than_a_line() -> None:
    (letter,) = letters_of(json.dumps({"key": "a", "reason": "x" * 10_000}))
    assert len(letter.reason) == operator.REASON_MAX_CHARACTERS


def test_a_regions_status_says_what_serves_and_what_waits(scene: Scene) -> None:
    queue, dead = MemoryQueue(), MemoryQueue()
    queue.send(["one"])
    region = scene.cloud.sites[HOME].region
    found = operator.index_status(region, {"index": MemoryDeadLetters(queue, dead)})
    assert (found.region, found.serving, found.complete, found.building) == (HOME, 1, True, None)
    assert (found.queues["index"].waiting, found.well) == (1, True)
    dead.send(["two"])
    assert not operator.index_status(region, {"index": MemoryDeadLetters(queue, dead)}).well


def test_a_region_that_is_being_rebuilt_says_so(scene: Scene) -> None:
    region = scene.cloud.sites[HOME].region
    building = ControlRow(serving=1, complete=False, building=2, run="run_1").to_attributes()
    region.index.commit([Change(ControlRow.KEY, None, building, unconditional=True)])
    found = operator.index_status(region, {})
    assert (found.complete, found.building, found.well) == (False, 2, False)


def test_a_queue_that_does_not_answer_is_unavailable_and_what_was_moved_stays_moved(scene: Scene) -> None:
    calls = 0

    def second_fails(call: Call, act: Callable[[], Any]) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise port_errors.Unavailable("closed")
        return act()

    queue, dead = MemoryQueue(), MemoryQueue()
    dead.send([f"letter {number}" for number in range(25)])
    moving: DeadLetters = InterceptedDeadLetters(MemoryDeadLetters(queue, dead), HOME, second_fails)
    with pytest.raises(Unavailable, match="closed"):
        list(operator.send_back(moving))
    assert (len(queue.messages), len(dead.messages)) == (10, 15)
    assert list(operator.send_back(moving)) == [10, 15]
