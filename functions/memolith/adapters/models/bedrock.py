"""Amazon Bedrock's Converse: any model of the account's region, with the function's own rights and no key.

Source: Amazon Bedrock API reference, "Converse", "CountTokens", "OutputConfig", "CachePointBlock".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memolith.adapters.aws.errors import AwsError, code_of, is_throttled, status_of
from memolith.adapters.models.forms import schema_of
from memolith.ports.model import (
    Answer,
    Ask,
    ModelFailure,
    ModelUnavailable,
    Rejected,
    Stop,
    Throttled,
    TooLong,
    Usage,
    estimated_tokens,
    window_full,
)

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

WINDOW_TOKENS = 200_000

_LATER = frozenset(
    {
        "ModelTimeoutException",
        "ServiceUnavailableException",
        "ModelNotReadyException",
        "InternalServerException",
        "ModelErrorException",
    }
)
_STOPS = {
    "max_tokens": Stop.LENGTH,
    "guardrail_intervened": Stop.FILTERED,
    "content_filtered": Stop.FILTERED,
    "malformed_model_output": Stop.REFUSAL,
}


class BedrockModel:
    """`ports.model.Model` of one model or inference profile.

    The client's own time-out has to be as long as an answer may take; the one of a question is not known to it.
    """

    def __init__(self, client: BedrockRuntimeClient, model_id: str, window_tokens: int = WINDOW_TOKENS) -> None:
        self._client: Any = client
        self._model_id = model_id
        self._window_tokens = window_tokens

    @property
    def window_tokens(self) -> int:
        """What the model was set up with."""
        return self._window_tokens

    def ask(self, ask: Ask) -> Answer:
        """Ask once; botocore may repeat what was throttled or lost, as often as its client is set to.

        Memolith's is set to once, as whoever asks repeats, and knows how much time is left.

        Raises:
            ModelFailure: as the port says.
        """
        extra: dict[str, Any] = {}
        output: dict[str, Any] = {}
        if ask.form:
            name = ask.form.value.partition(".")[0]
            schema = json.dumps(schema_of(ask.form), sort_keys=True)
            output["textFormat"] = {
                "type": "json_schema",
                "structure": {"jsonSchema": {"name": name, "schema": schema}},
            }
        if ask.effort:
            output["effort"] = ask.effort.value
        if output:
            extra["outputConfig"] = output
        try:
            answer = self._client.converse(
                modelId=self._model_id,
                inferenceConfig={"maxTokens": ask.max_output_tokens},
                requestMetadata={"memolith-purpose": ask.purpose.value, "memolith-key": ask.key[:256]},
                **_conversation(ask),
                **extra,
            )
        except AwsError as error:
            raise failure(error) from None
        if answer["stopReason"] == "model_context_window_exceeded":
            raise window_full(_usage(answer))
        return _answer(answer, self._model_id)

    def tokens(self, ask: Ask) -> int:
        """Let the service count, which is free; an estimate for a model that it cannot count for. One request."""
        try:
            counted = self._client.count_tokens(modelId=self._model_id, input={"converse": _conversation(ask)})
        except AwsError:
            return estimated_tokens(ask)
        return int(counted["inputTokens"])


def failure(error: Exception) -> ModelFailure:
    """Make the port's failure of one of boto3's, without the service's message, which may quote the prompt."""
    code = code_of(error)
    if is_throttled(error):
        return Throttled(f"Bedrock is asked too often: {code}")
    if code in _LATER or status_of(error) >= 500 or not status_of(error):
        return ModelUnavailable(f"Bedrock does not answer: {code}")
    if code == "ValidationException" and "too long" in str(error).lower():
        return TooLong(f"the question is longer than the model's window: {code}")
    return Rejected(f"Bedrock refuses the question: {code}")


def _conversation(ask: Ask) -> dict[str, Any]:
    system: list[dict[str, Any]] = []
    for block in ask.system:
        system.append({"text": block.text})
        if block.cache:
            system.append({"cachePoint": {"type": "default"}})
    turns = [{"role": turn.role.value, "content": [{"text": turn.text}]} for turn in ask.turns]
    return {"messages": turns, **({"system": system} if system else {})}


def _usage(answer: Mapping[str, Any]) -> Usage:
    usage = answer["usage"]
    return Usage(
        usage["inputTokens"],
        usage["outputTokens"],
        usage.get("cacheWriteInputTokens", 0),
        usage.get("cacheReadInputTokens", 0),
    )


def _answer(answer: Mapping[str, Any], model_id: str) -> Answer:
    return Answer(
        text="".join(block.get("text", "") for block in answer["output"]["message"]["content"]),
        usage=_usage(answer),
        model=model_id,
        stop=_STOPS.get(answer["stopReason"], Stop.END),
        request_id=answer["ResponseMetadata"].get("RequestId", ""),
    )
