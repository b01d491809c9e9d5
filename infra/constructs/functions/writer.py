"""`writer`: answers every other request, and what other regions' writers and indexers ask of this one.

It scans before it puts, so it carries the scanner's layer. In its own bucket it puts only under its own region's
prefix; into another's, what a store that asks for two regions must hold there, where nothing is, and never under that
other region's prefix.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.deployment import Deployment

SHAPE = Shape(name="writer", memory_mb=1024, timeout=Duration.seconds(29), scans=True)

PUTS = ("key", "log", "redaction", "session", "store", "verdict")
PUTS_BEYOND = ("cut", "log", "redaction", "store")


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the writer may do."""
    return [
        grants.read_index(),
        grants.write_index(),
        grants.read_control(),
        *grants.read_objects(),
        grants.read_signing_keys(),
        grants.put_own_objects(PUTS),
        *grants.put_beyond(PUTS_BEYOND),
        *grants.invoke("InvokePeers", ("writer", deployment.peers(region)), ("eraser", [region])),
    ]
