"""`peerreader`: answers other regions' reads, of stores whose home this is. Only readers may invoke it.

The asking region vouches for the caller, so that no function that takes HTTP requests or an agent's calls may be this
one, or invoke it for others. It may what a reader may, but for the keys of tokens, of which it sees none.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.constructs.functions.reader import reading
from infra.deployment import Deployment

SHAPE = Shape(name="peerreader", memory_mb=1024, timeout=Duration.seconds(29), searches=True)


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the peerreader may do."""
    return reading(grants, deployment, region)
