"""`tool`: the memory tool for agent platforms that invoke a function: plain, Bedrock Agents, AgentCore Gateway.

It asks the reader and the writer of its own region, with the key or token that it was given; it touches nothing else.
A command on a directory is many of those calls, so that it may take longer than one request.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants

SHAPE = Shape(name="tool", memory_mb=512, timeout=Duration.seconds(120))


def statements(grants: Grants, region: str) -> list[iam.PolicyStatement]:
    """Return what the tool may do."""
    return [*grants.invoke("AskReaderAndWriter", ("reader", [region]), ("writer", [region])), grants.read_targets()]
