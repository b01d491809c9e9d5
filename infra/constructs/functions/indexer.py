"""`indexer`: folds what arrived in the bucket, own and replicated, and what a rebuild lists.

It puts one kind of object: what lowers a session's trust class, for the reader, which writes nothing.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants

SHAPE = Shape(name="indexer", memory_mb=512, timeout=Duration.seconds(60))

BATCH_SIZE = 10

REBUILD_BATCH_SIZE = 1
"""A message of the rebuild is fifty objects already: ten of them, beside live traffic, can outlast an invocation, and
then come back only after six of its time-outs."""


def statements(grants: Grants, region: str) -> list[iam.PolicyStatement]:
    """Return what the indexer may do."""
    return [
        grants.read_index(),
        grants.write_index(),
        grants.read_control(),
        grants.note_rebuilt_batches(),
        *grants.read_objects(),
        grants.put_own_objects(["session"]),
        grants.consume("index", "rebuild"),
        grants.bring_back("index", "rebuild"),
        grants.send("index-dlq", "scan", "pack"),
        *grants.invoke("InvokePeerwriterAndEraser", ("peerwriter", [region]), ("eraser", [region])),
    ]
