"""The writer: POST and DELETE requests, and the calls of peers and operators, which IAM alone lets in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.adapters.aws.signing import SecretsManagerKeys
from memolith.app.api.service import Memolith
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.scanner_loader import start_scanner
from memolith.entry.settings import Settings
from memolith.wire import request_bodies  # noqa: F401 - here, so that a cold start pays for it and not the first request
from memolith.wire.http import HttpApi


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region = running.region
    running.clients.s3(region.name, attempts=1)
    signing = SecretsManagerKeys(running.clients, settings.deployment, region.clock)
    memolith = Memolith(region, start_scanner(running), signing)
    api = HttpApi(memolith, region.clock, region.randomness, running.metrics, memolith.sessions)
    return running.handler(dispatch(memolith, api))


def dispatch(memolith: Memolith, api: HttpApi) -> Answer:
    """Answer direct calls, which carry the field ``call``, and HTTP events, which never do."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return memolith.direct(event) if "call" in event else api.answer(event)

    return answer
