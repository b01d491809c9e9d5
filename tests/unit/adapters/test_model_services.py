"""The real SDKs of three services against a local server that speaks each API; nothing leaves the machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import pytest

from memolith.adapters.models.anthropic import AnthropicModel
from memolith.adapters.models.bedrock import BedrockModel
from memolith.adapters.models.openai import OpenAIModel
from memolith.adapters.models.services import service_of
from memolith.ports.model import (
    AnswerForm,
    Ask,
    Block,
    Effort,
    Model,
    ModelFailure,
    ModelUnavailable,
    Purpose,
    Rejected,
    Role,
    Stop,
    Throttled,
    TooLong,
    Turn,
    Usage,
    estimated_tokens,
)
from tests.unit.adapters.awkward_server import HANG_UP, HOME, Answer, AwkwardServer, json_answer

pytestmark = pytest.mark.usefixtures("impatient")

SECRET = "the prompt's own words"
ASK = Ask(
    system=(Block("You keep notes.", cache=True), Block("Be brief.")),
    turns=(Turn(Role.USER, SECRET),),
    purpose=Purpose.EXTRACT,
    key="run_1.3",
    form=AnswerForm.EXTRACTION,
    max_output_tokens=321,
    effort=Effort.LOW,
)


def _anthropic_model(server: AwkwardServer) -> Model:
    return AnthropicModel(anthropic.Anthropic(api_key="k", base_url=server.url), "claude-x", 1_000)


def _openai_model(server: AwkwardServer) -> Model:
    return OpenAIModel(openai.OpenAI(api_key="k", base_url=f"{server.url}/v1"), "gpt-x", 1_000)


def _bedrock_model(server: AwkwardServer) -> Model:
    return BedrockModel(server.clients.bedrock_runtime(HOME), "us.claude-x", 1_000)


def _anthropic_says(text: str, stop: str = "end_turn") -> Answer:
    usage = {
        "input_tokens": 7,
        "output_tokens": 5,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 2,
    }
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x-2026",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    return Answer(200, json.dumps(body).encode(), {"content-type": "application/json", "request-id": "req_1"})


def _openai_says(text: str, stop: str = "stop") -> Answer:
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-x-2026",
        "choices": [{"index": 0, "finish_reason": stop, "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": 9,
            "completion_tokens": 5,
            "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 2},
        },
    }
    return Answer(200, json.dumps(body).encode(), {"content-type": "application/json", "x-request-id": "req_1"})


def _bedrock_says(text: str, stop: str = "end_turn") -> Answer:
    body = {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": stop,
        "usage": {
            "inputTokens": 7,
            "outputTokens": 5,
            "totalTokens": 17,
            "cacheReadInputTokens": 2,
            "cacheWriteInputTokens": 3,
        },
        "metrics": {"latencyMs": 1},
    }
    return Answer(200, json.dumps(body).encode(), {"content-type": "application/json", "x-amzn-requestid": "req_1"})


def _anthropic_error(status: int, kind: str, message: str = SECRET, **headers: str) -> Answer:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Answer(status, json.dumps(body).encode(), {"content-type": "application/json", **headers})


def _openai_error(status: int, code: str, message: str = SECRET, param: str = "", **headers: str) -> Answer:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
    return Answer(status, json.dumps(body).encode(), {"content-type": "application/json", **headers})


def _bedrock_error(status: int, code: str, message: str = SECRET, **headers: str) -> Answer:
    return Answer(status, json.dumps({"message": message}).encode(), {"x-amzn-errortype": code, **headers})


@dataclass(frozen=True)
class Service:
    name: str
    model: Callable[[AwkwardServer], Model]
    says: Callable[..., Answer]
    usage: Usage
    answered_by: str
    stops: Mapping[str, Stop]
    errors: tuple[tuple[Answer, type[ModelFailure]], ...]


SERVICES = (
    Service(
        "anthropic",
        _anthropic_model,
        _anthropic_says,
        Usage(7, 5, 3, 2),
        "claude-x-2026",
        {"end_turn": Stop.END, "max_tokens": Stop.LENGTH, "refusal": Stop.REFUSAL},
        (
            (_anthropic_error(429, "rate_limit_error"), Throttled),
            (_anthropic_error(529, "overloaded_error"), ModelUnavailable),
            (_anthropic_error(500, "api_error"), ModelUnavailable),
            (_anthropic_error(401, "authentication_error"), Rejected),
            (_anthropic_error(404, "not_found_error"), Rejected),
            (_anthropic_error(413, "request_too_large"), TooLong),
            (_anthropic_error(400, "invalid_request_error", "prompt is too long: 9 tokens"), TooLong),
            (_anthropic_error(400, "invalid_request_error"), Rejected),
        ),
    ),
    Service(
        "openai",
        _openai_model,
        _openai_says,
        Usage(7, 5, 0, 2),
        "gpt-x-2026",
        {"stop": Stop.END, "length": Stop.LENGTH, "content_filter": Stop.FILTERED},
        (
            (_openai_error(429, "rate_limit_exceeded"), Throttled),
            (_openai_error(429, "insufficient_quota"), Rejected),
            (_openai_error(503, "overloaded"), ModelUnavailable),
            (_openai_error(401, "invalid_api_key"), Rejected),
            (_openai_error(400, "context_length_exceeded"), TooLong),
            (_openai_error(404, "model_not_found"), Rejected),
        ),
    ),
    Service(
        "bedrock",
        _bedrock_model,
        _bedrock_says,
        Usage(7, 5, 3, 2),
        "us.claude-x",
        {"end_turn": Stop.END, "max_tokens": Stop.LENGTH, "guardrail_intervened": Stop.FILTERED},
        (
            (_bedrock_error(429, "ThrottlingException"), Throttled),
            (_bedrock_error(408, "ModelTimeoutException"), ModelUnavailable),
            (_bedrock_error(503, "ServiceUnavailableException"), ModelUnavailable),
            (_bedrock_error(429, "ModelNotReadyException"), ModelUnavailable),
            (_bedrock_error(424, "ModelErrorException"), ModelUnavailable),
            (_bedrock_error(403, "AccessDeniedException"), Rejected),
            (_bedrock_error(400, "ValidationException", "Input is too long for requested model."), TooLong),
            (_bedrock_error(400, "ValidationException"), Rejected),
        ),
    ),
)
EACH = pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)


@EACH
def test_an_answer_has_its_text_its_model_its_request_and_the_four_kinds_of_tokens(
    service: Service, server: AwkwardServer
) -> None:
    server.answer(service.says("hello"))
    answer = service.model(server).ask(ASK)
    assert answer.text == "hello"
    assert answer.usage == service.usage
    assert answer.model == service.answered_by
    assert answer.request_id == "req_1"
    assert answer.stop is Stop.END


@EACH
def test_the_reason_why_an_answer_ended_is_told_apart(service: Service, server: AwkwardServer) -> None:
    for said, stop in service.stops.items():
        server.answer(service.says("hello", said))
        assert service.model(server).ask(ASK).stop is stop, said


@pytest.mark.parametrize("service", [one for one in SERVICES if one.name != "openai"], ids=lambda service: service.name)
def test_an_answer_that_fills_the_models_window_is_a_failure_that_says_what_was_billed(
    service: Service, server: AwkwardServer
) -> None:
    server.answer(service.says("hel", "model_context_window_exceeded"))
    with pytest.raises(TooLong, match="window is full") as raised:
        service.model(server).ask(ASK)
    assert raised.value.usage == service.usage


@pytest.mark.slow
@EACH
def test_each_error_of_a_service_has_its_kind_and_never_quotes_the_prompt(
    service: Service, server: AwkwardServer
) -> None:
    for answer, kind in service.errors:
        server.answer(answer)
        with pytest.raises(ModelFailure) as raised:
            service.model(server).ask(ASK)
        assert type(raised.value) is kind, answer
        assert SECRET not in str(raised.value)


@EACH
def test_a_connection_that_breaks_leaves_a_model_unavailable(service: Service, server: AwkwardServer) -> None:
    server.answer(HANG_UP)
    with pytest.raises(ModelUnavailable):
        service.model(server).ask(ASK)


@pytest.mark.parametrize("service", SERVICES[:2], ids=lambda service: service.name)
def test_an_sdk_repeats_no_question_by_itself(service: Service, server: AwkwardServer) -> None:
    server.answer(Answer(503, b"{}"))
    with pytest.raises(ModelUnavailable):
        service.model(server).ask(ASK)
    assert len(server.requests) == 1


def test_botocore_repeats_no_question_to_a_model() -> None:
    made: Any = service_of("bedrock", region=HOME)("us.claude-x")
    assert made._client.meta.config.retries == {"mode": "standard", "total_max_attempts": 1}


def test_bedrock_is_asked_in_the_region_of_the_shell_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", HOME)
    made: Any = service_of("bedrock")("us.claude-x")
    assert made._client.meta.region_name == HOME


def test_bedrock_without_any_region_is_refused_with_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(Rejected, match="set AWS_DEFAULT_REGION"):
        service_of("bedrock")("us.claude-x")


def test_anthropic_is_never_asked_at_the_address_of_memolith_that_the_shell_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its SDK goes there by itself, and would send what sessions said to the server that asks."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8377")
    usual: Any = service_of("anthropic", key="k")("claude-x")
    named: Any = service_of("anthropic", key="k", url="http://127.0.0.1:9")("claude-x")
    assert (str(usual._client.base_url), str(named._client.base_url)) == (
        "https://api.anthropic.com",
        "http://127.0.0.1:9",
    )


@pytest.mark.parametrize("key", ["sk-memolith-main-x_01kb-abc", "st-memolith-abc"])
def test_a_key_of_memolith_is_not_sent_to_anthropic(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """The same shell has it as ANTHROPIC_API_KEY."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    for told in (None, key):
        with pytest.raises(Rejected, match="one of Memolith's") as raised:
            service_of("anthropic", key=told)("claude-x")
        assert key not in str(raised.value)


@pytest.mark.parametrize("make", [_anthropic_model, _openai_model])
def test_a_throttled_answer_says_how_long_to_wait(
    make: Callable[[AwkwardServer], Model], server: AwkwardServer
) -> None:
    server.answer(Answer(429, b"{}", {"retry-after": "7"}))
    with pytest.raises(Throttled) as raised:
        make(server).ask(ASK)
    assert raised.value.retry_after_s == 7.0


def test_anthropic_is_asked_for_the_schema_with_cached_blocks_and_effort(server: AwkwardServer) -> None:
    server.answer(_anthropic_says("x"))
    _anthropic_model(server).ask(ASK)
    sent = server.requests[0].json
    assert server.requests[0].path == "/v1/messages"
    assert (sent["model"], sent["max_tokens"]) == ("claude-x", 321)
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in sent["system"][1]
    assert sent["messages"] == [{"role": "user", "content": SECRET}]
    assert sent["output_config"]["effort"] == "low"
    _is_a_plain_schema(sent["output_config"]["format"]["schema"])
    assert "tools" not in sent


def test_openai_is_asked_for_the_strict_schema(server: AwkwardServer) -> None:
    server.answer(_openai_says("x"))
    _openai_model(server).ask(ASK)
    sent = server.requests[0].json
    assert server.requests[0].path == "/v1/chat/completions"
    assert sent["response_format"]["json_schema"]["strict"] is True
    _is_a_plain_schema(sent["response_format"]["json_schema"]["schema"])
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]
    assert sent["max_completion_tokens"] == 321
    assert "tools" not in sent


def test_bedrock_is_asked_for_the_schema_with_cache_points_and_metadata(server: AwkwardServer) -> None:
    server.answer(_bedrock_says("x"))
    _bedrock_model(server).ask(ASK)
    sent = server.requests[0].json
    assert server.requests[0].path == "/model/us.claude-x/converse"
    assert sent["system"] == [
        {"text": "You keep notes."},
        {"cachePoint": {"type": "default"}},
        {"text": "Be brief."},
    ]
    assert sent["requestMetadata"] == {"memolith-purpose": "extract", "memolith-key": "run_1.3"}
    _is_a_plain_schema(json.loads(sent["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]))
    assert "toolConfig" not in sent


def _is_a_plain_schema(schema: Any) -> None:
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"]) == {"notes", "summary", "slug", "outcome"}
    text = json.dumps(schema)
    for keyword in ("maxLength", "minItems", "maxItems", "default", "title", "oneOf"):
        assert f'"{keyword}"' not in text


def test_an_endpoint_without_strict_schemas_is_asked_for_json_and_then_plainly_and_remembered(
    server: AwkwardServer,
) -> None:
    refused = _openai_error(400, "bad", "unknown field response_format", "response_format")
    server.answer(refused, refused, _openai_says("x"), _openai_says("y"))
    model = _openai_model(server)
    assert model.ask(ASK).text == "x"
    formats = [request.json.get("response_format", {}).get("type") for request in server.requests]
    assert formats == ["json_schema", "json_object", None]
    assert "additionalProperties" in server.requests[2].json["messages"][0]["content"]
    assert model.ask(ASK).text == "y"
    assert len(server.requests) == 4


def test_anthropic_and_bedrock_count_tokens_and_an_estimate_stands_in_for_a_count(server: AwkwardServer) -> None:
    server.answer(json_answer(input_tokens=42))
    assert _anthropic_model(server).tokens(ASK) == 42
    server.answer(json_answer(inputTokens=43))
    assert _bedrock_model(server).tokens(ASK) == 43
    server.answer(Answer(400, b"{}"))
    assert _anthropic_model(server).tokens(ASK) == estimated_tokens(ASK)
    assert _bedrock_model(server).tokens(ASK) == estimated_tokens(ASK)
    assert _openai_model(server).tokens(ASK) == estimated_tokens(ASK) == 15
