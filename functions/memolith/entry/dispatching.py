"""Which kind of event a function takes. What a function may invoke answers HTTP requests or calls, and not both.

A call vouches for who is behind it, or asks for what no API key may do; an HTTP request brings credentials that are
verified. IAM tells functions apart, and not events: so no function that another may invoke takes both. `keys` takes
both, and no function may invoke it: an HTTP request comes to it from the HTTP API alone, which says that it is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memolith.entry.lambda_runtime import Answer, Event
from memolith.wire.http import HttpApi
from memolith.wire.rpc import Rpc, refusal

NOT_HERE = (
    "is not taken here: this function answers HTTP requests alone. Invoke the function that answers the call: keys for "
    "API keys, peerreader and peerwriter for what other regions and functions ask"
)
NO_REQUEST = "must be the name of a call: this function answers direct invocations, and no HTTP request"


class HttpAnswering(Protocol):
    """What answers HTTP requests: the API, or the MCP server."""

    def answer(self, event: Event) -> Mapping[str, Any]:
        """Answer one request."""


def http_alone(api: HttpAnswering) -> Answer:
    """Answer HTTP requests; tell every event that has a ``call`` that this is not the function for it."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return refusal(NOT_HERE) if "call" in event else api.answer(event)

    return answer


def calls_or_http(api: HttpApi, calls: Rpc) -> Answer:
    """Answer HTTP requests, and calls. An event that says that it is a request is never a call, whatever else it has.

    It raises what `calls` raises.
    """
    by_call, by_http = calls_alone(calls), http_alone(api)

    def answer(event: Event, context: object) -> Mapping[str, Any]:
        return (by_http if "requestContext" in event else by_call)(event, context)

    return answer


def calls_alone(calls: Rpc) -> Answer:
    """Answer calls; tell every event that has none, an HTTP request for instance, that this is not the function for it.

    It raises what `calls` raises.
    """

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        return calls(event) if "call" in event and "requestContext" not in event else refusal(NO_REQUEST)

    return answer
