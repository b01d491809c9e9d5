"""One HTTP API event in, one response out: the boundary that never lets an error through.

A plain table of routes rather than a framework's resolver: there are twelve paths; the resolver would take query values
from the joined form, answer 404 and 422 in shapes of its own, and add a tenth of a second to a cold start.

The same class serves the reader (GET), the writer (POST, DELETE) and the keys function in Lambda, and all of them at
once in one process.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from memolith.app.api.service import Memolith
from memolith.app.auth.authorizer import AskHome
from memolith.app.kernel.proposal_results import Staged
from memolith.app.kernel.results import Credentials, RequestContext, SessionCredentials
from memolith.core.errors import InvalidRequest, NotFound
from memolith.core.ids import ulid
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.metrics import Metrics
from memolith.wire import auth, freshness
from memolith.wire.errors import Failure, MethodNotAllowed, failure_of, trace
from memolith.wire.event_streams import EventStream, LiveStream, LiveStreams
from memolith.wire.exchange import Exchange
from memolith.wire.proposal_views import proposal
from memolith.wire.requests import method_of, read_event
from memolith.wire.routes.table import PARAMETERS, ROUTES, Route, find
from memolith.wire.shown_texts import lower_class

_log = logging.getLogger(__name__)

UNKNOWN_HOME = "unknown"
"""`x-memolith-home` where no store was found or meant, so that the header is there on every answer."""

HEALTH = ("healthz",)
"""The path that health checks ask, without a key: one index read, and an answer that tells nothing else."""


class HttpApi:
    """The API over one region's use cases.

    Args:
        memolith: the use cases.
        clock: for request ids, cursors and durations.
        randomness: for request ids.
        metrics: gets ``requests`` and ``request_duration_ms``, by operation and status.
        routes: those that this entry answers.
        verify: checks a session's token and says whose it is; by default as the sessions' use cases do.
        live: keeps streams open, where what answers can be sent piece by piece; without it a stream is a long poll.
    """

    def __init__(
        self,
        memolith: Memolith,
        clock: Clock,
        randomness: Randomness,
        metrics: Metrics,
        routes: Sequence[Route] = ROUTES,
        verify: Callable[[str], SessionCredentials] | None = None,
        live: LiveStreams | None = None,
    ) -> None:
        self._memolith = memolith
        self._clock = clock
        self._randomness = randomness
        self._metrics = metrics
        self._routes = routes
        self._verify = verify or memolith.sessions.verify
        self._live = live

    def answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer an API Gateway HTTP API event (payload format 2.0).

        Never raises: every error becomes the API's error envelope. What has a ``stream`` has no ``body``: the stream is
        sent instead, piece by piece, and closed.
        """
        started_us = self._clock.now_us()
        reads = method_of(event) == "GET"
        handling = _Handling(f"req_{ulid(started_us // 1000, self._randomness.bytes(10))}")
        try:
            body, failure = self._perform(event, handling, started_us), None
        except Exception as error:  # noqa: BLE001 the boundary: what no one foresaw is logged here and answered with 500
            failure = failure_of(error, writes=not reads)
            body = failure.body(handling.request_id)
            if failure.status == 500:
                _log.error("unexpected error", extra={"request_id": handling.request_id, "trace": trace(error)})
        self._record(handling, failure, started_us)
        headers = self._headers(handling, failure)
        if reads:
            headers |= freshness.headers(handling.call, self._clock.now_us())
        if handling.streamed is not None:
            return _stream(handling.streamed, headers)
        return _response(body, failure.status if failure else handling.status, failure, headers)

    def _perform(self, event: Mapping[str, Any], handling: _Handling, now_us: int) -> dict[str, Any]:
        """Answer a request. A stranger is told that, whatever else is at fault, and none of its body is read.

        No route reads a body for a GET. What a request without a body says is read before its caller is let in, in the
        batch that it costs anyway: so a fault in it is told only once the caller has been looked up.
        """
        request = read_event(event)
        if request.segments == HEALTH:
            return self._health(handling, request.method)
        operation, ids = find(request, self._routes)
        handling.operation = operation.__name__
        credentials = auth.credentials(request.headers, self._verify)
        handling.call = call = RequestContext(credentials)
        auth.check_workspace(request.headers, credentials.workspace_id, partial(self._memolith.admit, call))
        if request.raw_body and request.method != "GET":
            self._memolith.admit(call, ids)
        try:
            demanded = freshness.demand(request.headers)
            if request.method == "GET":  # a write is decided at the home anyway, whatever it reads first
                call.demand = demanded
            call.shows_withheld = request.shows_withheld()
            request.query.allow_only(PARAMETERS.get(operation, ()))
            present = partial(auth.credentials, request.headers, self._verify)
            answer = operation(Exchange(self._memolith, call, request, ids, now_us, present))
            if isinstance(answer, EventStream):
                handling.streamed = self._begin(answer, handling.request_id)
                return {}
            lower_class(self._memolith, call, answer, writes=request.method != "GET")
            return answer
        except Staged as staged:
            handling.status = 202
            return proposal(staged.proposal)
        except AskHome:  # a read that neither is passed on to the home nor refuses the demand by itself
            freshness.check_none(call.demand)
            raise
        except (InvalidRequest, NotFound):
            if not call.admitted:
                self._memolith.admit(call)
                call.complete_until = None  # the refusal does not rest on what was read
            raise

    def _begin(self, stream: EventStream, request_id: str) -> str | LiveStream:
        return stream.poll(self._clock) if self._live is None else self._live.begin(stream, request_id)

    def _health(self, handling: _Handling, method: str) -> dict[str, Any]:
        handling.operation = "health"
        if method != "GET":
            raise MethodNotAllowed(("GET",))
        self._memolith.check_health()
        return {"type": "health", "status": "ok"}

    def _headers(self, handling: _Handling, failure: Failure | None) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "cache-control": "no-store",
            "request-id": handling.request_id,
            "x-memolith-region": self._memolith.region,
            "x-memolith-home": handling.home or UNKNOWN_HOME,
        }
        if handling.call is not None and (failure is None or failure.status != 401):
            headers["anthropic-workspace-id"] = handling.call.credentials.workspace_id
        return headers

    def _record(self, handling: _Handling, failure: Failure | None, started_us: int) -> None:
        """Log one line and two figures a request: who asked, but no path, no id of a memory, no content, no secret.

        A key's id is what the caller presented, which with status 401 was not believed; a session's was signed.
        """
        status = str(failure.status if failure else handling.status)
        duration_ms = (self._clock.now_us() - started_us) / 1000
        self._metrics.count("requests", operation=handling.operation, status=status)
        self._metrics.milliseconds("request_duration_ms", duration_ms, operation=handling.operation, status=status)
        line = {
            "request_id": handling.request_id,
            "operation": handling.operation,
            "status": status,
            "error": failure.type if failure else None,
            "home": handling.home,
            "duration_ms": duration_ms,
            **handling.caller,
        }
        _log.info("request", extra=line)


class _Handling:
    """What is known of a request so far; an error may come at any point of it."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.operation = "none"
        self.call: RequestContext | None = None
        self.status = 200
        self.streamed: str | LiveStream | None = None

    @property
    def home(self) -> str | None:
        return self.call.home if self.call else None

    @property
    def caller(self) -> dict[str, str | None]:
        """Who asks, by ids that are no secret; None where a request presents nothing of the kind."""
        credentials = self.call.credentials if self.call else None
        return {
            "workspace_id": credentials.workspace_id if credentials else None,
            "key_id": credentials.key_id if isinstance(credentials, Credentials) else None,
            "session_id": credentials.session_id if isinstance(credentials, SessionCredentials) else None,
        }


def _stream(streamed: str | LiveStream, headers: dict[str, str]) -> dict[str, Any]:
    """Answer with what a poll found, or with a stream, which the server is to send and to close."""
    whole = streamed if isinstance(streamed, str) else ""
    answer = {"statusCode": 200, "headers": {**headers, "content-type": "text/event-stream; charset=utf-8"}}
    return {**answer, "body": whole, "isBase64Encoded": False} | (
        {} if isinstance(streamed, str) else {"stream": streamed}
    )


def _response(body: dict[str, Any], status: int, failure: Failure | None, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "statusCode": status,
        "headers": {**headers, **(failure.headers if failure else {})},
        "body": json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        "isBase64Encoded": False,
    }
