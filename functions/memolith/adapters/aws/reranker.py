"""Amazon Bedrock's rerank models, with the function's own rights and no key.

Source: Amazon Bedrock API reference, "Rerank" (Agents for Amazon Bedrock Runtime).
"""

from __future__ import annotations

from collections.abc import Sequence

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of
from memolith.adapters.rerankers.answers import scores_of
from memolith.ports.errors import Unavailable


class BedrockReranker:
    """`ports.rerank.Reranker` on one model of one region."""

    def __init__(self, clients: Clients, region: str, model_arn: str) -> None:
        """Make the client; no call."""
        self._client = clients.bedrock_agent_runtime(region)
        self._model_arn = model_arn

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Ask once, for all texts."""
        model = {"modelConfiguration": {"modelArn": self._model_arn}, "numberOfResults": len(texts)}
        sources = [
            {"type": "INLINE", "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": text}}}
            for text in texts
        ]
        try:
            answer = self._client.rerank(
                queries=[{"type": "TEXT", "textQuery": {"text": query}}],
                sources=sources,
                rerankingConfiguration={
                    "type": "BEDROCK_RERANKING_MODEL",
                    "bedrockRerankingConfiguration": model,
                },
            )
        except AwsError as error:
            raise Unavailable(f"Bedrock's reranker does not answer: {code_of(error)}") from None
        return scores_of(answer.get("results"), "relevanceScore", len(texts))
