"""Answers held to their form: one repair turn, and then the failure."""

from __future__ import annotations

from dataclasses import replace

from memolith.adapters.models.forms import fitted
from memolith.ports.model import Answer, Ask, BadAnswer, Left, Model, ModelFailure, Role, Stop, Turn

REPAIR = "Your answer did not fit the schema at {reason}. Answer again with the whole object, and with nothing else."


class Validated:
    """A model whose answers have `data` where a form was asked for. Two questions at most."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def window_tokens(self) -> int:
        """The model's."""
        return self._model.window_tokens

    def tokens(self, ask: Ask) -> int:
        """Count as the model does."""
        return self._model.tokens(ask)

    def ask(self, ask: Ask) -> Answer:
        """Return an answer that fits. Its usage and cost are of both questions, where it took two.

        Raises:
            BadAnswer: neither fits, or the model refused. ModelFailure: as the port says. Each names what was billed.
        """
        first = self._model.ask(ask)
        if ask.form is None:
            return first
        data, reason = _read(ask, first)
        if data is not None:
            return replace(first, data=data)
        if first.stop in (Stop.REFUSAL, Stop.FILTERED):
            raise _billed(BadAnswer(f"the model gave no answer: {first.stop}"), first)
        said = (Turn(Role.ASSISTANT, first.text or "(nothing)"), Turn(Role.USER, REPAIR.format(reason=reason)))
        try:
            second = self._model.ask(
                replace(ask, turns=(*ask.turns, *said), key=f"{ask.key}.repair", left=_less(ask.left, first))
            )
        except ModelFailure as failure:
            raise _billed(failure, first) from None
        both = replace(second, usage=first.usage + second.usage, cost_micro_usd=_sum(first, second), repaired=True)
        data, reason = _read(ask, second)
        if data is None:
            raise _billed(BadAnswer(f"the model's answer does not fit its form, twice; at {reason}"), both)
        return replace(both, data=data)


def _read(ask: Ask, answer: Answer) -> tuple[dict[str, object] | None, str]:
    """Return the answer's object; or None, with what is wrong with it."""
    if answer.stop is not Stop.END or ask.form is None:
        return None, f"its end: it was cut off ({answer.stop})"
    try:
        return fitted(ask.form, answer.text), ""
    except ValueError as error:
        return None, str(error)


def _less(left: Left, answer: Answer) -> Left:
    tokens = None if left.tokens is None else max(0, left.tokens - answer.usage.total)
    micro_usd = None if left.micro_usd is None else max(0, left.micro_usd - (answer.cost_micro_usd or 0))
    return Left(tokens, micro_usd)


def _sum(first: Answer, second: Answer | ModelFailure) -> int | None:
    if first.cost_micro_usd is None or second.cost_micro_usd is None:
        return None
    return first.cost_micro_usd + second.cost_micro_usd


def _billed(failure: ModelFailure, answer: Answer) -> ModelFailure:
    failure.cost_micro_usd = _sum(answer, failure) if failure.usage.total else answer.cost_micro_usd
    failure.usage = failure.usage + answer.usage
    return failure
