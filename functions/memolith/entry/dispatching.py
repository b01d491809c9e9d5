"""Which kind of event a function takes. A function that HTTP reaches answers no call, and the other way round.

A call vouches for who is behind it, or asks for what no API key may do; an HTTP request brings credentials that are
verified. IAM tells functions apart, and not events: so no function takes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.entry.lambda_runtime import Answer, Event
from memolith.wire.http import HttpApi
from memolith.wire.rpc import Rpc, refusal

NOT_HERE = (
    "is not taken here: this function answers HTTP requests alone. Invoke the function that answers the call: keys for "
    "API keys, peerreader and peerwriter for what other regions and functions ask"
)
NO_REQUEST = "must be the name of a call: this function answers direct invocations, and no HTTP request"


def http_alone(api: HttpApi) -> Answer:
    """Answer HTTP requests; tell every event that has a ``call`` that this is not the function for it."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return refusal(NOT_HERE) if "call" in event else api.answer(event)

    return answer


def calls_alone(calls: Rpc) -> Answer:
    """Answer calls; tell every event that has none, an HTTP request for instance, that this is not the function for it.

    It raises what `calls` raises.
    """

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return calls(event) if "call" in event and "requestContext" not in event else refusal(NO_REQUEST)

    return answer
