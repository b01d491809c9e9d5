"""What every adapter of `ports.dead_letters.DeadLetters` promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from memolith.adapters.aws import dead_letters
from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.dead_letters import SqsDeadLetters
from memolith.adapters.layered import CallCounts, InterceptedDeadLetters
from memolith.adapters.memory import ManualClock, MemoryDeadLetters, MemoryQueue, SeededRandomness
from memolith.ports.dead_letters import DeadLetters, Depths
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto


@dataclass(frozen=True, slots=True)
class DeadLettersWorld:
    """Dead letters, a way to set messages aside, and what waits in the queue itself."""

    dead_letters: DeadLetters
    set_aside: Callable[[list[str]], None]
    waiting: Callable[[], list[str]]


def aws_dead_letters(clients: Clients) -> DeadLettersWorld:
    """Two queues on what the clients talk to, both empty."""
    sqs = clients.sqs(HOME)
    queue = sqs.create_queue(QueueName=DEPLOYMENT.queue("index"))["QueueUrl"]
    dead = sqs.create_queue(QueueName=DEPLOYMENT.dead_letter_queue("index"))["QueueUrl"]

    def set_aside(messages: list[str]) -> None:
        for message in messages:
            sqs.send_message(QueueUrl=dead, MessageBody=message)

    def waiting() -> list[str]:
        found: list[str] = []
        while batch := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
            found += [message["Body"] for message in batch]
        return found

    adapter = SqsDeadLetters(clients, DEPLOYMENT, "index", ManualClock(), SeededRandomness())
    return DeadLettersWorld(adapter, set_aside, waiting)


@pytest.fixture(params=["memory", "layered", "moto", "emulator"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[DeadLettersWorld]:
    """One server knows all that is there: a receiver need not wait for others."""
    monkeypatch.setattr(dead_letters, "WAIT_S", 0)
    if request.param == "moto":
        with locked_moto() as clients:
            yield aws_dead_letters(clients)
        return
    if request.param == "emulator":
        yield aws_dead_letters(request.getfixturevalue("emulator").emptied())
        return
    queue, dead = MemoryQueue(), MemoryQueue()
    memory = MemoryDeadLetters(queue, dead)
    adapter = memory if request.param == "memory" else InterceptedDeadLetters(memory, HOME, CallCounts())
    yield DeadLettersWorld(adapter, dead.send, lambda: queue.take(1_000))


def letters(count: int) -> list[str]:
    return [f'{{"key": "us-east-1/log/{number}", "reason": "é"}}' for number in range(count)]


def test_a_look_shows_what_is_there_and_leaves_it(world: DeadLettersWorld) -> None:
    world.set_aside(letters(13))
    for _ in range(2):
        assert sorted(world.dead_letters.look(100)) == sorted(letters(13))
    assert world.dead_letters.depths() == Depths(waiting=0, in_flight=0, set_aside=13)
    assert world.waiting() == []


def test_a_look_shows_no_more_than_it_is_asked_for(world: DeadLettersWorld) -> None:
    world.set_aside(letters(13))
    seen = world.dead_letters.look(11)
    assert len(seen) == 11 and set(seen) <= set(letters(13))


@pytest.mark.parametrize("count", [0, 1, 10, 23])
def test_everything_that_was_set_aside_is_sent_back_as_it_was(world: DeadLettersWorld, count: int) -> None:
    world.set_aside(letters(count))
    progress = list(world.dead_letters.send_back())
    assert progress == sorted(set(progress))
    assert (progress or [0])[-1] == count
    assert sorted(world.waiting()) == sorted(letters(count))
    assert world.dead_letters.depths().set_aside == 0


def test_what_fails_again_meanwhile_is_not_sent_round_and_round(world: DeadLettersWorld) -> None:
    """A letter that still cannot be read is back at once; the move ends all the same."""
    world.set_aside(letters(12))
    progress = []
    for moved in world.dead_letters.send_back():
        progress.append(moved)
        world.set_aside(world.waiting())
    assert progress[-1] == 12
    assert sorted(set(world.dead_letters.look(100))) == sorted(letters(12))


def test_a_move_that_stops_in_the_middle_loses_nothing(world: DeadLettersWorld) -> None:
    world.set_aside(letters(25))
    moving = world.dead_letters.send_back()
    next(moving)
    del moving
    assert set(world.waiting()) | set(world.dead_letters.look(100)) == set(letters(25))
