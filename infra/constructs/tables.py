"""The region's tables, as `memolith.core.tables` describes them.

No point-in-time copies: they would keep erased paths, and every table can be rebuilt from the bucket. DynamoDB itself
refuses to delete them, and a destroyed stack leaves them standing. Each generation is a resource of its own, so that
the next one never replaces this one.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.deployment import Deployment
from memolith.core.tables import PARTITION_KEY, SORT_KEY, TABLES, Table


class RegionTables(Construct):
    """Every table of one region; those of the index in the generation that the record names."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str) -> None:
        """Make the tables."""
        super().__init__(scope, "Tables")
        generation = deployment.generation(region)
        self.tables = {table.name: self._table(table, deployment, generation) for table in TABLES}
        acknowledge(
            self,
            {
                "AwsSolutions-DDB3": "A point-in-time copy would keep erased paths; the tables are rebuilt from the "
                "bucket, and the journal's loss makes the watermark wait, not lie."
            },
        )

    def _table(self, shape: Table, deployment: Deployment, generation: int) -> dynamodb.Table:
        table = dynamodb.Table(
            self,
            shape.physical_name(shape.name, generation).removeprefix(f"{shape.name}-"),
            table_name=shape.physical_name(deployment.prefix, generation),
            partition_key=_string(PARTITION_KEY),
            sort_key=_string(SORT_KEY),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute=shape.expires_attribute,
            deletion_protection=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        for index in shape.indexes:
            table.add_global_secondary_index(
                index_name=index.name,
                partition_key=_string(index.partition_key),
                sort_key=_string(index.sort_key),
                projection_type=dynamodb.ProjectionType.ALL,
            )
        return table


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
