"""What every adapter of `ports.queue.TakenMessages` promises. Queues in memory have no time-outs, so there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.queue import SqsTakenMessages
from memolith.ports.errors import Unavailable
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto

QUEUE = DEPLOYMENT.queue("index")
SIX_MINUTES_S = 360


class World:
    """A queue with one message, which somebody has taken for six minutes."""

    def __init__(self, clients: Clients) -> None:
        self.taken = SqsTakenMessages(clients, DEPLOYMENT)
        self._sqs = clients.sqs(HOME)
        timeout: Any = {"VisibilityTimeout": str(SIX_MINUTES_S)}
        self._url = self._sqs.create_queue(QueueName=QUEUE, Attributes=timeout)["QueueUrl"]
        self._sqs.send_message(QueueUrl=self._url, MessageBody="one")
        (self.receipt,) = self.receive()

    def receive(self) -> list[str]:
        answer = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10)
        return [str(message["ReceiptHandle"]) for message in answer.get("Messages", [])]


@pytest.fixture(params=["moto", "emulator"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "moto":
        with locked_moto() as clients:
            yield World(clients)
    else:
        yield World(request.getfixturevalue("emulator").emptied())


def test_a_message_comes_back_when_it_is_asked_to(world: World) -> None:
    assert world.receive() == []
    world.taken.come_back(QUEUE, world.receipt, 0)
    assert len(world.receive()) == 1


def test_a_message_stays_out_of_sight_until_then(world: World) -> None:
    world.taken.come_back(QUEUE, world.receipt, SIX_MINUTES_S)
    assert world.receive() == []


def test_a_queue_that_is_not_there_is_unavailable(world: World) -> None:
    with pytest.raises(Unavailable, match="changing a message's time"):
        world.taken.come_back("memolith-test-none", world.receipt, 1)
