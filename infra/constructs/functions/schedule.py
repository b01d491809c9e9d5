"""What wakes the reconciler: rules of EventBridge, one every `tick_minutes`, the others every hour.

How long a period of the journal is follows from the first, and with it how far a watermark lies behind at least.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.deployment import Deployment

TARGETS_MAX = 5
"""Of one rule. Source: Amazon EventBridge User Guide, "Amazon EventBridge quotas"."""

AGE_MAX = Duration.minutes(5)
"""How long an event waits for a function that is throttled."""


class Schedule(Construct):
    """``{prefix}-tick`` and ``{prefix}-compare``. What failed is not repeated: the next is due anyway.

    A comparison is made once a day; the hourly rule begins it, or goes on with one that is under way. If that of the
    listing is made in parts, they go on by rules of their own, ``{prefix}-compare-from-1`` and so on.
    """

    def __init__(self, scope: Construct, deployment: Deployment, function: lambda_.IFunction) -> None:
        """Make the rules, and let them invoke the function."""
        super().__init__(scope, "Schedule")
        never_repeat(function)
        for name, minutes, what, given in _rules(deployment):
            inputs = [events.RuleTargetInput.from_object(one) for one in given]
            events.Rule(
                self,
                name.title(),
                rule_name=f"{deployment.prefix}-{name}",
                description=f"Memolith {deployment.stage}: {what}",
                schedule=events.Schedule.rate(Duration.minutes(minutes)),
                targets=[targets.LambdaFunction(function, event=one, retry_attempts=0) for one in inputs],
            )


def _rules(deployment: Deployment) -> Iterator[tuple[str, int, str, list[dict[str, Any]]]]:
    """Yield name, minutes, meaning and events of each rule."""
    parts = deployment.limits.comparison_parts
    numbers = range(1, parts + 1) if parts > 1 else range(0)
    divided = {"parts": parts} if numbers else {}
    tick, compare = {"call": "tick"}, {"call": "compare", **divided}
    yield "tick", deployment.tick_minutes, "the journal's period ends, the watermarks move", [tick]
    yield "compare", 60, "listing and tables are compared, once a day", [compare]
    for first in numbers[::TARGETS_MAX]:
        some = [{"call": "compare", "part": part} for part in numbers[first - 1 : first - 1 + TARGETS_MAX]]
        yield f"compare-from-{first}", 60, "parts of the comparison of the listing", some


def never_repeat(function: lambda_.IFunction) -> None:
    """Have Lambda run each scheduled event once, or not at all where the function stays throttled for `AGE_MAX`.

    A rule's own retries are of the delivery. Unless told otherwise Lambda runs an event that failed twice more, and
    keeps a throttled one for six hours.
    Source: AWS Lambda Developer Guide, "How Lambda handles errors and retries with asynchronous invocation".
    """
    function.configure_async_invoke(retry_attempts=0, max_event_age=AGE_MAX)
