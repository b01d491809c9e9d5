"""The models of a deployment: one service, its models by name, and the layers around each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memolith.adapters.models.metered import Metered, Price
from memolith.adapters.models.retried import Retried
from memolith.adapters.models.validated import Validated
from memolith.core.pipelines.policy import MODEL_DEFAULT
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
        default: the service's own id of the model that `MODEL_DEFAULT` means; by default the only one that is listed.
    """

    service: Callable[[str], Model]
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    allowed: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    default: str | None = None

    def named(self, model_id: str) -> Model:
        """Return the model with its layers: validated around metered around retried around the service's.

        Raises:
            Rejected: models are listed, and this is none of them; or no model is named, and none is the default.
        """
        own = self._own(model_id)
        retried = Retried(self.service(own), self.clock, self.randomness)
        return Validated(Metered(retried, own, self.prices, self.metrics, self.clock))

    def _own(self, model_id: str) -> str:
        """Return the service's own id. `MODEL_DEFAULT` is a name of ours, under which no service is asked."""
        if model_id in self.allowed:
            return self.allowed[model_id]
        if model_id == MODEL_DEFAULT:
            only = self.default or (next(iter(self.allowed.values())) if len(self.allowed) == 1 else None)
            if only is None:
                raise Rejected(f"no model is named, and none is the default; {self._advice}")
            return only
        if self.allowed:
            raise Rejected(f"no model {model_id!r} is set up; there are {', '.join(sorted(self.allowed))}")
        return model_id

    @property
    def _advice(self) -> str:
        chosen = "choose one with the request, or as the store's `pipelines.model`"
        if self.allowed:
            return f"{chosen}, of {', '.join(sorted(self.allowed))}"
        return f"{chosen}, or start the server with MEMOLITH_MODEL_ID"
