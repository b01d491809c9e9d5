"""`keys`: creates, lists and revokes API keys. No role of a function may invoke it: operators do, with their own, and
the HTTP API for admins, whose key it verifies itself.

It writes under its own region's prefix, where nothing is, and the rows of keys.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants

SHAPE = Shape(name="keys", memory_mb=512, timeout=Duration.seconds(29))

PUTS = ("key",)

WRITES = ("keys", "journal")
"""The tables that projecting a key's record writes."""


def statements(grants: Grants) -> list[iam.PolicyStatement]:
    """Return what it may do."""
    return [
        grants.read_index(),
        grants.write_index(*WRITES),
        grants.read_control(),
        *grants.read_objects(),
        grants.put_own_objects(PUTS),
    ]
