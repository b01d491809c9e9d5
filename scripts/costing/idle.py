"""What a deployment costs in a month in which nobody asks it anything: its schedules, and what is billed by presence.

How much of what is billed stands in each form is written here as `COUNTED`; `tests/infra/test_idle_costs.py` derives
the same from the synthesized templates. What a tick does is counted from the code, as for every other table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from scripts.costing import prices, standing
from scripts.costing.paths import Played, dollars, used

LARGE: dict[str, object] = {}
SMALL: dict[str, object] = {
    "monitoring": "least",
    "tick_minutes": 5,
    "replication_time_control": False,
    "rollout": "at_once",
}
"""What the record says in each form, besides its regions."""

TARGET_SMALL = 12.0
"""Dollars a month that the small form may cost in two regions."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands in all regions of a deployment together, whether it is used or not.

    Attributes:
        alarm_metrics: the metrics that alarms watch; an alarm over an expression is billed for each of its metrics.
        replication_rules: those whose replication S3 measures.
        secrets: with their replicas, each of which is billed.
        polled_queues: those that Lambda polls for a function.
        tick_minutes: how often the reconciler and the eraser are woken.
        traced: whether invocations leave traces.
        metrics: whether everything that functions count is a metric, or only what alarms watch.
    """

    alarm_metrics: int
    dashboards: int
    replication_rules: int
    keys: int
    secrets: int
    polled_queues: int
    tick_minutes: int
    traced: bool
    metrics: bool


COUNTED = {
    ("large", 1): Standing(85, 1, 0, 1, 2, 4, 1, True, True),
    ("large", 2): Standing(178, 2, 2, 2, 4, 8, 1, True, True),
    ("small", 1): Standing(13, 0, 0, 1, 2, 4, 5, False, False),
    ("small", 2): Standing(28, 0, 0, 2, 4, 8, 5, False, False),
}

POLLS_A_MONTH = 5 * 3 * standing.MINUTES_A_MONTH
"""Five long polls of 20 seconds. Source: AWS Lambda Developer Guide, "Using Lambda with Amazon SQS", empty queues."""
METRICS_OF_A_RULE = 4
"""Latency, bytes and operations pending, operations failed.

Source: Amazon S3 User Guide, "Using S3 Replication metrics".
"""
LOGGED_BYTES = 1_500
"""Assumed of an invocation: Lambda's two lines, a line for each set of metrics."""


def month(form: str, regions: int) -> dict[str, float]:
    """Return the dollars of a month by what they are for, in all regions."""
    stands = COUNTED[form, regions]
    ticks = regions * standing.MINUTES_A_MONTH / stands.tick_minutes
    invocations = ticks * sum(_of_tick(regions, "invocation"))
    parts = {
        "the reconciler's ticks and the eraser's sweeps": ticks * sum(_dollars_of_tick(regions)) / 1_000_000,
        "checkpoints read again, the hourly audit, at most": _read_again(regions),
        "polling of queues": stands.polled_queues * POLLS_A_MONTH * prices.PRICES["sqs"].of_one,
        "keys that sign checkpoints": stands.keys * prices.KMS_KEY.of_one,
        "secrets that sign sessions, with their replicas": stands.secrets * prices.SECRET.of_one,
        "alarms": stands.alarm_metrics * prices.ALARM_METRIC.of_one,
        "metrics of replication": stands.replication_rules * METRICS_OF_A_RULE * prices.METRIC.of_one,
        "metrics of functions": regions * len(idle_metrics(regions, stands.metrics)) * prices.METRIC.of_one,
        "dashboards": stands.dashboards * prices.DASHBOARD.of_one,
        "traces": invocations * prices.TRACE.of_one if stands.traced else 0.0,
        "logs": invocations * LOGGED_BYTES * prices.LOGS.of_one,
    }
    return {**parts, "**in all**": sum(parts.values())}


def idle_metrics(regions: int, everything: bool) -> set[tuple[str, object]]:
    """Return the metrics that the functions of one region count in a minute in which nobody asks them anything."""
    played = Played(regions)
    standing.before_tick(played)
    recorded = played.cloud.metrics
    recorded.counts.clear()
    recorded.durations_ms.clear()
    for path in standing.SCHEDULES:
        path.act(played)
    seen: set[tuple[str, object]] = {*recorded.counts, *recorded.durations_ms}
    if played.cloud.pending:
        seen |= {("objects_folded", (("source", "other"),)), ("messages", ())}
    return seen if everything else {one for one in seen if one[0] in watched_at_least()}


@cache
def watched_at_least() -> frozenset[str]:
    """Return what functions count where monitoring is the least, as the infrastructure's code declares it."""
    code = (prices.ROOT / "infra/constructs/functions/function.py").read_text()
    found = re.search(r"WATCHED_AT_LEAST = \((.*?)\)", code, re.DOTALL)
    if found is None:
        raise ValueError("infra/constructs/functions/function.py declares no WATCHED_AT_LEAST")
    return frozenset(re.findall(r'"(\w+)"', found[1]))


def _of_tick(regions: int, unit: str) -> list[float]:
    return [units.get(unit, 0) for path in standing.SCHEDULES for units in used(path, regions).values()]


def _dollars_of_tick(regions: int) -> list[float]:
    return [sum(dollars(units).values()) for path in standing.SCHEDULES for units in used(path, regions).values()]


def _read_again(regions: int) -> float:
    """Return what the daily and the hourly reading of what is there costs, in all regions."""
    get = prices.PRICES["get"].of_one
    checkpoints = standing.CHECKPOINTS_A_DAY * standing.DAYS_A_MONTH * get * (regions - 1)
    return regions * (checkpoints + standing.AUDITED_A_MONTH * get)
