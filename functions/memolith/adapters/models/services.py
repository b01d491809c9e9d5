"""The services of language models, by name: what makes a model of a service's own id. SDKs are imported here alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from memolith.ports.model import CALL_TIMEOUT_S, Model, Rejected

SERVICES = ("anthropic", "openai", "bedrock")

ANTHROPIC_URL = "https://api.anthropic.com"
"""Always named: where it is not, the SDK takes ANTHROPIC_BASE_URL, which is where Memolith itself answers."""
OWN_KEYS = ("sk-memolith-", "st-memolith-")
"""What Memolith's keys and tokens begin with: in the shell of its clients ANTHROPIC_API_KEY is one of them."""

OWN_KEY = (
    "the key of Anthropic's API is one of Memolith's, which is not sent there: put a key of Anthropic into "
    "ANTHROPIC_API_KEY, or name another service's address in MEMOLITH_MODEL_URL"
)


def service_of(
    name: str,
    *,
    key: str | None = None,
    url: str | None = None,
    window_tokens: int | None = None,
    region: str | None = None,
) -> Callable[[str], Model]:
    """Return what makes the models of a service. No call.

    What it returns raises Rejected where the key is one of Memolith's, or no region of Bedrock is named anywhere.

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

        client, window = Anthropic(api_key=key, base_url=url or ANTHROPIC_URL), window_tokens or anthropic.WINDOW_TOKENS
        if url is None and (client.api_key or "").startswith(OWN_KEYS):
            return partial(_refuse, OWN_KEY)
        return partial(anthropic.AnthropicModel, client, window_tokens=window)
    if name == "openai":
        from openai import OpenAI

        from memolith.adapters.models import openai

        window = window_tokens or openai.WINDOW_TOKENS
        return partial(openai.OpenAIModel, OpenAI(api_key=key, base_url=url), window_tokens=window)
    from memolith.adapters.aws.clients import Clients, Limits
    from memolith.adapters.models import bedrock

    try:
        runtime = Clients(url, Limits(read_s=CALL_TIMEOUT_S)).bedrock_runtime(region)
    except LookupError as error:
        return partial(_refuse, f"Bedrock was not asked: {error}")
    return partial(bedrock.BedrockModel, runtime, window_tokens=window_tokens or bedrock.WINDOW_TOKENS)


def _refuse(reason: str, model_id: str) -> Model:
    raise Rejected(reason)
