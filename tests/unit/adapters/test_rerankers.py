"""Rerankers: boto3 itself and urllib itself against a local server that speaks both interfaces."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from memolith.adapters.aws.reranker import BedrockReranker
from memolith.adapters.rerankers.http import HttpReranker
from memolith.ports.errors import Unavailable
from memolith.ports.rerank import Reranker
from tests.unit.adapters.awkward_server import HANG_UP, HOME, Answer, AwkwardServer

pytestmark = pytest.mark.usefixtures("impatient")

TEXTS = ["the secret cat", "the dog"]
MODEL = f"arn:aws:bedrock:{HOME}::foundation-model/cohere.rerank-v3-5:0"


def said(body: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(body).encode())


def _http(server: AwkwardServer) -> Reranker:
    return HttpReranker(f"{server.url}/v1/rerank", "rank-1", "a-key", timeout_s=0.5)


def _bedrock(server: AwkwardServer) -> Reranker:
    return BedrockReranker(server.clients, HOME, MODEL)


BOTH = pytest.mark.parametrize(
    ("made", "field"), [(_http, "relevance_score"), (_bedrock, "relevanceScore")], ids=["http", "bedrock"]
)


@BOTH
def test_scores_come_back_in_the_order_of_the_texts(
    server: AwkwardServer, made: Callable[[AwkwardServer], Reranker], field: str
) -> None:
    server.answer(said({"results": [{"index": 1, field: 0.9}, {"index": 0, field: 0.25}]}))
    assert made(server).scores("dogs", TEXTS) == [0.25, 0.9]


def test_a_service_is_asked_as_cohere_is(server: AwkwardServer) -> None:
    server.answer(said({"results": [{"index": place, "relevance_score": 1} for place in (0, 1)]}))
    _http(server).scores("dogs", TEXTS)
    [asked] = server.requests
    assert asked.json == {"query": "dogs", "documents": TEXTS, "top_n": 2, "model": "rank-1"}
    assert {name.lower(): value for name, value in asked.headers.items()}["authorization"] == "Bearer a-key"


def test_bedrock_is_asked_for_one_model_and_all_texts(server: AwkwardServer) -> None:
    server.answer(said({"results": [{"index": place, "relevanceScore": 1} for place in (0, 1)]}))
    _bedrock(server).scores("dogs", TEXTS)
    [asked] = server.requests
    chosen = asked.json["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    assert chosen == {"modelConfiguration": {"modelArn": MODEL}, "numberOfResults": 2}
    sent = [source["inlineDocumentSource"]["textDocument"]["text"] for source in asked.json["sources"]]
    assert (sent, asked.json["queries"][0]["textQuery"]["text"]) == (TEXTS, "dogs")


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        said({"results": []}),
        said({"results": [{"index": 0}, {"index": 1}]}),
        said({"message": "the secret cat"}, 429),
        said({"message": "the secret cat"}, 500),
        HANG_UP,
    ],
    ids=["no scores", "no numbers", "throttled", "broken", "hung up"],
)
def test_what_is_no_answer_is_unavailable_and_its_message_names_no_text(
    server: AwkwardServer, made: Callable[[AwkwardServer], Reranker], field: str, answer: Answer
) -> None:
    server.answer(answer)
    with pytest.raises(Unavailable) as failure:
        made(server).scores("dogs", TEXTS)
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    "body", [b"{", b"x" * 1_000_001, b"[1]", b'{"results": "none"}'], ids=["torn", "long", "list", "none"]
)
def test_an_http_answer_of_another_form_is_unavailable(server: AwkwardServer, body: bytes) -> None:
    server.answer(Answer(body=body))
    with pytest.raises(Unavailable):
        _http(server).scores("dogs", TEXTS)


def test_texts_and_key_follow_no_redirection(server: AwkwardServer) -> None:
    server.answer(Answer(status=302, headers={"location": f"{server.url}/elsewhere"}))
    with pytest.raises(Unavailable, match="302"):
        _http(server).scores("dogs", TEXTS)
    assert len(server.requests) == 1
