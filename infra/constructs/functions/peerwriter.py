"""`peerwriter`: does at a store's home what other regions' writers, the indexer and reconcilers ask for.

The asking function vouches for who is behind the call, so that no function that takes HTTP requests or an agent's calls
may be this one. It may what a writer may, but for sessions and the keys of tokens.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.constructs.functions.writer import DECIDED, PUTS_AT_HOME, writing
from infra.deployment import Deployment

SHAPE = Shape(name="peerwriter", memory_mb=1024, timeout=Duration.seconds(29), scans=True)


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the peerwriter may do."""
    return writing(grants, deployment, region, (*PUTS_AT_HOME, DECIDED))
