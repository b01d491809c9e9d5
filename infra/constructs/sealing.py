"""The key that signs a region's checkpoints: asymmetric, in KMS, so that nobody can copy it."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.deployment import Deployment


class SealingKey(Construct):
    """``alias/{prefix}-seal``: ECDSA on P-256, which the region's reconciler signs with.

    It goes thirty days after its stack, and can be kept until then: whoever wants to check what it signed keeps the
    public half (docs/adr/0044-a-checkpoint-seals-what-it-names.md).
    """

    def __init__(self, scope: Construct, deployment: Deployment) -> None:
        """Make the key and its alias."""
        super().__init__(scope, "Sealing")
        self.key = kms.Key(
            self,
            "Key",
            description=f"Signs the checkpoints of Memolith {deployment.stage}",
            key_spec=kms.KeySpec.ECC_NIST_P256,
            key_usage=kms.KeyUsage.SIGN_VERIFY,
            pending_window=Duration.days(30),
            removal_policy=RemovalPolicy.DESTROY,
        )
        kms.Alias(
            self,
            "Alias",
            alias_name=f"alias/{deployment.prefix}-seal",
            target_key=self.key,
            removal_policy=RemovalPolicy.DESTROY,
        )
