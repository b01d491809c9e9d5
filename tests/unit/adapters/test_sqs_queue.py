"""What SQS is asked, and what is made of its answers."""

from __future__ import annotations

import pytest

from memolith.adapters.aws.queue import SEND_ROUNDS, SqsQueue
from memolith.adapters.memory import ManualClock, SeededRandomness
from memolith.ports.errors import Unavailable
from tests.unit.adapters.awkward_server import (
    DEPLOYMENT,
    HANG_UP,
    AwkwardServer,
    Script,
    json_answer,
    json_error,
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue(server: AwkwardServer, clock: ManualClock) -> SqsQueue:
    server.answer(json_answer(Successful=[], Failed=[]))
    return SqsQueue(server.clients, DEPLOYMENT, DEPLOYMENT.dead_letter_queue("index"), clock, SeededRandomness())


def test_the_queues_url_is_made_not_asked_for(server: AwkwardServer, queue: SqsQueue) -> None:
    queue.send(["a"])
    (request,) = server.requests
    assert request.operation == "SendMessageBatch"
    assert request.json["QueueUrl"] == f"{server.url}/123456789012/memolith-test-index-dlq"


def test_messages_go_by_tens(server: AwkwardServer, queue: SqsQueue) -> None:
    queue.send([str(number) for number in range(25)])
    assert [len(request.json["Entries"]) for request in server.requests] == [10, 10, 5]


def test_what_was_not_taken_is_sent_again_alone(server: AwkwardServer, queue: SqsQueue, clock: ManualClock) -> None:
    failure = {"Id": "1", "Code": "InternalError", "SenderFault": False}
    server.answer(json_answer(Successful=[], Failed=[failure]), json_answer(Successful=[]))
    queue.send(["a", "b", "c"])
    assert [[one["MessageBody"] for one in request.json["Entries"]] for request in server.requests] == [
        ["a", "b", "c"],
        ["b"],
    ]
    assert len(clock.paused_s) == 1


def test_what_is_never_taken_is_unavailable_in_the_end(server: AwkwardServer, queue: SqsQueue) -> None:
    server.answer(json_answer(Failed=[{"Id": "0", "Code": "InternalError", "SenderFault": False}]))
    with pytest.raises(Unavailable):
        queue.send(["a"])
    assert len(server.requests) == SEND_ROUNDS


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", [json_error(400, "QueueDoesNotExist"), json_error(500, "InternalError"), HANG_UP])
def test_every_failure_is_unavailable(server: AwkwardServer, queue: SqsQueue, answer: Script) -> None:
    server.answer(answer)
    with pytest.raises(Unavailable):
        queue.send(["a"])
