"""Any service that answers `POST {url}` as Cohere's rerank does: Cohere, Jina, vLLM, Infinity, LocalAI, llama.cpp.

    {"model", "query", "documents", "top_n"} -> {"results": [{"index", "relevance_score"}]}

Source: Cohere API reference, "Rerank (v2)".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from memolith.adapters.rerankers.answers import scores_of
from memolith.ports.errors import Unavailable

TIMEOUT_S = 3.0
"""Between two bytes of the answer; a search waits for it."""

ANSWER_MAX_BYTES = 1_000_000


class HttpReranker:
    """`ports.rerank.Reranker`. Follows no redirection: the texts and the key go to the address that was named."""

    def __init__(
        self, url: str, model: str | None = None, key: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Keep the address, an ``http`` or ``https`` one; no call."""
        self._url, self._model, self._key, self._timeout_s = url, model, key, timeout_s
        self._opener = build_opener(_NoRedirection)

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Ask once."""
        asked: dict[str, Any] = {"query": query, "documents": list(texts), "top_n": len(texts)}
        if self._model is not None:
            asked["model"] = self._model
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(asked).encode(), headers, method="POST")  # noqa: S310 - checked by settings
        try:
            with self._opener.open(request, timeout=self._timeout_s) as reply:
                body = reply.read(ANSWER_MAX_BYTES + 1)
            answer = json.loads(body) if len(body) <= ANSWER_MAX_BYTES else None
        except (OSError, HTTPException, ValueError) as error:
            status = getattr(error, "code", "")
            raise Unavailable(f"the reranker does not answer: {type(error).__name__} {status}".strip()) from None
        return scores_of(answer.get("results") if isinstance(answer, dict) else None, "relevance_score", len(texts))


class _NoRedirection(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Refuse it: urllib then raises the answer as an error."""
