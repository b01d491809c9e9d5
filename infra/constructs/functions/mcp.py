"""`mcp`: the memory store over the Model Context Protocol, for clients that come through the HTTP API.

It asks the reader and the writer of its own region, with the bearer that came; it touches nothing else. It ends when
the HTTP API would stop waiting for it.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants

SHAPE = Shape(name="mcp", memory_mb=1024, timeout=Duration.seconds(29), speaks_mcp=True)


def statements(grants: Grants, region: str) -> list[iam.PolicyStatement]:
    """Return what it may do."""
    return grants.invoke("AskReaderAndWriter", ("reader", [region]), ("writer", [region]))
