"""The first row of ``{prefix}-control``: which index generation serves, and whether it is complete.

Written once, when the region is new. A region of a deployment that already holds records begins incomplete: it has to
be filled and its index rebuilt before it may answer that something does not exist. Checkpoints alone are none.
"""

from __future__ import annotations

from aws_cdk import CustomResource
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.constructs.once import ANSWERED_WITHIN, DeployTimeFunction
from infra.deployment import Deployment


class FirstControlRow(Construct):
    """Puts the row if there is none. Never changes or deletes it."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str) -> None:
        """Put the row for the region's generation."""
        super().__init__(scope, "Control")
        buckets = [{"Region": other, "Name": deployment.bucket(other)} for other in deployment.regions]
        table = f"{deployment.prefix}-control"
        puts = DeployTimeFunction(
            self,
            deployment,
            region,
            name="first-control-row",
            handler="infra.custom_resources.control_row.handler",
            statements=[
                iam.PolicyStatement(
                    sid="LookIntoBuckets",
                    actions=["s3:ListBucket"],
                    resources=[deployment.arn("s3", "", bucket["Name"]) for bucket in buckets],
                ),
                iam.PolicyStatement(
                    sid="PutRow",
                    actions=["dynamodb:PutItem"],
                    resources=[deployment.arn("dynamodb", region, f"table/{table}")],
                ),
            ],
        )
        CustomResource(
            self,
            "Row",
            service_token=puts.function.function_arn,
            resource_type="Custom::MemolithFirstControlRow",
            service_timeout=ANSWERED_WITHIN,
            properties={"Buckets": buckets, "Table": table, "Generation": str(deployment.generation(region))},
        )
