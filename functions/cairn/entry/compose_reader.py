"""The reader: GET requests, answered from this region, and what other regions' readers ask of this one.

The second kind comes by invocation, which IAM alone lets in; whatever is asked, a reader reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.adapters.aws.signing import SecretsManagerKeys
from cairn.adapters.sqlite import SqlitePacks
from cairn.app.api.service import Cairn
from cairn.app.safety.write_gate import Unscanning
from cairn.entry.lambda_runtime import Answer, Event, Handler, Running
from cairn.entry.settings import Settings
from cairn.wire.http import HttpApi


def compose(settings: Settings) -> Handler:
    """The function, ready to be called."""
    running = Running.start(settings)
    region = running.region
    signing = SecretsManagerKeys(running.clients, settings.deployment, region.clock)
    cairn = Cairn(region, Unscanning(), signing, SqlitePacks())
    api = HttpApi(cairn, region.clock, region.randomness, running.metrics, cairn.sessions)
    return running.handler(dispatch(cairn, api))


def dispatch(cairn: Cairn, api: HttpApi) -> Answer:
    """Direct calls carry the field ``call``; an HTTP event never does."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return cairn.read_direct(event) if "call" in event else api.answer(event)

    return answer
