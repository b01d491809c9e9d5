"""The region's bucket: the one place where the truth stands.

Versioned, encrypted, private, over TLS only. Its policy makes three promises of the design into rules that no function
can break, whatever its code does: a slot is put only where none is, only the eraser deletes, and no other region's
function puts what this region alone writes. Replicas arrive as ``s3:ReplicateObject``, which no rule names.
Source: Amazon S3 User Guide, "Enforce conditional writes on Amazon S3 buckets"; "Setting up permissions for live
replication".
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable

from infra.acknowledge import acknowledge
from infra.deployment import Deployment

_RECORDS = (
    "key",
    "verdict",
    "session",
    "transcript",
    "checkpoint",
    "redaction",
    "job",
    "proposal",
    "resolution",
    "run",
)
WRITTEN_ONCE = ("log", "store", "cut", "pack", "dream", *_RECORDS)
"""Kinds of object that are put only where nothing is, under any region's prefix."""

NEVER_DELETED = WRITTEN_ONCE
"""Kinds of object that only the eraser deletes, under any region's prefix."""


class RegionBucket(Construct):
    """One region's bucket, with its policy and its one notification."""

    def __init__(
        self, scope: Construct, deployment: Deployment, region: str, *, notified_arn: str, notified_ready: IDependable
    ) -> None:
        """Make the bucket `deployment.bucket(region)`.

        Args:
            scope: The stack.
            deployment: The record.
            region: The region of that stack.
            notified_arn: The queue that receives every ``ObjectCreated`` event, replicas' too.
            notified_ready: What must stand before S3 accepts that queue: its policy.
        """
        super().__init__(scope, "Bucket")
        self.bucket = s3.Bucket(
            self,
            "Objects",
            bucket_name=deployment.bucket(region),
            versioned=True,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(id="unfinished-uploads", abort_incomplete_multipart_upload_after=Duration.days(1))
            ],
            removal_policy=RemovalPolicy.RETAIN,
        )
        for statement in statements(deployment, region):
            self.bucket.add_to_resource_policy(statement)
        objects = self.bucket.node.default_child
        assert isinstance(objects, s3.CfnBucket)  # noqa: S101 - tells mypy what jsii always returns here
        objects.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            queue_configurations=[
                s3.CfnBucket.QueueConfigurationProperty(event="s3:ObjectCreated:*", queue=notified_arn)
            ]
        )
        self.bucket.node.add_dependency(notified_ready)
        acknowledge(
            self.bucket,
            {
                "AwsSolutions-S1": "Access logs would repeat every key and caller. Who needs them turns on CloudTrail "
                "data events, which stay under the account's own rules."
            },
        )


def statements(deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return the region's bucket policy, denials only: each function's own role allows what it may do."""
    deletes = ["s3:DeleteObject", "s3:DeleteObjectVersion"]
    unconditional = {"Null": {"s3:if-none-match": "true"}}
    return [
        _deny("OnlyTheEraserDeletes", deletes, NEVER_DELETED, deployment, region),
        _deny("PutOnlyWhereNothingIs", ["s3:PutObject"], WRITTEN_ONCE, deployment, region, unconditional),
        _own_prefix_is_written_here(deployment, region),
    ]


def _own_prefix_is_written_here(deployment: Deployment, region: str) -> iam.PolicyStatement:
    """Deny the region's own prefix to every function of another region: S3 would replicate what it put to all of them.

    Copies of other regions' objects are put here by the writers of stores that ask for two regions; a copy of what this
    region wrote is never needed in its own bucket. By the names of roles rather than a list of prefixes in the writers'
    roles, which would outgrow a role's 10,240 characters from seven regions on. It names roles of the deployment alone,
    so that an operator can still bring an object back.
    """
    return iam.PolicyStatement(
        sid="OwnPrefixIsWrittenHere",
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=["s3:PutObject"],
        resources=[f"{_bucket_arn(deployment, region)}/{region}/*"],
        conditions={
            "ArnLike": {"aws:PrincipalArn": deployment.arn("iam", "", f"role/{deployment.prefix}-*")},
            "ArnNotLike": {"aws:PrincipalArn": deployment.arn("iam", "", f"role/{deployment.regional('*', region)}")},
        },
    )


def _deny(
    sid: str,
    actions: list[str],
    kinds: tuple[str, ...],
    deployment: Deployment,
    region: str,
    conditions: dict[str, Any] | None = None,
) -> iam.PolicyStatement:
    eraser = deployment.arn("iam", "", f"role/{deployment.regional('eraser', region)}")
    return iam.PolicyStatement(
        sid=sid,
        effect=iam.Effect.DENY,
        principals=[iam.AnyPrincipal()],
        actions=actions,
        resources=[f"{_bucket_arn(deployment, region)}/*/{kind}/*" for kind in kinds],
        conditions={"ArnNotEquals": {"aws:PrincipalArn": eraser}, **(conditions or {})},
    )


def _bucket_arn(deployment: Deployment, region: str) -> str:
    return deployment.arn("s3", "", deployment.bucket(region))
