"""`reconciler`: compares listing and tables, repairs, publishes checkpoints; and moves homes, on demand."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.deployment import Deployment

SHAPE = Shape(name="reconciler", memory_mb=512, timeout=Duration.seconds(900))

INVOKES = ("peerwriter", "reconciler")
"""In the other regions."""
INVOKES_HERE = ("peerwriter", "eraser")


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the reconciler may do."""
    peers = deployment.peers(region)
    return [
        grants.read_index(),
        grants.write_index(),
        grants.read_control(),
        grants.write_control(),
        *grants.read_objects(),
        grants.put_copies(),
        grants.seal(),
        grants.read_seal_keys(),
        grants.send("index", "rebuild", *(["dream"] if deployment.dreams is not None else [])),
        *grants.invoke(
            "InvokePeers", *((name, peers) for name in INVOKES), *((name, [region]) for name in INVOKES_HERE)
        ),
    ]
