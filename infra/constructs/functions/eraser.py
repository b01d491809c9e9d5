"""`eraser`: blanks an object and deletes its older versions, in its own region. Nobody else may."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants

SHAPE = Shape(name="eraser", memory_mb=512, timeout=Duration.seconds(60))


def statements(grants: Grants) -> list[iam.PolicyStatement]:
    """What the eraser may."""
    return [grants.read_index(), grants.read_control(), *grants.erase_objects()]
