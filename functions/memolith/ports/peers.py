"""Other functions, here and in other regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Peers(Protocol):
    """Direct, synchronous invocation of a function by its short name."""

    def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Invoke once, never again by itself.

        Raises:
            OutcomeUnknown: it may have run: a time-out, a lost reply, a crash in it.
            Unavailable: it did not run: refused, throttled, unreachable.
        """
