"""The language models that a laptop's dreams and extractions ask."""

from __future__ import annotations

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
    from memolith.adapters.models.services import service_of

    service = service_of(
        chosen.service,
        key=chosen.key,
        url=chosen.url,
        window_tokens=chosen.window_tokens,
        region=chosen.region,
    )
    return Catalog(service, clock, randomness, metrics, default=chosen.default)
