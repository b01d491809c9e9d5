"""Any endpoint that speaks OpenAI's chat completions: OpenAI, Azure, vLLM, Ollama, llama.cpp, LiteLLM.

Not every one of them knows strict schemas. Where one refuses `json_schema`, `json_object` is tried, and then no format
at all; what it took is remembered. Its answer is held to the form in every case.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memolith.adapters.models.anthropic import seconds
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
)

if TYPE_CHECKING:
    from openai import OpenAI

WINDOW_TOKENS = 128_000

_FORMATS = ("json_schema", "json_object", "none")
_REFUSED_FORMAT = frozenset({400, 404, 415, 422, 501})
_STOPS = {"length": Stop.LENGTH, "content_filter": Stop.FILTERED}


class OpenAIModel:
    """`ports.model.Model` of one model id at one endpoint."""

    def __init__(self, client: OpenAI, model_id: str, window_tokens: int = WINDOW_TOKENS) -> None:
        self._client = client.with_options(max_retries=0)
        self._model_id = model_id
        self._window_tokens = window_tokens
        self._formats: tuple[str, ...] = _FORMATS

    @property
    def window_tokens(self) -> int:
        """What the model was set up with."""
        return self._window_tokens

    def ask(self, ask: Ask) -> Answer:
        """Ask once; up to twice more at the first question to an endpoint that does not know a format.

        Raises:
            ModelFailure: as the port says.
        """
        import openai

        while True:
            try:
                raw = self._client.chat.completions.with_raw_response.create(**self._question(ask))
                completion = raw.parse()
                break
            except openai.APIStatusError as error:
                if ask.form is None or len(self._formats) == 1 or not _refuses_the_format(error):
                    raise failure(error) from None
                self._formats = self._formats[1:]
            except openai.OpenAIError as error:
                raise failure(error) from None
        if not completion.choices:
            raise ModelUnavailable("the model's service answered without a choice")
        return _answer(completion, raw.headers.get("x-request-id", ""))

    def tokens(self, ask: Ask) -> int:
        """Estimate: this API has no way to count."""
        return estimated_tokens(ask)

    def _question(self, ask: Ask) -> dict[str, Any]:
        system = "\n\n".join(block.text for block in ask.system)
        question: dict[str, Any] = {
            "model": self._model_id,
            "max_completion_tokens": ask.max_output_tokens,
            "timeout": ask.timeout_s,
            "extra_headers": {"idempotency-key": ask.key},
        }
        if ask.effort:
            question["reasoning_effort"] = ask.effort.value
        if ask.form and self._formats[0] == "json_schema":
            name = ask.form.value.partition(".")[0]
            schema = {"name": name, "schema": schema_of(ask.form), "strict": True}
            question["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif ask.form:
            shape = json.dumps(schema_of(ask.form), sort_keys=True)
            system += f"\n\nAnswer with one JSON object of this schema, and with nothing around it:\n{shape}"
            if self._formats[0] == "json_object":
                question["response_format"] = {"type": "json_object"}
        turns = [{"role": turn.role.value, "content": turn.text} for turn in ask.turns]
        question["messages"] = [{"role": "system", "content": system}, *turns] if system else turns
        return question


def failure(error: Exception) -> ModelFailure:
    """Make the port's failure of one of the SDK's, without the service's message."""
    import openai

    if not isinstance(error, openai.APIStatusError):
        return ModelUnavailable(f"the model's service cannot be reached: {type(error).__name__}")
    kind = f"{error.status_code} {error.code or error.type or ''}"[:80]
    if error.code == "insufficient_quota":
        return Rejected(f"the account at the model's service is used up: {kind}")
    if error.status_code == 429:
        return Throttled(f"the model's service is asked too often: {kind}", seconds(error.response.headers))
    if error.status_code >= 500 or error.status_code in (408, 409):
        return ModelUnavailable(f"the model's service does not answer: {kind}")
    if error.status_code == 413 or error.code == "context_length_exceeded":
        return TooLong(f"the question is longer than the model's window: {kind}")
    return Rejected(f"the model's service refuses the question: {kind}")


def _refuses_the_format(error: Any) -> bool:
    said = str(error.param or "") + str(error)
    return error.status_code in _REFUSED_FORMAT and ("response_format" in said or "json_schema" in said)


def _answer(completion: Any, request_id: str) -> Answer:
    choice, usage = completion.choices[0], completion.usage
    details = getattr(usage, "prompt_tokens_details", None)
    cached = (getattr(details, "cached_tokens", 0) or 0) if details else 0
    refused = bool(choice.message.refusal)
    return Answer(
        text=choice.message.refusal if refused else (choice.message.content or ""),
        usage=Usage(usage.prompt_tokens - cached, usage.completion_tokens, 0, cached) if usage else Usage(),
        model=completion.model,
        stop=Stop.REFUSAL if refused else _STOPS.get(choice.finish_reason, Stop.END),
        request_id=request_id,
    )
