"""The language models that a laptop's dreams ask."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memolith.adapters.models.extractive import ExtractiveModels
from memolith.entry.settings import ChosenModel
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.metrics import Metrics
from memolith.ports.model import Models

if TYPE_CHECKING:
    from memolith.adapters.models.catalog import Catalog


def models_of(chosen: ChosenModel | None, clock: Clock, randomness: Randomness, metrics: Metrics) -> Models:
    """Return the models of the chosen service, or the stand-in. No call; SDKs are imported here alone.

    Raises:
        ImportError: the service's SDK is not installed.
    """
    if chosen is None:
        return ExtractiveModels()
    return catalog_of(chosen, clock, randomness, metrics)


def catalog_of(chosen: ChosenModel, clock: Clock, randomness: Randomness, metrics: Metrics) -> Catalog:
    """Return the models of a service. No call. Raises ImportError: its SDK is not installed."""
    from memolith.adapters.models.catalog import Catalog

    if chosen.service == "anthropic":
        from anthropic import Anthropic

        from memolith.adapters.models import anthropic

        window = chosen.window_tokens or anthropic.WINDOW_TOKENS
        client = Anthropic(api_key=chosen.key, base_url=chosen.url)
        service = partial(anthropic.AnthropicModel, client, window_tokens=window)
        return Catalog(service, clock, randomness, metrics)
    if chosen.service == "openai":
        from openai import OpenAI

        from memolith.adapters.models import openai

        window = chosen.window_tokens or openai.WINDOW_TOKENS
        endpoint = OpenAI(api_key=chosen.key, base_url=chosen.url)
        return Catalog(partial(openai.OpenAIModel, endpoint, window_tokens=window), clock, randomness, metrics)
    from memolith.adapters.aws.clients import Clients, Limits
    from memolith.adapters.models import bedrock
    from memolith.ports.model import CALL_TIMEOUT_S

    runtime = Clients(chosen.url, Limits(read_s=CALL_TIMEOUT_S)).bedrock_runtime(chosen.region)
    window = chosen.window_tokens or bedrock.WINDOW_TOKENS
    return Catalog(partial(bedrock.BedrockModel, runtime, window_tokens=window), clock, randomness, metrics)
