"""A second opinion on a text, from a model of another service."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Confidence(StrEnum):
    """How sure the guardrail is; in rising order."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the guardrail makes of one text.

    Attributes:
        confidence: that the text is an attack on its reader; `NONE` where nothing was found.
        blocked: the guardrail, as its owner set it, would not let the text through.
    """

    confidence: Confidence
    blocked: bool = False


class Guardrail(Protocol):
    """Asked for prompt attacks alone; what else a guardrail may look for is not ours to act on."""

    def ask(self, text: str) -> Opinion:
        """Return the opinion on a text of any length; of several pieces, the worst. Costs by the thousand characters.

        Raises:
            Unavailable: throttled, unreachable, or set up wrongly. Nothing is known of the text; ask again later.
        """
