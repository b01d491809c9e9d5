"""`reader`: answers every GET, and no direct call. It reads, here and, for what has not arrived, in the other regions.

What is the home's to answer it asks of that region's peerreader. At home it may meet in a log what the index lacks yet:
it has the indexer fold that, which folds what stands in the bucket and nothing else; and a pack that it lacks, it has
the packer make. A reader writes nothing. It tells the public halves of the keys that sign checkpoints.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_iam as iam

from infra.constructs.functions.function import Shape
from infra.constructs.functions.grants import Grants
from infra.deployment import Deployment, partition_of

SHAPE = Shape(name="reader", memory_mb=1024, timeout=Duration.seconds(29), searches=True)


def statements(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what the reader may do."""
    return [*reading(grants, deployment, region), grants.read_verification_keys(), grants.read_seal_keys()]


def reading(grants: Grants, deployment: Deployment, region: str) -> list[iam.PolicyStatement]:
    """Return what reading takes, whoever asks."""
    asked = (("peerreader", deployment.peers(region)), ("indexer", [region]), ("packer", [region]))
    model = rerank_model(deployment, region)
    return [
        grants.read_index(),
        grants.read_control(),
        *grants.read_objects(),
        *grants.invoke("AskHomes", *asked),
        *(grants.rerank(model) if model else []),
    ]


def rerank_model(deployment: Deployment, region: str) -> str | None:
    """Return the ARN of the region's rerank model; None where there is none."""
    model = deployment.rerankers.get(region)
    return model and f"arn:{partition_of(region)}:bedrock:{region}::foundation-model/{model}"


def environment(deployment: Deployment, region: str) -> dict[str, str]:
    """Return its environment besides what every function gets."""
    model = rerank_model(deployment, region)
    return {"MEMOLITH_RERANK_MODEL_ARN": model} if model else {}
