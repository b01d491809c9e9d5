"""A queue on SQS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of
from memolith.adapters.aws.names import Deployment
from memolith.adapters.limits import MESSAGES_PER_BATCH, check_messages
from memolith.ports.clock import Clock
from memolith.ports.errors import Unavailable
from memolith.ports.ids import Randomness

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

SEND_ROUNDS = 4
FIRST_PAUSE_S = 0.05


def queue_url(client: SQSClient, deployment: Deployment, name: str) -> str:
    """Return the URL of a queue in the client's region, without a request."""
    return f"{client.meta.endpoint_url.rstrip('/')}/{deployment.account}/{name}"


class SqsTakenMessages:
    """`ports.queue.TakenMessages` on the queues of this region."""

    def __init__(self, clients: Clients, deployment: Deployment) -> None:
        self._client = clients.sqs(deployment.region)
        self._deployment = deployment

    def come_back(self, queue: str, receipt: str, seconds: int) -> None:
        """Change when a message is seen again. One request. Source: SQS API, ChangeMessageVisibility."""
        try:
            self._client.change_message_visibility(
                QueueUrl=queue_url(self._client, self._deployment, queue),
                ReceiptHandle=receipt,
                VisibilityTimeout=seconds,
            )
        except AwsError as error:
            raise Unavailable(f"changing a message's time: {code_of(error)}") from error


class SqsQueue:
    """`ports.queue.Queue` on one queue of this region.

    Args:
        name: the queue's own name (`Deployment.queue`, `Deployment.dead_letter_queue`). Its URL is made of the
            region's endpoint, the account and this, so that no request is spent on asking for it.
    """

    def __init__(
        self, clients: Clients, deployment: Deployment, name: str, clock: Clock, randomness: Randomness
    ) -> None:
        self._client = clients.sqs(deployment.region)
        self._url = queue_url(self._client, deployment, name)
        self._clock = clock
        self._randomness = randomness

    def send(self, messages: Sequence[str]) -> None:
        """Send one request for every ten messages; send those that SQS did not take again, a few times."""
        check_messages(messages)
        for start in range(0, len(messages), MESSAGES_PER_BATCH):
            self._send_batch(messages[start : start + MESSAGES_PER_BATCH])

    def _send_batch(self, messages: Sequence[str]) -> None:
        pending = {str(number): message for number, message in enumerate(messages)}
        for round_number in range(SEND_ROUNDS):
            if round_number:
                self._clock.pause(FIRST_PAUSE_S * 2**round_number * self._randomness.fraction())
            try:
                answer = self._client.send_message_batch(
                    QueueUrl=self._url,
                    Entries=[{"Id": number, "MessageBody": message} for number, message in pending.items()],
                )
            except AwsError as error:
                raise Unavailable(f"sending: {code_of(error)}") from error
            pending = {failure["Id"]: pending[failure["Id"]] for failure in answer.get("Failed", ())}
            if not pending:
                return
        raise Unavailable(f"sending: {len(pending)} messages were not taken in {SEND_ROUNDS} rounds")
