"""The packer: makes the packs that its queue names, and the one that a reader or an operator asks for."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from memolith.adapters.aws.queue import SqsQueue
from memolith.adapters.encoders import encoder_of
from memolith.adapters.layered.translated import translated_queue
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.search.packer import Packer, make_packer
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.wire.errors import trace
from memolith.wire.rpc import packer_calls

_log = logging.getLogger(__name__)


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region, deployment, encoder = running.region, settings.deployment, encoder_of(settings.search_model)
    later = SqsQueue(running.clients, deployment, deployment.queue("pack"), region.clock, region.randomness)
    rest = None if encoder is None else translated_queue(later, region.name)
    return running.handler(dispatch(make_packer(region, SqlitePacks(encoder), rest)))


def dispatch(packing: Packer) -> Answer:
    """Direct calls carry the field ``call``; everything else is a batch from SQS."""
    calls = packer_calls(packing)
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)

    def answer(event: Event, context: object) -> Mapping[str, Any]:
        if "call" in event:
            return calls(event)
        response = process_partial_response(dict(event), _reporting(packing), processor, context)  # type: ignore[arg-type]
        return dict(response)

    return answer


def _reporting(packing: Packer) -> Callable[[SQSRecord], None]:
    """Log each failure; Powertools then names the message in its answer, so that it comes back."""

    def handle(record: SQSRecord) -> None:
        try:
            noted = json.loads(record.body)
            packing.pack(noted["pack"], int(noted["since"]))
        except Exception as error:
            _log.warning("message failed", extra={"message_id": record.message_id, "trace": trace(error)})
            raise

    return handle
