"""The indexer: folds what a queue says has arrived, a batch at a time, each message for itself.

A message is one of four: an S3 event (a hint: the object is looked at, not the event), a batch of a rebuild's keys, an
entry whose path's rows were found to disagree, or a dead letter of the indexer's own that an operator sent back. A
message that fails, or that a batch has no time left for, comes back, soon at first (`PAUSES_S`), and after five times
goes to the dead-letter queue. What can never be read is sent there at once, with the reason, and stops nothing else.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from memolith.adapters.aws.queue import SqsQueue, SqsTakenMessages
from memolith.adapters.layered.gathered import GatheredQueue
from memolith.adapters.layered.translated import translated_queue
from memolith.app.indexer.indexer import Indexer, Malformed
from memolith.app.indexer.rebuild import BatchProjector
from memolith.app.indexer.service import make_indexer
from memolith.app.kernel.object_events import event_objects
from memolith.core.errors import MemolithError
from memolith.core.object_keys import is_projected
from memolith.entry.batches import answer_batch, receives
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.ports.errors import Unavailable
from memolith.ports.metrics import Metrics
from memolith.ports.queue import Queue, TakenMessages
from memolith.wire.errors import trace
from memolith.wire.rpc import indexer_calls

_log = logging.getLogger(__name__)

PAUSES_S = (10, 60, 300, 1_070)
"""How long a message that failed is out of sight, the first time to the fourth; the fifth sets it aside.

Most failures are over in seconds, and a region should not be behind for the six minutes that the queue would wait; but
what lasts is set aside no sooner for that: together these are four of the queue's own time-outs.
"""


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region, deployment = running.region, settings.deployment

    def queue(name: str) -> Queue:
        return translated_queue(
            SqsQueue(running.clients, deployment, name, region.clock, region.randomness), region.name
        )

    dead_letters = queue(deployment.dead_letter_queue("index"))
    scan, pack = GatheredQueue(queue(deployment.queue("scan"))), queue(deployment.queue("pack"))
    indexing = make_indexer(region, inspections=scan, packings=pack)
    folding = EventConsumer(indexing, BatchProjector(region, indexing), dead_letters, running.metrics)
    return running.handler(
        dispatch(indexing, folding, SqsTakenMessages(running.clients, deployment), scan, running.metrics)
    )


def dispatch(
    indexing: Indexer, folding: EventConsumer, taken: TakenMessages, scans: GatheredQueue, metrics: Metrics
) -> Answer:
    """Direct calls carry the field ``call``; everything else is a batch from SQS.

    The post-commit scans that a batch asks for are sent together at its end. If they cannot be, all of it comes back.
    """
    calls = indexer_calls(indexing)

    def answer(event: Event, context: object) -> Mapping[str, Any]:
        if "call" in event:
            answered = calls(event)
            scans.flush()
            return answered
        answered = answer_batch(
            event, context, lambda record: folding.message(record.body), metrics, partial(_come_back, taken)
        )
        try:
            scans.flush()
        except MemolithError as error:
            metrics.count("messages_failed", len(event["Records"]) - len(answered["batchItemFailures"]))
            return _all_failed(event, taken, error)
        return answered

    return answer


def _all_failed(event: Event, taken: TakenMessages, error: Exception) -> Mapping[str, Any]:
    """Have every message of a batch come back; to handle one again changes nothing."""
    _log.warning("the scans of a batch could not be requested", extra={"trace": trace(error)})
    failed = []
    for fields in event["Records"]:
        record = SQSRecord(fields)
        _come_back(taken, record)
        failed.append({"itemIdentifier": record.message_id})
    return {"batchItemFailures": failed}


def _come_back(taken: TakenMessages, record: SQSRecord) -> None:
    """Delay the message by a pause that grows with its failures; if that fails, the queue's own timeout applies."""
    pause_s = PAUSES_S[min(receives(record), len(PAUSES_S)) - 1]
    try:
        taken.come_back(record.event_source_arn.rpartition(":")[2], record.receipt_handle, pause_s)
    except Unavailable as error:
        _log.warning("message comes back late", extra={"message_id": record.message_id, "reason": str(error)})


class EventConsumer:
    """What the indexer does with the text of one message."""

    def __init__(self, indexing: Indexer, batches: BatchProjector, dead_letters: Queue, metrics: Metrics) -> None:
        self._indexing = indexing
        self._batches = batches
        self._dead_letters = dead_letters
        self._metrics = metrics

    def message(self, body: str) -> None:
        """Project all that a message names.

        Raises:
            MemolithError, PortError: not all of it; the whole message may be repeated.
        """
        body = _unwrapped(body)
        try:
            payload = json.loads(body)
            if "rebuild" in payload:
                self._rebuild(payload["rebuild"])
                return
            again = payload.get("fold_again")
            arrived = list(_objects(payload)) if again is None else [(str(again["key"]), None)]
        except (ValueError, TypeError, KeyError, AttributeError):
            self._bury({"message": body, "reason": "neither an S3 event nor a batch of a rebuild"})
            return
        for key, version in arrived:
            self._fold(key, again is not None, version)

    def _rebuild(self, batch: Mapping[str, Any]) -> None:
        for malformed in self._batches.fold(batch):
            self._bury({"key": malformed.key, "reason": malformed.reason})
        self._metrics.count("objects_folded", len(batch["keys"]), source="rebuild")

    def _fold(self, key: str, paths_too: bool, version: str | None) -> None:
        try:
            self._indexing.object_arrived(key, paths_too, version)
        except Malformed as malformed:
            self._bury({"key": key, "reason": malformed.reason})
            return
        self._metrics.count("objects_folded", source="event" if is_projected(key) else "other")

    def _bury(self, letter: Mapping[str, str]) -> None:
        self._dead_letters.send([json.dumps(letter)])
        self._metrics.count("objects_malformed")


def _unwrapped(body: str) -> str:
    """Unwrap the message of one of our dead letters, which failed before; return any other message as it is.

    So a letter that fails again is the letter that it was, however often an operator redrives it.
    """
    try:
        letter = json.loads(body)
    except ValueError:
        return body
    inner = letter.get("message") if isinstance(letter, dict) and "reason" in letter else None
    return inner if isinstance(inner, str) else body


def _objects(event: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the keys, decoded, that an S3 event or a dead letter names, and of an event the object's version.

    The event that S3 sends when notifications are set up names none.
    """
    if event.get("Event") == "s3:TestEvent":
        return
    if "reason" in event and isinstance(event.get("key"), str):
        yield event["key"], None
        return
    yield from event_objects(event)
