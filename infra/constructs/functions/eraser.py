"""`eraser`: blanks an object and deletes its older versions, in its own region. No other function may.

It also repairs a damaged object from another region's copy, which is putting over it too.

A schedule wakes it for what no event brings to an end: stores that are not erased yet, and retention.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.constructs.functions.function import Function, Shape
from infra.constructs.functions.grants import Grants
from infra.constructs.functions.schedule import never_repeat
from infra.deployment import Deployment

SHAPE = Shape(name="eraser", memory_mb=512, timeout=Duration.seconds(300))


def statements(grants: Grants) -> list[iam.PolicyStatement]:
    """Return what the eraser may do."""
    return [
        grants.read_index(),
        grants.read_control(),
        grants.note_erasures(),
        grants.erase_rows(),
        *grants.erase_objects(),
        *grants.read_copies(),
    ]


def schedule(scope: Construct, deployment: Deployment, function: Function) -> events.Rule:
    """Wake the eraser with its one call. A sweep that fails is not repeated: the next one goes on."""
    never_repeat(function.invoked)
    return events.Rule(
        scope,
        "Sweep",
        rule_name=f"{deployment.prefix}-erasure-sweep",
        description="Goes on with stores that are being erased, and with retention",
        schedule=events.Schedule.rate(Duration.minutes(deployment.tick_minutes)),
        targets=[
            targets.LambdaFunction(
                function.invoked, event=events.RuleTargetInput.from_object({"call": "sweep"}), retry_attempts=0
            )
        ],
    )
