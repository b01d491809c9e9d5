"""`dreamer`: does dreams, and is the only function that may ask their language models, or read a service's key.

It writes what a dream's own session may, through the use cases of the API: so it may what a peerwriter may, and put the
records of jobs and of sessions' trust. There is one only where the record switches dreams on.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.constructs.functions.writer import PUTS_AT_HOME, writing
from infra.deployment import Deployment
from infra.dreaming import Dreams

SHAPE = Shape(name="dreamer", memory_mb=1024, timeout=Duration.seconds(900), scans=True, asks=True)

BATCH_SIZE = 1

PUTS = (*PUTS_AT_HOME, "job", "session")


def statements(grants: Grants, deployment: Deployment, region: str, dreams: Dreams) -> list[iam.PolicyStatement]:
    """Return what the dreamer may do."""
    return [
        *writing(grants, deployment, region, PUTS),
        grants.put_dream_steps(),
        grants.consume("dream"),
        grants.send("dream"),
        *([grants.ask_models(sorted(dreams.ids(region).values()))] if dreams.service == "bedrock" else []),
        *([grants.read_models_key()] if dreams.has_key else []),
    ]


def environment(deployment: Deployment) -> dict[str, str]:
    """Return what the functions get that only need to know whether there are dreams."""
    return {} if deployment.dreams is None else {"MEMOLITH_DREAMS": deployment.dreams.service}
