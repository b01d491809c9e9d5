"""The writer: POST and DELETE requests. It takes no direct calls."""

from __future__ import annotations

from memolith.adapters.aws.signing import SecretsManagerKeys
from memolith.adapters.models.extractive import ExtractiveModels
from memolith.app.api.service import Memolith
from memolith.entry.dispatching import http_alone
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
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
    dreams = settings.dreams is not None
    memolith = Memolith(region, start_scanner(running), signing, models=ExtractiveModels(), dreams=dreams)
    return running.handler(http_alone(HttpApi(memolith, region.clock, region.randomness, running.metrics)))
