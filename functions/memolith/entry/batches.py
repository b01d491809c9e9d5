"""Answers a batch of messages from SQS: what failed of it comes back, and the rest is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from memolith.entry.lambda_runtime import Event
from memolith.wire.errors import trace

_log = logging.getLogger(__name__)


def answer_batch(event: Event, context: Any, handle: Callable[[SQSRecord], None]) -> Mapping[str, Any]:
    """Handle each message of a batch. Powertools names those that failed in the answer, so that they come back."""

    def reporting(record: SQSRecord) -> None:
        try:
            handle(record)
        except Exception as error:
            _log.warning("message failed", extra={"message_id": record.message_id, "trace": trace(error)})
            raise

    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(dict(event), reporting, processor, context))
