"""The packer: makes the packs that its queue names, and the one that a reader or an operator asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memolith.adapters.aws.queue import SqsQueue
from memolith.adapters.encoders import encoder_of
from memolith.adapters.layered.translated import translated_queue
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.search.packer import Packer, make_packer
from memolith.entry.batches import answer_batch
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.ports.metrics import Metrics
from memolith.wire.rpc import packer_calls


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region, deployment, encoder = running.region, settings.deployment, encoder_of(settings.search_model)
    later = SqsQueue(running.clients, deployment, deployment.queue("pack"), region.clock, region.randomness)
    rest = None if encoder is None else translated_queue(later, region.name)
    return running.handler(dispatch(make_packer(region, SqlitePacks(encoder), rest), running.metrics))


def dispatch(packing: Packer, metrics: Metrics) -> Answer:
    """Direct calls carry the field ``call``; everything else is a batch from SQS."""
    calls = packer_calls(packing)

    def answer(event: Event, context: object) -> Mapping[str, Any]:
        if "call" in event:
            return calls(event)
        return answer_batch(event, context, lambda record: _pack(packing, record.body), metrics)

    return answer


def _pack(packing: Packer, body: str) -> None:
    noted = json.loads(body)
    packing.pack(noted["pack"], int(noted["since"]))
