"""Anthropic's Messages API through its own SDK, at whatever address speaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    from anthropic import Anthropic

_STOPS = {"max_tokens": Stop.LENGTH, "refusal": Stop.REFUSAL}

WINDOW_TOKENS = 200_000


class AnthropicModel:
    """`ports.model.Model` of one model id. One request for each question; it never repeats one by itself."""

    def __init__(self, client: Anthropic, model_id: str, window_tokens: int = WINDOW_TOKENS) -> None:
        self._client = client.with_options(max_retries=0)
        self._model_id = model_id
        self._window_tokens = window_tokens

    @property
    def window_tokens(self) -> int:
        """What the model was set up with."""
        return self._window_tokens

    def ask(self, ask: Ask) -> Answer:
        """Ask once. The static blocks of the system prompt are cached by the service.

        Raises:
            ModelFailure: as the port says.
        """
        import anthropic

        try:
            raw = self._client.messages.with_raw_response.create(
                **_question(self._model_id, ask), max_tokens=ask.max_output_tokens, timeout=ask.timeout_s
            )
            message = raw.parse()
        except anthropic.AnthropicError as error:
            raise failure(error) from None
        usage = Usage(
            message.usage.input_tokens,
            message.usage.output_tokens,
            message.usage.cache_creation_input_tokens or 0,
            message.usage.cache_read_input_tokens or 0,
        )
        if message.stop_reason == "model_context_window_exceeded":
            raise window_full(usage)
        return Answer(
            text="".join(block.text for block in message.content if block.type == "text"),
            usage=usage,
            model=message.model,
            stop=_STOPS.get(message.stop_reason or "", Stop.END),
            request_id=raw.headers.get("request-id", ""),
        )

    def tokens(self, ask: Ask) -> int:
        """Let the service count, which is free; an estimate where it cannot be asked. One request."""
        import anthropic

        question = _question(self._model_id, ask)
        try:
            return self._client.messages.count_tokens(**question, timeout=ask.timeout_s).input_tokens
        except anthropic.AnthropicError:
            return estimated_tokens(ask)


def failure(error: Exception) -> ModelFailure:
    """Make the port's failure of one of the SDK's; the service's message, which may quote the prompt, is left out."""
    import anthropic

    if not isinstance(error, anthropic.APIStatusError):
        return ModelUnavailable(f"the model's service cannot be reached: {type(error).__name__}")
    kind = f"{error.status_code} {_kind(error)}"
    if error.status_code == 429:
        return Throttled(f"the model's service is asked too often: {kind}", seconds(error.response.headers))
    if error.status_code >= 500 or error.status_code in (408, 409):
        return ModelUnavailable(f"the model's service does not answer: {kind}")
    if error.status_code == 413 or "prompt is too long" in str(error).lower():
        return TooLong(f"the question is longer than the model's window: {kind}")
    return Rejected(f"the model's service refuses the question: {kind}")


def seconds(headers: Any) -> float | None:
    """Return how long the service asked to wait, or None where it did not say, or in words."""
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def _kind(error: Any) -> str:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    return str(inner.get("type", ""))[:60] if isinstance(inner, dict) else ""


def _question(model_id: str, ask: Ask) -> dict[str, Any]:
    question: dict[str, Any] = {
        "model": model_id,
        "messages": [{"role": turn.role.value, "content": turn.text} for turn in ask.turns],
    }
    if ask.system:
        question["system"] = [
            {"type": "text", "text": block.text, **({"cache_control": {"type": "ephemeral"}} if block.cache else {})}
            for block in ask.system
        ]
    config: dict[str, Any] = {}
    if ask.form:
        config["format"] = {"type": "json_schema", "schema": schema_of(ask.form)}
    if ask.effort:
        config["effort"] = ask.effort.value
    if config:
        question["output_config"] = config
    return question
