"""`reader`: answers every GET. It reads, here and, for what has not arrived yet, in the other regions."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants

SHAPE = Shape(name="reader", memory_mb=1024, timeout=Duration.seconds(29))


def statements(grants: Grants) -> list[iam.PolicyStatement]:
    """What the reader may."""
    return [grants.read_index(), grants.read_control(), *grants.read_objects()]
