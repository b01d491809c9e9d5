"""The reader: GET requests, answered from this region. It reads, and takes no direct calls."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

from memolith.adapters.aws.sealing import KmsSealing
from memolith.adapters.aws.signing import SecretsManagerKeys
from memolith.adapters.encoders import encoder_of
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.safety.write_gate import Unscanning
from memolith.entry.dispatching import http_alone
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.rerankers import reranker_of
from memolith.entry.settings import Settings
from memolith.wire.http import HttpApi


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region = running.region
    signing = SecretsManagerKeys(running.clients, settings.deployment, region.clock)
    packs, sealing = (
        SqlitePacks(encoder_of(settings.search_model), Path(gettempdir())),
        KmsSealing(running.clients, settings.deployment),
    )
    memolith = Memolith(region, Unscanning(), signing, packs, reranker=reranker_of(running), sealing=sealing)
    return running.handler(http_alone(HttpApi(memolith, region.clock, region.randomness, running.metrics)))
