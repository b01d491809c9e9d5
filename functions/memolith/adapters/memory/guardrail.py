"""A guardrail in memory."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.ports.errors import Unavailable
from memolith.ports.guardrail import Confidence, Opinion

CLEAR = Opinion(Confidence.NONE)


class MemoryGuardrail:
    """`ports.guardrail.Guardrail` that blocks every text in which one of its phrases stands.

    Attributes:
        asked: how many texts it was asked about.
        unavailable: while set, it answers no call.
    """

    def __init__(self, phrases: Sequence[str] = ()) -> None:
        self.phrases = tuple(phrases)
        self.asked = 0
        self.unavailable = False

    def ask(self, text: str) -> Opinion:
        self.asked += 1
        if self.unavailable:
            raise Unavailable("asking the guardrail: unavailable")
        found = any(phrase in text for phrase in self.phrases)
        return Opinion(Confidence.HIGH, blocked=True) if found else CLEAR
