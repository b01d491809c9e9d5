"""What every adapter of `ports.queue.Queue` promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.queue import SqsQueue
from memolith.adapters.layered import CallCounts, InterceptedQueue
from memolith.adapters.local import Database, LocalQueue
from memolith.adapters.memory import ManualClock, MemoryQueue, SeededRandomness
from memolith.ports.queue import Queue
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto


@dataclass(frozen=True, slots=True)
class QueueWorld:
    """A queue, and what waits in it."""

    queue: Queue
    waiting: Callable[[], list[str]]


def aws_queue(clients: Clients) -> QueueWorld:
    """A queue on what the clients talk to, which is empty."""
    sqs, name = clients.sqs(HOME), DEPLOYMENT.queue("index")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]

    def waiting() -> list[str]:
        found: list[str] = []
        while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            found += [message["Body"] for message in batch]
        return found

    return QueueWorld(SqsQueue(clients, DEPLOYMENT, name, ManualClock(), SeededRandomness()), waiting)


@pytest.fixture(params=["memory", "layered", "local", "moto", "emulator"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[QueueWorld]:
    if request.param == "moto":
        with locked_moto() as clients:
            yield aws_queue(clients)
        return
    if request.param == "emulator":
        yield aws_queue(request.getfixturevalue("emulator").emptied())
        return
    if request.param == "local":
        local = LocalQueue(Database(tmp_path / "queue.sqlite", durable=False), ManualClock())
        yield QueueWorld(local, lambda: [message.body for message in local.take(1_000)])
        return
    memory = MemoryQueue()
    queue: Queue = memory if request.param == "memory" else InterceptedQueue(memory, HOME, CallCounts())
    yield QueueWorld(queue, lambda: memory.take(1_000))


def test_every_message_arrives_as_it_was_sent(world: QueueWorld) -> None:
    messages = ["us-east-1/log/memstore_1/é", 'with "quotes" & <tags>', "line\nbreak\ttab", " ", "same", "same"]
    world.queue.send(messages)
    assert sorted(world.waiting()) == sorted(messages)


@pytest.mark.parametrize("count", [0, 1, 10, 11, 37])
def test_any_number_may_be_sent_at_once(world: QueueWorld, count: int) -> None:
    messages = [f"message {number}" for number in range(count)]
    world.queue.send(messages)
    assert sorted(world.waiting()) == sorted(messages)


@pytest.mark.parametrize("message", ["", "a\x00b", "\ufffe", "x" * 100_001])
def test_what_sqs_would_not_take_is_a_defect_of_the_caller(world: QueueWorld, message: str) -> None:
    """Ours to check: SQS refuses the whole batch for it."""
    with pytest.raises(ValueError, match="a message is text"):
        world.queue.send(["good", message])
    assert world.waiting() == []
