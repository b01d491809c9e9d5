"""The reconciler: woken by a schedule, it turns the journal's period and follows the other regions' checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cairn.adapters.aws.queue import SqsQueue
from cairn.app.comparing import Comparing
from cairn.app.reconciling import Reconciling
from cairn.entry.running import Answer, Event, Handler, Running
from cairn.entry.settings import Settings
from cairn.ports.clock import Clock

COMPARING_US = 600_000_000
"""How long a comparison goes on in one invocation, which may last a third longer."""

_log = logging.getLogger(__name__)


def compose(settings: Settings) -> Handler:
    """The function, ready to be called."""
    running = Running.start(settings)
    region, deployment = running.region, settings.deployment
    queue = SqsQueue(running.clients, deployment, deployment.queue("index"), region.clock, region.randomness)
    return running.handler(dispatch(Reconciling(region), Comparing(region, queue), region.clock))


def dispatch(reconciling: Reconciling, comparing: Comparing, clock: Clock) -> Answer:
    """Answers ``{"call": "tick"}`` with the journal's open period, and which errors stopped parts of the work.

    ``{"call": "compare"}`` compares listing and tables, if it is a day since, and answers with what that found.
    """

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        if event.get("call") == "compare":
            compared = asdict(comparing.run(clock.now_us() + COMPARING_US))
            _log.info("listing and tables compared", extra=compared)
            return compared
        if event.get("call") != "tick":
            raise ValueError("no such call")
        ticked = reconciling.tick()
        if ticked.failures:
            _log.warning("a tick was not finished; the next one goes on", extra={"failures": ticked.failures})
        return asdict(ticked)

    return answer
