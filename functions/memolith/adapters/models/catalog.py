"""The models of a deployment: one service, its models by name, and the layers around each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memolith.adapters.models.metered import Metered, Price
from memolith.adapters.models.retried import Retried
from memolith.adapters.models.validated import Validated
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.metrics import Metrics
from memolith.ports.model import Model, Rejected


@dataclass(frozen=True, slots=True)
class Catalog:
    """`ports.model.Models` of one service.

    Attributes:
        service: what makes the bare model of an id, as the service knows it.
        allowed: the ids that may be named, each with the service's own; empty where every id goes to the service.
        prices: by id, or as the service names the model in its answers.
        clock, randomness, metrics: for pauses, latency and counts.
    """

    service: Callable[[str], Model]
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    allowed: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)

    def named(self, model_id: str) -> Model:
        """Return the model with its layers: validated around metered around retried around the service's.

        Raises:
            Rejected: models are listed, and this is none of them.
        """
        if self.allowed and model_id not in self.allowed:
            raise Rejected(f"no model {model_id!r} is set up; there are {', '.join(sorted(self.allowed))}")
        own = self.allowed.get(model_id, model_id)
        retried = Retried(self.service(own), self.clock, self.randomness)
        return Validated(Metered(retried, own, self.prices, self.metrics, self.clock))
