"""Each region's own prefix, to every other region.

The rules are put by a function that the mesh stack runs while it deploys, because S3 accepts them only once the other
buckets exist: all base stacks come first, then all mesh stacks. A key is written in one region only and only that
region's prefix is replicated, so nothing that was copied into another region's bucket by hand or by a repair travels
any further. What is put back into the bucket of the region that wrote it does, over every other copy:
`memolith.clients.cli.regions` puts it there before the rules, or only where the copies agree.
Source: Amazon S3 User Guide, "Replication configuration file elements".
"""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.functions.function import shown
from infra.constructs.once import DeployTimeFunction
from infra.deployment import Deployment

MINUTES = 15
"""S3 knows no other value, for the promise and for the metrics."""


class Replication(Construct):
    """The region's rules, its replication role, and what puts the one on the bucket with the other."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str) -> None:
        """Replicate ``{region}/`` from the region's bucket to all of its peers."""
        super().__init__(scope, "Replication")
        role = self._role(deployment, region)
        bucket = deployment.bucket(region)
        puts = DeployTimeFunction(
            self,
            deployment,
            region,
            name="replicate",
            handler="infra.custom_resources.replication.handler",
            statements=[
                iam.PolicyStatement(
                    sid="PutRules",
                    actions=["s3:PutReplicationConfiguration"],
                    resources=[deployment.arn("s3", "", bucket)],
                ),
                iam.PolicyStatement(
                    sid="HandOverRole",
                    actions=["iam:PassRole"],
                    resources=[deployment.arn("iam", "", f"role/{deployment.regional('replication', region)}")],
                    conditions={"StringEquals": {"iam:PassedToService": "s3.amazonaws.com"}},
                ),
            ],
        )
        rules = puts.resource(
            self,
            "Rules",
            "Custom::MemolithReplication",
            {"Bucket": bucket, "Role": role.role_arn, "Rules": replication_rules(deployment, region)},
        )
        rules.node.add_dependency(role)

    def _role(self, deployment: Deployment, region: str) -> iam.Role:
        own = deployment.arn("s3", "", deployment.bucket(region))
        prefix = f"{own}/{region}/*"
        targets = [
            deployment.arn("s3", "", deployment.bucket(peer)) + f"/{region}/*" for peer in deployment.peers(region)
        ]
        role = iam.Role(
            self,
            "Role",
            role_name=deployment.regional("replication", region),
            description=f"S3 copies {region}/ to the other regions",
            assumed_by=iam.ServicePrincipal("s3.amazonaws.com"),
            inline_policies={
                "copies": iam.PolicyDocument(
                    statements=[
                        iam.PolicyStatement(
                            sid="ReadRules",
                            actions=["s3:GetReplicationConfiguration", "s3:ListBucket"],
                            resources=[own],
                        ),
                        iam.PolicyStatement(
                            sid="ReadOwnPrefix",
                            actions=[
                                "s3:GetObjectVersionAcl",
                                "s3:GetObjectVersionForReplication",
                                "s3:GetObjectVersionTagging",
                            ],
                            resources=[prefix],
                        ),
                        iam.PolicyStatement(
                            sid="WriteToPeers", actions=["s3:ReplicateObject", "s3:ReplicateTags"], resources=targets
                        ),
                    ]
                )
            },
        )
        for resource in (prefix, *targets):
            acknowledge(
                role,
                {
                    f"AwsSolutions-IAM5[Resource::{shown(resource)}]": "S3 copies every object under the region's own "
                    "prefix, to the same keys."
                },
            )
        return role


def rule_id(target: str) -> str:
    """Return the name of the rule that copies to `target`; CloudWatch's metrics have it."""
    return f"to-{target}"


def replication_rules(deployment: Deployment, region: str) -> list[dict[str, Any]]:
    """Return the region's rules as S3 takes them. They replicate no deletions: each region's eraser deletes its own."""
    promise: dict[str, Any] = {}
    if deployment.replication_time_control:
        promise["Metrics"] = {"Status": "Enabled", "EventThreshold": {"Minutes": MINUTES}}
        promise["ReplicationTime"] = {"Status": "Enabled", "Time": {"Minutes": MINUTES}}
    elif deployment.monitoring == "full":
        promise["Metrics"] = {"Status": "Enabled"}
    return [
        {
            "ID": rule_id(peer),
            "Priority": priority,
            "Status": "Enabled",
            "Filter": {"Prefix": f"{region}/"},
            "DeleteMarkerReplication": {"Status": "Disabled"},
            "Destination": {
                "Bucket": deployment.arn("s3", "", deployment.bucket(peer)),
                **promise,
            },
        }
        for priority, peer in enumerate(deployment.peers(region), start=1)
    ]
