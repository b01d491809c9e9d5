"""The dreamer: does the dreams that its queue names, one to a message, and looks at the stores that it names, whose
pipelines run by themselves. It answers no call and no request.

It alone may ask a language model, and read the key of one. A dream that takes longer than an invocation stops between
two steps, and is named again; one whose function was killed is named again by the reconciler's tick.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from memolith.adapters.aws.names import DREAM_QUEUE
from memolith.adapters.aws.queue import SqsQueue
from memolith.adapters.layered.translated import translated_queue
from memolith.app.api.automatic import AutomaticPipelines
from memolith.app.api.dream_run import Taken
from memolith.app.api.dream_runner import DreamRunner
from memolith.app.api.service import Memolith
from memolith.entry.batches import answer_batch
from memolith.entry.deployment_models import deployment_models
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.scanner_loader import start_scanner
from memolith.entry.settings import Settings
from memolith.ports.clock import Clock
from memolith.ports.metrics import Metrics
from memolith.ports.model import CALL_TIMEOUT_S
from memolith.ports.queue import Queue

LEASE_US = 900_000_000
"""For how long a dream is a function's that was killed: a function's own life."""

RESERVED_MS = round(CALL_TIMEOUT_S * 1_000) + 30_000
"""What is kept of an invocation for the step that is under way: the longest is one answer of a model."""

_log = logging.getLogger(__name__)


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called. Raises LookupError: dreams are off in this deployment."""
    running = LambdaRuntime.start(settings)
    region, deployment = running.region, settings.deployment
    running.clients.s3(region.name, attempts=1)
    sqs = SqsQueue(running.clients, deployment, deployment.queue(DREAM_QUEUE), region.clock, region.randomness)
    queue = translated_queue(sqs, region.name)
    memolith = Memolith(region, start_scanner(running), models=deployment_models(running))
    runner = memolith.dream_runner(LEASE_US)
    dreams = NamedDreams(runner, memolith.automatic, queue, region.clock, running.metrics)
    return running.handler(dispatch(dreams, running.metrics))


def dispatch(dreams: NamedDreams, metrics: Metrics) -> Answer:
    """Answer a batch from SQS, and nothing else."""

    def answer(event: Event, context: Any) -> Mapping[str, Any]:
        if "Records" not in event:
            raise ValueError("the dreamer is woken by its queue alone")
        left_ms = context.get_remaining_time_in_millis()
        return answer_batch(event, context, lambda record: dreams.message(record.body, left_ms), metrics)

    return answer


class NamedDreams:
    """What the dreamer does with the text of one message."""

    def __init__(
        self, runner: DreamRunner, automatic: AutomaticPipelines, queue: Queue, clock: Clock, metrics: Metrics
    ) -> None:
        self._runner = runner
        self._automatic = automatic
        self._queue = queue
        self._clock = clock
        self._metrics = metrics

    def message(self, body: str, left_ms: int) -> None:
        """Do the dream that a message names, or go on with it; name it again where there was not time for all of it.
        Of a store that it names, do what is due by itself.

        Raises:
            ValueError, KeyError: it names none; after five times it is dead-lettered. MemolithError, PortError: not
            done; the message may be repeated, and the tick names the dream again.
        """
        named = json.loads(body)
        until_us = self._clock.now_us() + max(0, left_ms - RESERVED_MS) * 1_000
        if isinstance(named.get("store"), str):
            failure = self._automatic.run(named["store"], until_us).failure
            if failure is not None:  # the tick names the store again
                _log.warning("an extraction failed", extra={"reason": type(failure).__name__, "store": named["store"]})
            return
        run_id = named["dream"]
        if not isinstance(run_id, str):
            raise ValueError("a message to the dreamer names one dream, or one store")
        taken = self._runner.take_up(run_id, until_us)
        self._metrics.count("dreams_taken", outcome=taken.value)
        if taken is Taken.PAUSED:
            self._queue.send([body])
