"""The keys of the tokens of sessions: made in the first region, replicated to every other."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secrets
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.functions.code import Layers
from infra.constructs.once import DeployTimeFunction
from infra.deployment import Deployment


class SigningSecrets(Construct):
    """``{prefix}-signing`` and ``{prefix}-verification``: JWK sets, of one name in every region.

    The first holds the private halves and is for who signs, the second the public ones and is for who verifies. They go
    with their stack: every token ends then, and new ones are had with the API keys, which stay. They are rotated by an
    operator, because a token must stay true until its own end (docs/operations/keys.md).
    """

    def __init__(self, scope: Construct, deployment: Deployment, region: str, *, layers: Layers) -> None:
        """Make the secrets in `region`, a replica of each in the deployment's other regions, and the first key.

        Args:
            layers: With the library that makes a key.
        """
        super().__init__(scope, "Signing")
        self._deployment, self._region = deployment, region
        private = self._secret("signing", "Signs the tokens of sessions: a JWK set, of which the last name signs")
        public = self._secret("verification", "Verifies the tokens of sessions: a JWK set of the accepted keys")
        arns = [
            deployment.arn("secretsmanager", region, f"secret:{deployment.prefix}-{name}-??????")
            for name in ("signing", "verification")
        ]
        makes = DeployTimeFunction(
            self,
            deployment,
            region,
            name="first-signing-key",
            handler="infra.custom_resources.signing_keys.handler",
            statements=[
                iam.PolicyStatement(
                    sid="PutFirstKey",
                    actions=["secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue"],
                    resources=arns,
                )
            ],
            layers=layers,
        )
        first = makes.resource(
            self,
            "FirstKey",
            "Custom::MemolithFirstSigningKey",
            {"Private": f"{deployment.prefix}-signing", "Public": f"{deployment.prefix}-verification"},
        )
        first.node.add_dependency(private, public)

    def _secret(self, name: str, description: str) -> secrets.Secret:
        others = self._deployment.peers(self._region)
        secret = secrets.Secret(
            self,
            "Secret" if name == "signing" else name.title(),
            secret_name=f"{self._deployment.prefix}-{name}",
            description=description,
            replica_regions=[secrets.ReplicaRegion(region=other) for other in others],
            removal_policy=RemovalPolicy.DESTROY,
        )
        acknowledge(
            secret,
            {"AwsSolutions-SMG4": "Rotated by hand: a key must verify until the last token that it signed has ended."},
        )
        return secret
