"""`writer`: answers every request but GET, and no direct call.

It scans before it puts, so it carries the scanner's layer. In its own bucket it puts only under its own region's
prefix; into another's, what a store that asks for two regions must hold there, where nothing is, and never under that
other region's prefix. A write of a store whose home is elsewhere it passes on to that region's peerwriter.
"""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.deployment import Deployment

SHAPE = Shape(name="writer", memory_mb=1024, timeout=Duration.seconds(29), scans=True)

PUTS_AT_HOME = ("log", "proposal", "redaction", "run", "store", "verdict")
DECIDED = "resolution"
"""What a person decides: no pipeline's function may put it."""

PUTS = (*PUTS_AT_HOME, DECIDED, "job", "session", "transcript")
PUTS_BEYOND = ("cut", "log", "redaction", "store")


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the writer may do."""
    return [
        *writing(grants, deployment, region, PUTS),
        grants.read_signing_keys(),
        grants.read_verification_keys(),
    ]


def writing(grants: Grants, deployment: Deployment, region: str, puts: Iterable[str]) -> list[iam.PolicyStatement]:
    """Return what writing takes, whoever asks."""
    return [
        grants.read_index(),
        grants.write_index(),
        grants.read_control(),
        *grants.read_objects(),
        grants.put_own_objects(puts),
        *grants.put_beyond(PUTS_BEYOND),
        *grants.invoke("InvokePeers", ("peerwriter", deployment.peers(region)), ("eraser", [region])),
    ]
