"""The reranker that a function was told of."""

from __future__ import annotations

from memolith.entry.lambda_runtime import LambdaRuntime
from memolith.ports.rerank import Reranker


def reranker_of(running: LambdaRuntime) -> Reranker | None:
    """Return the reranker of the settings; None where there is none, and then nothing of it is imported."""
    arn = running.settings.rerank_model_arn
    if arn is None:
        return None
    from memolith.adapters.aws.reranker import BedrockReranker

    return BedrockReranker(running.clients, running.region.name, arn)
