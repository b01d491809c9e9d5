"""The secret that signs the tokens of sessions: made in the first region, replicated to every other."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_secretsmanager as secrets
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.deployment import Deployment

FIRST_KEY = "k1"
KEY_CHARS = 64


class SigningSecret(Construct):
    """``{prefix}-signing``: a JSON object of named keys, the first of them random. Of one name in every region.

    It goes with its stack: every token ends then, and new ones are had with the API keys, which stay. It is rotated by
    hand, one key after another, because a token must stay true until its own end (docs/operations/keys.md).
    """

    def __init__(self, scope: Construct, deployment: Deployment, region: str) -> None:
        """Make the secret in `region`, and a replica in each of the deployment's other regions."""
        super().__init__(scope, "Signing")
        self.secret = secrets.Secret(
            self,
            "Secret",
            secret_name=f"{deployment.prefix}-signing",
            description="Signs the tokens of sessions; the last name in order signs, all of them verify",
            generate_secret_string=secrets.SecretStringGenerator(
                secret_string_template="{}",  # noqa: S106 - the object that the first key is put into
                generate_string_key=FIRST_KEY,
                password_length=KEY_CHARS,
                exclude_punctuation=True,
            ),
            replica_regions=[secrets.ReplicaRegion(region=other) for other in deployment.regions if other != region],
            removal_policy=RemovalPolicy.DESTROY,
        )
        acknowledge(
            self.secret,
            {"AwsSolutions-SMG4": "Rotated by hand: a key must verify until the last token that it signed has ended."},
        )
