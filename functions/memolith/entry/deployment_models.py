"""The language models that the dreams of a deployment ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memolith.adapters.aws.secrets import RememberedSecret, secret_text
from memolith.adapters.models.extractive import ExtractiveModels
from memolith.adapters.models.metered import Price
from memolith.entry.lambda_runtime import LambdaRuntime
from memolith.entry.laptop_models import catalog_of
from memolith.entry.settings import KEYED_SERVICES, STAND_IN, ChosenDreams, ChosenModel
from memolith.ports.clock import Clock
from memolith.ports.errors import PortError
from memolith.ports.ids import Randomness
from memolith.ports.metrics import Metrics
from memolith.ports.model import Model, Models, ModelUnavailable


class DeploymentModels:
    """`ports.model.Models` of a deployment: the names that its record lists, and no others.

    The key of a service that has keys is read from Secrets Manager with the first question, and again after five
    minutes; it is in no environment variable and in no other function's reach.
    """

    def __init__(
        self, chosen: ChosenDreams, region: str, key: Callable[[], str], clock: Clock, parts: tuple[Randomness, Metrics]
    ) -> None:
        self._chosen = chosen
        self._region = region
        self._parts = (clock, *parts)
        self._key = RememberedSecret(key, clock)
        self._made: tuple[str, Models] | None = None

    def named(self, model_id: str) -> Model:
        """Return the model of a listed name. At most one call of Secrets Manager.

        Raises:
            Rejected: the deployment lists models, and this is none of them. ModelUnavailable: the service's key cannot
                be read.
        """
        chosen = self._chosen
        if chosen.service == STAND_IN:
            return ExtractiveModels().named(model_id)
        key = ""
        if chosen.service in KEYED_SERVICES:
            try:
                key = self._key.value()
            except PortError as error:
                raise ModelUnavailable(str(error)) from error
        if self._made is None or self._made[0] != key:
            service = ChosenModel(chosen.service, key, chosen.url, chosen.window_tokens, self._region)
            prices = {name: Price(*price) for name, price in chosen.prices.items()}
            made = replace(catalog_of(service, *self._parts), allowed=chosen.models, prices=prices)
            self._made = (key, made)
        return self._made[1].named(model_id)


def deployment_models(running: LambdaRuntime) -> Models:
    """Return the models that the deployment's record lists. No call. Raises LookupError where dreams are off."""
    settings, region = running.settings, running.region
    if settings.dreams is None:
        raise LookupError("dreams are off in this deployment")

    def key() -> str:
        return secret_text(running.clients, region.name, settings.deployment.models_secret).strip()

    return DeploymentModels(settings.dreams, region.name, key, region.clock, (region.randomness, running.metrics))
