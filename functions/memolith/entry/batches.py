"""Answers a batch of messages from SQS: what failed of it comes back, and the rest is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from memolith.entry.lambda_runtime import Event
from memolith.ports.metrics import Metrics
from memolith.wire.errors import trace

RESERVED_MS = 30_000
"""What is kept of an invocation for the message that is under way: the longest of the indexer's repairs a store's rows
for ten seconds and waits twenty for the eraser."""

_log = logging.getLogger(__name__)


class _NoTimeLeft(Exception):
    """The message was not begun."""


def answer_batch(
    event: Event,
    context: Any,
    handle: Callable[[SQSRecord], None],
    metrics: Metrics,
    come_back: Callable[[SQSRecord], None] = lambda record: None,
) -> Mapping[str, Any]:
    """Handle each message of a batch. Powertools names those that failed in the answer, so that they come back.

    Where a function is killed, its whole batch comes back, done or not. So once less than `RESERVED_MS` are left, no
    further message is begun, though always one: the rest counts as failed. Those that were received most often come
    first, so that none becomes a dead letter untried. `come_back` is called for each that is not done.

    What was begun is counted, and what of it failed: Lambda sees no error, and a rollout goes by these
    (`infra.constructs.rollout`).
    """
    begun = failed = 0

    def reporting(record: SQSRecord) -> None:
        nonlocal begun, failed
        try:
            if begun and context.get_remaining_time_in_millis() < RESERVED_MS:
                raise _NoTimeLeft
            begun += 1
            handle(record)
        except Exception as error:
            out_of_time = isinstance(error, _NoTimeLeft)
            failed += not out_of_time
            message = "message not begun" if out_of_time else "message failed"
            _log.warning(message, extra={"message_id": record.message_id, "trace": trace(error)})
            come_back(record)
            raise

    records = sorted(event["Records"], key=lambda fields: receives(SQSRecord(fields)), reverse=True)
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    answered = dict(process_partial_response({**event, "Records": records}, reporting, processor, context))
    metrics.count("messages", begun)
    if failed:
        metrics.count("messages_failed", failed)
    return answered


def receives(record: SQSRecord) -> int:
    """Return how often a message was received, this time included; SQS counts approximately."""
    return int((record.get("attributes") or {}).get("ApproximateReceiveCount", 1))
