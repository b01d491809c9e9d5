"""A store's budget of tokens a day: what a question may take is put down before it is asked, and what it took after.

Each region puts down its own questions in a log of the day; a question is held against the sum of all regions'. So in
one region the budget holds whatever is asked at once. A region adds what another put down once that has arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import Put, has_body, put_if_absent
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.object_keys import JobKey
from memolith.core.objects.spending_record import KIND, SpendingRecord
from memolith.core.times import rfc3339
from memolith.ports.model import Answer, Ask, BudgetExceeded, BudgetTooSmall, Left, Model, ModelFailure

PUT_ATTEMPTS = 12
WITH_REPAIR = 3
"""A repair turn has the question, the answer and another answer: with the first question at most so many times it."""


class TokenBudgets:
    """Asks models within what stores allow a day; of a store that does not bound it, without a call."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def check(self, store_id: str, per_day: int, model: Model, ask: Ask) -> None:
        """Raise BudgetExceeded, or BudgetTooSmall, where the question would not be asked now.

        A LIST and a GET for each region.
        """
        if per_day:
            self._fitting(self._day(), per_day, self._spent(store_id, self._day())[0], model, ask)

    def ask(self, store_id: str, per_day: int, model: Model, ask: Ask) -> Answer:
        """Ask, if the question and its longest answer fit into what is left of the day; 0 bounds nothing.

        A LIST and a GET for each region, and two PUTs. Where the process dies in between, or the second fails, what the
        question might have taken counts as used.

        Raises:
            BudgetExceeded: it does not fit; BudgetTooSmall: into no day; nothing was asked. Busy: others kept asking.
            Unavailable, OutcomeUnknown: nothing was asked. ModelFailure: as the model raises.
        """
        if not per_day:
            return model.ask(ask)
        day = self._day()
        reserved = 0

        def reserve(spent: int, own: int) -> int:
            nonlocal reserved
            least = self._fitting(day, per_day, spent, model, ask)
            reserved = min(per_day - spent, WITH_REPAIR * least)
            return own + reserved

        self._put_next(store_id, day, reserve, 1)
        most = reserved if ask.left.tokens is None else min(reserved, ask.left.tokens)
        used = 0
        try:
            answer = model.ask(replace(ask, left=Left(most, ask.left.micro_usd)))
            used = answer.usage.total
        except ModelFailure as failure:
            used = failure.usage.total
            raise
        finally:
            with suppress(Busy, Unavailable, OutcomeUnknown):  # an answer is worth more than what is given back
                self._put_next(store_id, day, lambda _, own: own - reserved + used, 0)
        return answer

    def _fitting(self, day: str, per_day: int, spent: int, model: Model, ask: Ask) -> int:
        """Return how many tokens a question and its answer may take. Raises BudgetExceeded, BudgetTooSmall."""
        least = model.tokens(ask) + ask.max_output_tokens
        if least > per_day:
            raise BudgetTooSmall(
                f"the store allows pipelines {per_day:,} tokens a day, and the question may take {least:,}, more than "
                "any day has; raise `max_tokens_per_day`"
            )
        if least > per_day - spent:
            raise BudgetExceeded(
                f"the store allows pipelines {per_day:,} tokens a day, of which {max(0, per_day - spent):,} are left "
                f"on {day} (UTC), and the question may take {least:,}; ask tomorrow, or raise `max_tokens_per_day`"
            )
        return least

    def _day(self) -> str:
        return rfc3339(self._region.clock.now_us())[:10]

    def _spent(self, store_id: str, day: str) -> tuple[int, SpendingRecord | None]:
        """Return the tokens of the day in all regions, and this region's newest record."""
        found = {region: self._newest(region, store_id, day) for region in self._region.origins}
        own = found.get(self._region.name)
        return sum(one.tokens for one in found.values() if one is not None), own

    def _newest(self, region: str, store_id: str, day: str) -> SpendingRecord | None:
        last: str | None = None
        for key in keys_under(self._region.objects, JobKey.prefix(region, store_id, KIND, day)):
            last = key
        found = None if last is None else find(self._region.objects, last)
        if found is None:
            return None
        try:
            return SpendingRecord.from_json(found.body)
        except ValueError as error:
            raise Unavailable("a record of spending cannot be read", object=last or "", cause=str(error)) from error

    def _put_next(self, store_id: str, day: str, tokens: Callable[[int, int], int], asks: int) -> None:
        """Put this region's next record of the day, with `tokens` of what all regions and this one have."""
        for _ in range(PUT_ATTEMPTS):
            spent, own = self._spent(store_id, day)
            before = own or SpendingRecord(store_id, day, 0, 0, 0)
            record = SpendingRecord(
                store_id,
                day,
                before.sequence + 1,
                self._region.clock.now_us(),
                max(0, tokens(spent, before.tokens)),
                before.asks + asks,
                self._region.randomness.bytes(12).hex(),
            )
            key, body = str(record.key(self._region.name)), record.to_json()
            if (
                put_if_absent(self._region, key, body, {}, is_mine=partial(has_body, self._region, key, body))
                is Put.MINE
            ):
                return
        raise Busy("others kept asking models about this store; try again")
