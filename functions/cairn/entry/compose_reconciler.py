"""The reconciler: woken by a schedule, it turns the journal's period and follows the other regions' checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cairn.app.reconciling import Reconciling
from cairn.entry.running import Answer, Event, Handler, Running
from cairn.entry.settings import Settings

_log = logging.getLogger(__name__)


def compose(settings: Settings) -> Handler:
    """The function, ready to be called."""
    running = Running.start(settings)
    return running.handler(dispatch(Reconciling(running.region)))


def dispatch(reconciling: Reconciling) -> Answer:
    """Answers ``{"call": "tick"}`` with the journal's open period, and which errors stopped parts of the work."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        if event.get("call") != "tick":
            raise ValueError("no such call")
        ticked = reconciling.tick()
        if ticked.failures:
            _log.warning("a tick was not finished; the next one goes on", extra={"failures": ticked.failures})
        return asdict(ticked)

    return answer
