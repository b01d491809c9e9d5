"""The first row of every region's ``{prefix}-control``: which index generation serves, and whether it is complete.

Each is written once, when its region is new. A region of a deployment that already holds records begins incomplete: it
has to be filled and its index rebuilt before it may answer that something does not exist. Checkpoints alone are none.

One function looks, and then writes all rows. If each region looked for itself, a caller could write through the first
one that has a row, and the next one would take that for records of earlier.

A region that was removed and is added again may have its old row: that one is made incomplete.
"""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.constructs.once import DeployTimeFunction
from infra.deployment import Deployment


class FirstControlRows(Construct):
    """Puts the row of each region that has none, from the first region. Never deletes one."""

    def __init__(self, scope: Construct, deployment: Deployment) -> None:
        """Put the rows for the regions' generations."""
        super().__init__(scope, "Control")
        table = f"{deployment.prefix}-control"
        puts = DeployTimeFunction(
            self,
            deployment,
            deployment.regions[0],
            name="first-control-row",
            handler="infra.custom_resources.control_row.handler",
            statements=[
                iam.PolicyStatement(
                    sid="LookIntoBuckets",
                    actions=["s3:ListBucket"],
                    resources=[deployment.arn("s3", "", deployment.bucket(region)) for region in deployment.regions],
                ),
                iam.PolicyStatement(
                    sid="PutRows",
                    actions=["dynamodb:PutItem", "dynamodb:UpdateItem"],
                    resources=[deployment.arn("dynamodb", region, f"table/{table}") for region in deployment.regions],
                ),
            ],
        )
        regions = [
            {"Region": region, "Bucket": deployment.bucket(region), "Generation": str(deployment.generation(region))}
            for region in deployment.regions
        ]
        puts.resource(self, "Row", "Custom::MemolithFirstControlRow", {"Table": table, "Regions": regions})
