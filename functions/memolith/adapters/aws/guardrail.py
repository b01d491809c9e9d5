"""Amazon Bedrock Guardrails as a second opinion: `ApplyGuardrail`, its prompt-attack filter alone.

A memory is what an author says to the model that will read it, so it is asked about as INPUT; the filter looks at
nothing else. A long text goes in pieces, which overlap so that no attack is cut in two unseen.
Source: Amazon Bedrock API reference, "ApplyGuardrail", "GuardrailContentFilter"; Amazon Bedrock user guide, "Use the
ApplyGuardrail API in your application", "Detect prompt attacks".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of, is_throttled
from memolith.ports.errors import Unavailable
from memolith.ports.guardrail import Confidence, Opinion

PIECE_CHARACTERS = 20_000
"""Twenty text units of a thousand characters; a request may have 25, which is also the least that an account may ask
for in a second. Source: AWS Machine Learning Blog, "Use the ApplyGuardrail API with long-context inputs"."""

OVERLAP_CHARACTERS = 1_000
"""What two pieces share: an attack that is shorter stands whole in one of them."""

PAUSES_S = (0.25, 0.5)
"""Before a question is repeated that was throttled."""

PROMPT_ATTACK = "PROMPT_ATTACK"

_ORDER = tuple(Confidence)


class BedrockGuardrail:
    """`ports.guardrail.Guardrail` on one version of one guardrail of this region."""

    def __init__(
        self,
        clients: Clients,
        region: str,
        identifier: str,
        version: str,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Make the client; no call.

        Args:
            clients: where from.
            region: the guardrail's, which is the function's own.
            identifier: the guardrail's id or ARN.
            version: a number, or ``DRAFT``.
            pause: waits for so many seconds.
        """
        self._client = clients.bedrock_runtime(region)
        self._pause = pause
        self._identifier = identifier
        self._version = version

    def ask(self, text: str) -> Opinion:
        """Ask for each piece until one is blocked: one request a piece; none for blanks, which the API refuses.

        What was throttled is repeated twice, as that is told at once. What hangs or is lost is not: its repetitions
        would take the time of every other text.

        Raises:
            Unavailable: as the port says; also a guardrail without content filters, whose silence says nothing.
        """
        worst = Opinion(Confidence.NONE)
        if not text.strip():
            return worst
        for piece in pieces(text):
            opinion = self._ask(piece)
            if opinion.blocked:
                return opinion
            worst = max(worst, opinion, key=lambda one: _ORDER.index(one.confidence))
        return worst

    def _ask(self, piece: str) -> Opinion:
        for pause_s in (*PAUSES_S, None):
            try:
                return _opinion(self._applied(piece))
            except AwsError as error:
                if pause_s is None or not is_throttled(error):
                    raise Unavailable(f"asking the guardrail: {code_of(error)}") from error
                self._pause(pause_s)
        raise AssertionError("the last attempt returns or raises")

    def _applied(self, piece: str) -> Mapping[str, Any]:
        return self._client.apply_guardrail(
            guardrailIdentifier=self._identifier,
            guardrailVersion=self._version,
            source="INPUT",
            content=[{"text": {"text": piece}}],
            outputScope="FULL",
        )


def pieces(text: str) -> Iterator[str]:
    """Yield the text in pieces that the API takes, each beginning a little before the one before it ends."""
    for start in range(0, max(len(text) - OVERLAP_CHARACTERS, 1), PIECE_CHARACTERS - OVERLAP_CHARACTERS):
        yield text[start : start + PIECE_CHARACTERS]


def _opinion(answer: Mapping[str, Any]) -> Opinion:
    """Read what the prompt-attack filter said; blocked by it, or only detected, where its owner set it to that."""
    policies = [assessment.get("contentPolicy", {}) for assessment in answer.get("assessments", ())]
    said = [one for policy in policies for one in policy.get("filters", ()) if one["type"] == PROMPT_ATTACK]
    if not said and answer["usage"]["contentPolicyUnits"] == 0:
        raise Unavailable("asking the guardrail: it has no content filter, so none for prompt attacks")
    found = [one for one in said if one.get("detected", one["action"] == "BLOCKED")]
    confidence = max((Confidence(one["confidence"].lower()) for one in found), key=_ORDER.index, default=_ORDER[0])
    return Opinion(confidence, blocked=any(one["action"] == "BLOCKED" for one in found))
