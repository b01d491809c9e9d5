"""The scanner: looks again at what its queue names, a batch at a time, and answers calls with a text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memolith.adapters.aws.guardrail import BedrockGuardrail
from memolith.adapters.encoders import encoder_of, meaning_of
from memolith.app.safety.deep_scan import DeepScan, ReadAhead, make_deep_scan
from memolith.entry.batches import answer_batch
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.scanner_loader import start_scanner
from memolith.entry.settings import Settings
from memolith.ports.guardrail import Guardrail
from memolith.ports.metrics import Metrics
from memolith.wire.scan_requests import Scans


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    meaning = meaning_of(encoder_of(settings.search_model))
    scanner, guardrail = start_scanner(running, meaning), _guardrail(running)
    scanner.scan_deeply("")  # here, so that a start reads the deeper rules' database, or fails, and not the first look
    if meaning is not None:
        meaning.load()
    inspections = Inspections(make_deep_scan(running.region, scanner, guardrail), running.metrics)
    return running.handler(dispatch(inspections, Scans(scanner, guardrail), running.metrics))


def _guardrail(running: LambdaRuntime) -> Guardrail | None:
    chosen = running.settings.guardrail
    if chosen is None:
        return None
    return BedrockGuardrail(running.clients, running.region.name, chosen.identifier, chosen.version)


def dispatch(inspections: Inspections, scans: Scans, metrics: Metrics) -> Answer:
    """Answer a batch from SQS, which carries the field ``Records``, or a question, which is everything else."""

    def answer(event: Event, context: object) -> Mapping[str, Any]:
        if not isinstance(event, Mapping) or "Records" not in event:
            return scans.answer(event, str(getattr(context, "aws_request_id", "")))
        inspections.read_ahead([str(record["body"]) for record in event["Records"]])
        return answer_batch(event, context, lambda record: inspections.message(record.body), metrics)

    return answer


class Inspections:
    """What the scanner does with the text of one message."""

    def __init__(self, inspecting: DeepScan, metrics: Metrics) -> None:
        self._inspecting = inspecting
        self._metrics = metrics
        self._ahead: ReadAhead | None = None

    def read_ahead(self, bodies: Sequence[str]) -> None:
        """Read together what the messages of a batch name; what of them names nothing fails when its turn comes.

        Raises:
            MemolithError: nothing of the batch can be done; all of it may be repeated.
        """
        self._ahead = self._inspecting.read_ahead([key for key in map(_key_in, bodies) if key is not None])

    def message(self, body: str) -> None:
        """Scan the version that a message names.

        Raises:
            ValueError: it names none, or one that cannot be read; after five times it is dead-lettered.
            MemolithError, ScannerUnavailableError: not done; the message may be repeated.
        """
        key = _key_in(body)
        if key is None:
            raise ValueError("a message to the scanner names one key")
        became = self._inspecting.inspect(key, self._ahead)
        self._metrics.count("versions_inspected", outcome=became.value)


def _key_in(body: str) -> str | None:
    """Return the key that a message names, or None."""
    try:
        key = json.loads(body)["inspect"]
    except (ValueError, TypeError, KeyError):
        return None
    return key if isinstance(key, str) else None
