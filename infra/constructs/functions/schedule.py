"""What wakes the reconciler: rules of EventBridge, one every `tick_minutes`, one every hour.

How long a period of the journal is follows from the first, and with it how far a watermark lies behind at least.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.deployment import Deployment

AGE_MAX = Duration.minutes(5)
"""How long an event waits for a function that is throttled."""


class Schedule(Construct):
    """``{prefix}-tick`` and ``{prefix}-compare``. What failed is not repeated: the next is due anyway.

    A comparison is made once a day; the hourly rule begins it, or goes on with one that is under way.
    """

    def __init__(self, scope: Construct, deployment: Deployment, function: lambda_.IFunction) -> None:
        """Make the rules, and let them invoke the function."""
        super().__init__(scope, "Schedule")
        never_repeat(function)
        for call, every, what in (
            ("tick", Duration.minutes(deployment.tick_minutes), "the journal's period ends, the watermarks move"),
            ("compare", Duration.hours(1), "listing and tables are compared, once a day"),
        ):
            given = events.RuleTargetInput.from_object({"call": call})
            events.Rule(
                self,
                call.title(),
                rule_name=f"{deployment.prefix}-{call}",
                description=f"Memolith {deployment.stage}: {what}",
                schedule=events.Schedule.rate(every),
                targets=[targets.LambdaFunction(function, event=given, retry_attempts=0)],
            )


def never_repeat(function: lambda_.IFunction) -> None:
    """Have Lambda run each scheduled event once, or not at all where the function stays throttled for `AGE_MAX`.

    A rule's own retries are of the delivery. Unless told otherwise Lambda runs an event that failed twice more, and
    keeps a throttled one for six hours.
    Source: AWS Lambda Developer Guide, "How Lambda handles errors and retries with asynchronous invocation".
    """
    function.configure_async_invoke(retry_attempts=0, max_event_age=AGE_MAX)
