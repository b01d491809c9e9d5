"""The reconciler: woken by a schedule, it turns the journal's period and follows the other regions' checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from memolith.adapters.aws.names import DREAM_QUEUE
from memolith.adapters.aws.queue import SqsQueue
from memolith.adapters.aws.sealing import KmsSealing
from memolith.adapters.layered.translated import translated_queue
from memolith.app.homes.service import make_homes
from memolith.app.index.resumable_scan import ScanProgress
from memolith.app.replication import service
from memolith.app.replication.compare_listing import ComparedPage
from memolith.app.replication.reconciler import Reconciler
from memolith.app.replication.service import make_comparisons, make_reconciler
from memolith.core.errors import MemolithError
from memolith.entry.lambda_runtime import Answer, Event, Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.ports.clock import Clock
from memolith.wire.rpc import Rpc, homes_calls

COMPARING_US = 600_000_000
"""How long an invocation compares, divided among what it compares; it may last half as long again."""

PARTS_MAX = 50

Comparison = Callable[[int], ComparedPage | ScanProgress]
"""Goes on until an instant at most; what it saw."""

Comparisons = Callable[[Event], Mapping[str, Comparison]]
"""What an event asks to compare, by name."""

_log = logging.getLogger(__name__)


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region, deployment = running.region, settings.deployment
    sqs = SqsQueue(running.clients, deployment, deployment.queue("index"), region.clock, region.randomness)
    queue = translated_queue(sqs, region.name)
    due = None
    if settings.dreams is not None:
        named = SqsQueue(running.clients, deployment, deployment.queue(DREAM_QUEUE), region.clock, region.randomness)
        due = translated_queue(named, region.name)
    reconciling = make_reconciler(region, KmsSealing(running.clients, deployment), dreams=due)
    comparisons = partial(asked_for, make_comparisons(region, queue))
    return running.handler(dispatch(reconciling, comparisons, region.clock, homes_calls(make_homes(region))))


def asked_for(compare: service.Comparisons, event: Event) -> Mapping[str, Comparison]:
    """Return what ``{"call": "compare"}`` asks for: all three comparisons.

    With ``"parts": n`` that of the listing is only begun, in so many parts; with ``"part": i`` it is one of these parts
    alone. Raises ValueError for numbers that cannot be.
    """
    listing = compare.listing
    parts, part = (int(event.get(name, 0)) for name in ("parts", "part"))
    if not (0 <= parts <= PARTS_MAX and 0 <= part <= PARTS_MAX):
        raise ValueError(f"parts, and a part, are numbers up to {PARTS_MAX}")
    if part:
        return {"listing": partial(listing.run_part, part)}
    begun: Comparison = (lambda _: listing.divide(parts)) if parts > 1 else listing.run
    return {"listing": begun, "checkpoints": compare.checkpoints.run, "rows": compare.rows.run}


def dispatch(reconciling: Reconciler, comparisons: Comparisons, clock: Clock, homes: Rpc | None = None) -> Answer:
    """Answer ``{"call": "tick"}`` with the open period, and which errors stopped parts of the work.

    ``{"call": "compare"}`` compares the tables with the listing, with the other homes' checkpoints and with each other,
    if it is a day since, and answers with what each found (`asked_for`). One that fails does not stop the others, and
    fails the call. ``{"call": "homes.…"}`` is for `memolith.app.homes.service`.
    """

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        if event.get("call") == "compare":
            return _compare(comparisons(event), clock)
        if homes is not None and str(event.get("call")).startswith("homes."):
            return homes(event)
        if event.get("call") != "tick":
            raise ValueError("no such call")
        ticked = reconciling.tick()
        if ticked.failures:
            _log.warning("a tick was not finished; the next one goes on", extra={"failures": ticked.failures})
        period = None if ticked.period is None else ticked.period.number
        return {"period": period, "failures": ticked.failures}

    return answer


def _compare(comparisons: Mapping[str, Comparison], clock: Clock) -> Mapping[str, Any]:
    """Run all comparisons and write one record about them to the log."""
    found: dict[str, Any] = {}
    failed: list[MemolithError] = []
    for name, compare in comparisons.items():
        try:
            found[name] = asdict(compare(clock.now_us() + COMPARING_US // len(comparisons)))
        except MemolithError as error:
            found[name] = {"failed": type(error).__name__}
            failed.append(error)
    _log.info("the tables were compared", extra={"compared": found})
    if failed:
        raise failed[0]
    return found
