"""Asking again what was throttled, or what a service could not answer just then."""

from __future__ import annotations

from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.model import Answer, Ask, Model, ModelUnavailable, OutOfTime, Throttled

ATTEMPTS = 4
"""The first, and three repetitions."""

PAUSE_MIN_S = 1.0
PAUSE_MAX_S = 30.0


class Retried:
    """A model that is asked up to four times, with pauses of a random length up to 2, 4, 8 … 30 seconds.

    A pause is never shorter than the service asked for; where it asked for more than 30 s, the failure is passed on.
    No attempt begins after the question's `until_us`.
    """

    def __init__(self, model: Model, clock: Clock, randomness: Randomness) -> None:
        self._model = model
        self._clock = clock
        self._randomness = randomness

    @property
    def window_tokens(self) -> int:
        """The model's."""
        return self._model.window_tokens

    def ask(self, ask: Ask) -> Answer:
        """Return the first answer.

        Raises:
            OutOfTime: another attempt would begin after `ask.until_us`. Otherwise the last failure, and at once what
            asking again does not change.
        """
        attempt = 1
        self._require_time(ask, 0.0)
        while True:
            try:
                return self._model.ask(ask)
            except (Throttled, ModelUnavailable) as failure:
                wanted = failure.retry_after_s if isinstance(failure, Throttled) else None
                if attempt == ATTEMPTS or (wanted or 0.0) > PAUSE_MAX_S:
                    raise
                most = min(PAUSE_MAX_S, PAUSE_MIN_S * 2**attempt)
                pause = PAUSE_MIN_S + self._randomness.fraction() * (most - PAUSE_MIN_S)
                pause = max(pause, wanted or 0.0)
                self._require_time(ask, pause, failure)
                self._clock.pause(pause)
            attempt += 1

    def _require_time(self, ask: Ask, pause_s: float, failure: ModelUnavailable | Throttled | None = None) -> None:
        """Raise OutOfTime, which says what failed, where an attempt after a pause would begin too late."""
        if ask.until_us is not None and self._clock.now_us() + round(pause_s * 1_000_000) > ask.until_us:
            raise OutOfTime(f"there is no time left to ask{'' if failure is None else f' again: {failure}'}")

    def tokens(self, ask: Ask) -> int:
        """Count as the model does."""
        return self._model.tokens(ask)
