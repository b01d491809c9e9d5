"""A queue's dead letters on SQS.

SQS can move messages back by itself (StartMessageMoveTask). That is not used: the task goes on for as long as it finds
any, and the indexer sets aside at once what it cannot read, so that such letters would go round and round.
The decision: docs/adr/0011-dead-letters-are-sent-back-by-us.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.queue import SqsQueue, queue_url
from memolith.adapters.limits import MESSAGES_PER_BATCH
from memolith.ports.clock import Clock
from memolith.ports.dead_letters import Depths
from memolith.ports.errors import Unavailable
from memolith.ports.ids import Randomness

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

HIDDEN_S = 120
"""For how long a letter that is looked at or moved stays hidden from others, should this process end in the middle."""
WAIT_S = 1
"""Any wait at all makes SQS ask all of its servers. Source: SQS developer guide, "short and long polling"."""
EMPTY_ANSWERS = 2
"""So many on end mean that there is nothing more."""


class SqsDeadLetters:
    """`ports.dead_letters.DeadLetters` of one queue of this region.

    Args:
        name: the queue's short name; its dead-letter queue is `Deployment.dead_letter_queue` of it.
    """

    def __init__(
        self, clients: Clients, deployment: Deployment, name: str, clock: Clock, randomness: Randomness
    ) -> None:
        self._client = clients.sqs(deployment.region)
        self._queue = SqsQueue(clients, deployment, deployment.queue(name), clock, randomness)
        self._queue_url = queue_url(self._client, deployment, deployment.queue(name))
        self._url = queue_url(self._client, deployment, deployment.dead_letter_queue(name))

    def depths(self) -> Depths:
        """Count the messages of both queues. Two requests."""
        waiting, in_flight = self._count(self._queue_url)
        set_aside, in_hand = self._count(self._url)
        return Depths(waiting, in_flight, set_aside + in_hand)

    def look(self, limit: int) -> Sequence[str]:
        """Return letters and release them again. A request for every ten letters, and one to release them."""
        taken: list[MessageTypeDef] = []
        try:
            for letters in self._take(limit):
                taken += letters
        finally:
            self._let_go(taken)
        return [letter.get("Body", "") for letter in taken]

    def send_back(self) -> Iterator[int]:
        """Move the letters back to their queue. Three requests for every ten letters."""
        moved = 0
        for letters in self._take(self.depths().set_aside):
            self._queue.send([letter.get("Body", "") for letter in letters])
            self._remove(letters)
            moved += len(letters)
            yield moved

    def _count(self, url: str) -> tuple[int, int]:
        """Count the messages that can be received, and those that a receiver holds."""
        try:
            found = self._client.get_queue_attributes(
                QueueUrl=url,
                AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
            )["Attributes"]
        except AwsError as error:
            raise Unavailable(f"asking a queue for its depth: {code_of(error)}") from error
        return int(found["ApproximateNumberOfMessages"]), int(found["ApproximateNumberOfMessagesNotVisible"])

    def _take(self, limit: int) -> Iterator[list[MessageTypeDef]]:
        """Yield up to `limit` letters, ten at most at a time; each stays hidden from others for `HIDDEN_S`."""
        taken = empty = 0
        while taken < limit and empty < EMPTY_ANSWERS:
            try:
                answer = self._client.receive_message(
                    QueueUrl=self._url,
                    MaxNumberOfMessages=min(MESSAGES_PER_BATCH, limit - taken),
                    VisibilityTimeout=HIDDEN_S,
                    WaitTimeSeconds=WAIT_S,
                )
            except AwsError as error:
                raise Unavailable(f"reading dead letters: {code_of(error)}") from error
            letters = answer.get("Messages", [])
            empty = 0 if letters else empty + 1
            taken += len(letters)
            if letters:
                yield letters

    def _let_go(self, letters: Sequence[MessageTypeDef]) -> None:
        for start in range(0, len(letters), MESSAGES_PER_BATCH):
            some = letters[start : start + MESSAGES_PER_BATCH]
            try:
                self._client.change_message_visibility_batch(
                    QueueUrl=self._url,
                    Entries=[
                        {"Id": str(number), "ReceiptHandle": letter.get("ReceiptHandle", ""), "VisibilityTimeout": 0}
                        for number, letter in enumerate(some)
                    ],
                )
            except AwsError as error:
                raise Unavailable(f"letting go of dead letters: {code_of(error)}") from error

    def _remove(self, letters: Sequence[MessageTypeDef]) -> None:
        try:
            answer = self._client.delete_message_batch(
                QueueUrl=self._url,
                Entries=[
                    {"Id": str(number), "ReceiptHandle": letter.get("ReceiptHandle", "")}
                    for number, letter in enumerate(letters)
                ],
            )
        except AwsError as error:
            raise Unavailable(f"removing dead letters that were sent back: {code_of(error)}") from error
        if answer.get("Failed"):
            raise Unavailable(f"{len(answer['Failed'])} dead letters were sent back and not removed")
