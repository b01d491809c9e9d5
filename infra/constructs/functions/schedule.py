"""What wakes the reconciler: a rule of EventBridge, every minute."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.deployment import Deployment

EVERY = Duration.minutes(1)
"""How long a period of the journal is, and so how far a watermark lies behind at least."""


class Schedule(Construct):
    """``{prefix}-tick``: one invocation a minute; one that failed is not repeated, the next one is due anyway."""

    def __init__(self, scope: Construct, deployment: Deployment, function: lambda_.Function) -> None:
        """Make the rule, and let it invoke the function."""
        super().__init__(scope, "Schedule")
        tick = events.RuleTargetInput.from_object({"call": "tick"})
        events.Rule(
            self,
            "Tick",
            rule_name=f"{deployment.prefix}-tick",
            description=f"Cairn {deployment.stage}: the journal's period ends, the watermarks move",
            schedule=events.Schedule.rate(EVERY),
            targets=[targets.LambdaFunction(function, event=tick, retry_attempts=0)],
        )
