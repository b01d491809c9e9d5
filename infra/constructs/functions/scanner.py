"""`scanner`: looks again, more deeply, at every committed version, and answers questions about a text.

It reads, puts verdicts under its own region's prefix, and folds them. It deletes nothing, and puts nothing else.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.deployment import Deployment

SHAPE = Shape(name="scanner", memory_mb=1024, timeout=Duration.seconds(60), scans=True, searches=True)

BATCH_SIZE = 10

PUTS = ("verdict",)

WRITES = ("verdicts", "journal")
"""The tables that folding a verdict writes."""


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the scanner may do."""
    guardrail = deployment.guardrails.get(region)
    return [
        grants.read_index(),
        grants.write_index(*WRITES),
        grants.read_control(),
        *grants.read_objects(),
        grants.put_own_objects(PUTS),
        grants.consume("scan"),
        *([grants.ask_guardrail(guardrail["id"])] if guardrail else []),
    ]


def environment(deployment: Deployment, region: str) -> dict[str, str]:
    """Return its environment besides what every function gets."""
    guardrail = deployment.guardrails.get(region)
    if guardrail is None:
        return {}
    return {"MEMOLITH_GUARDRAIL_ID": guardrail["id"], "MEMOLITH_GUARDRAIL_VERSION": guardrail["version"]}
