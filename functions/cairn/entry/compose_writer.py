"""The writer: POST and DELETE requests, and the calls of peers and operators, which IAM alone lets in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.adapters.aws.signing import SecretsManagerKeys
from cairn.app.api.service import Cairn
from cairn.entry.lambda_runtime import Answer, Event, Handler, Running
from cairn.entry.scanner_loader import start_scanner
from cairn.entry.settings import Settings
from cairn.wire import request_bodies  # noqa: F401 - here, so that a cold start pays for it and not the first request
from cairn.wire.http import HttpApi


def compose(settings: Settings) -> Handler:
    """The function, ready to be called."""
    running = Running.start(settings)
    region = running.region
    running.clients.s3(region.name, attempts=1)
    signing = SecretsManagerKeys(running.clients, settings.deployment, region.clock)
    cairn = Cairn(region, start_scanner(running), signing)
    api = HttpApi(cairn, region.clock, region.randomness, running.metrics, cairn.sessions)
    return running.handler(dispatch(cairn, api))


def dispatch(cairn: Cairn, api: HttpApi) -> Answer:
    """Direct calls carry the field ``call``; an HTTP event never does."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return cairn.direct(event) if "call" in event else api.answer(event)

    return answer
