"""`packer`: makes each store's pack out of its region's index and objects.

It reads, and puts packs, where nothing is; a pack is removed by the eraser alone, which it asks.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.deployment import Deployment

SHAPE = Shape(name="packer", memory_mb=2048, timeout=Duration.seconds(180), searches=True)

BATCH_SIZE = 5


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the packer may do."""
    return [
        grants.read_index(),
        grants.read_control(),
        *grants.read_objects(),
        grants.put_packs(),
        grants.consume("pack"),
        *([grants.send("pack")] if deployment.has_search_model else []),
        *grants.invoke("InvokeEraser", ("eraser", [region])),
    ]
