"""What questions cost: the budget is checked before each, and each answer has its price."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from memolith.ports.clock import Clock
from memolith.ports.metrics import Metrics
from memolith.ports.model import Answer, Ask, BudgetExceeded, Model, ModelFailure, Usage


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens of each kind; as many micro-dollars for one."""

    input_usd: float
    output_usd: float
    cache_creation_usd: float
    cache_read_usd: float

    def micro_usd(self, usage: Usage) -> int:
        """Return what the usage costs, rounded up."""
        return math.ceil(
            usage.input_tokens * self.input_usd
            + usage.output_tokens * self.output_usd
            + usage.cache_creation_input_tokens * self.cache_creation_usd
            + usage.cache_read_input_tokens * self.cache_read_usd
        )


class Metered:
    """A model whose questions are counted, priced, and refused where they could exceed the budget.

    Counted are ``model.tokens`` by purpose and kind, ``model.calls`` by purpose and outcome, ``model.micro_usd`` by
    purpose; measured is ``model.latency``. A failure that was billed is priced and counted as an answer is.
    """

    def __init__(
        self, model: Model, model_id: str, prices: Mapping[str, Price], metrics: Metrics, clock: Clock
    ) -> None:
        """Wrap the model.

        Args:
            model: asked after the check.
            model_id: as it is asked for.
            prices: by model, as a service names it in its answer or as it is asked for; may have none.
            metrics: where to count.
            clock: what latency is measured with.
        """
        self._model = model
        self._model_id = model_id
        self._prices = prices
        self._metrics = metrics
        self._clock = clock

    @property
    def window_tokens(self) -> int:
        """The model's."""
        return self._model.window_tokens

    def tokens(self, ask: Ask) -> int:
        """Count as the model does."""
        return self._model.tokens(ask)

    def ask(self, ask: Ask) -> Answer:
        """Ask, if the whole question and the longest answer fit into what is left of the budget.

        Raises:
            BudgetExceeded: they do not; nothing was asked.
            ModelFailure: as the port says.
        """
        self._check(ask)
        began = self._clock.ticks_us()
        try:
            answer = self._model.ask(ask)
        except ModelFailure as failure:
            failure.cost_micro_usd = self._cost(self._model_id, failure.usage) if failure.usage.total else None
            self._count(ask, type(failure).__name__, failure.usage, failure.cost_micro_usd)
            raise
        finally:
            self._metrics.milliseconds(
                "model.latency", (self._clock.ticks_us() - began) / 1_000, purpose=ask.purpose.value
            )
        cost = self._cost(answer.model, answer.usage)
        self._count(ask, answer.stop.value, answer.usage, cost)
        return replace(answer, cost_micro_usd=cost)

    def _check(self, ask: Ask) -> None:
        if ask.left.tokens is None and ask.left.micro_usd is None:
            return
        most = Usage(self._model.tokens(ask), ask.max_output_tokens)
        if ask.left.tokens is not None and most.total > ask.left.tokens:
            raise BudgetExceeded(f"the question may take {most.total} tokens, and {ask.left.tokens} are left")
        price = self._price(self._model_id)
        if price is None or ask.left.micro_usd is None:
            return
        dearest = replace(price, input_usd=max(price.input_usd, price.cache_creation_usd)).micro_usd(most)
        if dearest > ask.left.micro_usd:
            raise BudgetExceeded(
                f"the question may cost {dearest / 1e6:.4f} USD, and {ask.left.micro_usd / 1e6:.4f} USD are left"
            )

    def _price(self, model: str) -> Price | None:
        return self._prices.get(model, self._prices.get(self._model_id))

    def _cost(self, model: str, usage: Usage) -> int | None:
        price = self._price(model)
        return None if price is None else price.micro_usd(usage)

    def _count(self, ask: Ask, outcome: str, usage: Usage, cost_micro_usd: int | None) -> None:
        purpose = ask.purpose.value
        self._metrics.count("model.calls", purpose=purpose, outcome=outcome)
        kinds = {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_creation": usage.cache_creation_input_tokens,
            "cache_read": usage.cache_read_input_tokens,
        }
        for kind, tokens in kinds.items():
            if tokens:
                self._metrics.count("model.tokens", tokens, purpose=purpose, kind=kind)
        if cost_micro_usd:
            self._metrics.count("model.micro_usd", cost_micro_usd, purpose=purpose)
