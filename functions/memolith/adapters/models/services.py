"""The services of language models, by name: what makes a model of a service's own id. SDKs are imported here alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from memolith.ports.model import CALL_TIMEOUT_S, Model

SERVICES = ("anthropic", "openai", "bedrock")


def service_of(
    name: str,
    *,
    key: str | None = None,
    url: str | None = None,
    window_tokens: int | None = None,
    region: str | None = None,
) -> Callable[[str], Model]:
    """Return what makes the models of a service. No call.

    Args:
        key: the service's; None where its SDK looks for one.
        url: None for the service's usual address.
        window_tokens: None for what is usual there.
        region: of Bedrock; None where its SDK looks for one.

    Raises:
        ImportError: the service's SDK is not installed.
    """
    if name == "anthropic":
        from anthropic import Anthropic

        from memolith.adapters.models import anthropic

        window = window_tokens or anthropic.WINDOW_TOKENS
        return partial(anthropic.AnthropicModel, Anthropic(api_key=key, base_url=url), window_tokens=window)
    if name == "openai":
        from openai import OpenAI

        from memolith.adapters.models import openai

        window = window_tokens or openai.WINDOW_TOKENS
        return partial(openai.OpenAIModel, OpenAI(api_key=key, base_url=url), window_tokens=window)
    from memolith.adapters.aws.clients import Clients, Limits
    from memolith.adapters.models import bedrock

    runtime = Clients(url, Limits(read_s=CALL_TIMEOUT_S)).bedrock_runtime(region or "")
    return partial(bedrock.BedrockModel, runtime, window_tokens=window_tokens or bedrock.WINDOW_TOKENS)
