"""The reader: GET requests, answered from this region, and what other regions' readers ask of this one.

The second kind comes by invocation, which IAM alone lets in; whatever is asked, a reader reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.adapters.aws.signing import SecretsManagerKeys
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.safety.write_gate import Unscanning
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.wire.http import HttpApi


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region = running.region
    signing = SecretsManagerKeys(running.clients, settings.deployment, region.clock)
    memolith = Memolith(region, Unscanning(), signing, SqlitePacks())
    api = HttpApi(memolith, region.clock, region.randomness, running.metrics, memolith.sessions)
    return running.handler(dispatch(memolith, api))


def dispatch(memolith: Memolith, api: HttpApi) -> Answer:
    """Answer direct calls, which carry the field ``call``, and HTTP events, which never do."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return memolith.read_direct(event) if "call" in event else api.answer(event)

    return answer
