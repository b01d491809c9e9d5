"""The unchanged `anthropic` SDK over several regions: the next one is asked where one does not answer.

memolith = Anthropic(base_url=urls[0], api_key="…", http_client=http_client(urls), timeout=35)    # nearest region first

What is repeated in another region is only what may be:

| what happened | a read (GET) | a write |
|---|---|---|
| no connection: nothing was sent | next region | next region |
| 503 that Memolith itself answered: nothing was done | next region | next region |
| any other 5xx, or the connection broke | next region | reported, and never repeated: it may have been done |
| anything else, 409 among it | told | told |

A write that may have been done comes back as status 504, `timeout_error`, ``x-should-retry: false``: the SDK, which
repeats every lost request by itself, leaves it alone. Look at what is there (by id, with ``x-memolith-consistency:
home``) before writing again. A 5xx of API Gateway's own is told apart from one of Memolith's by ``x-memolith-region``,
which is on every answer of Memolith's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import anthropic
import httpx2

from memolith.clients.sdk.once import NOT_SENT
from memolith.core.errors import OutcomeUnknown
from memolith.wire.errors import failure_of

AVOIDED_S = 30.0
"""How long a region that did not answer is asked last."""

_READS = ("GET", "HEAD")
_REGION = "x-memolith-region"
_RETRY = "x-should-retry"


def http_client(base_urls: Sequence[str]) -> httpx2.Client:
    """Make the SDK's own client over these regions, for `Anthropic(base_url=base_urls[0], http_client=…)`.

    Args:
        base_urls: each region's API, the one to prefer first.

    Raises:
        ValueError: none is given, one is given twice, or one is not http(s).
    """
    return anthropic.DefaultHttpxClient(transport=RegionsTransport(base_urls))


class RegionsTransport(httpx2.BaseTransport):
    """Sends each request to the first region that answers it. Safe to share between threads as far as `inner` is.

    Args:
        base_urls: each region's API, the one to prefer first. Requests must be made for the first.
        inner: what sends; by default `httpx2.HTTPTransport`, which takes no proxy from the environment.
        now_s: a clock that only runs forwards.

    Raises:
        ValueError: see `http_client`.
    """

    def __init__(
        self,
        base_urls: Sequence[str],
        inner: httpx2.BaseTransport | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bases = [httpx2.URL(url.rstrip("/")) for url in base_urls]
        if not self._bases or len(set(self._bases)) != len(self._bases):
            raise ValueError("base_urls: at least one, and none twice")
        for base in self._bases:
            if base.scheme not in ("http", "https") or not base.host:
                raise ValueError(f"base_urls: must be http(s)://…, not {base}")
        self._inner = inner or httpx2.HTTPTransport()
        self._now_s = now_s
        self._avoided_until_s: dict[httpx2.URL, float] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the first final answer of a region; the last answer where none is final.

        Raises:
            httpx2.TransportError: no region was reached, or (for a read) none answered.
        """
        request.read()
        answer: httpx2.Response | None = None
        failure: httpx2.TransportError | None = None
        for base in self._order():
            try:
                answered = self._inner.handle_request(self._addressed(request, base))
            except httpx2.TransportError as error:
                self._avoid(base)
                if request.method not in _READS and not isinstance(error, NOT_SENT):
                    _close(answer)
                    return _unknown(request)
                failure = error
                continue
            _close(answer)
            answer = answered
            if not _may_go_on(request, answer):
                self._avoided_until_s.pop(base, None)
                return _final(request, answer)
            if _REGION not in answer.headers:
                self._avoid(base)
        if answer is not None:
            return answer
        raise failure or httpx2.ConnectError("no region was asked", request=request)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()

    def _order(self) -> list[httpx2.URL]:
        """Return the regions as given, those to be avoided last."""
        now_s = self._now_s()
        return sorted(self._bases, key=lambda base: self._avoided_until_s.get(base, 0.0) > now_s)

    def _avoid(self, base: httpx2.URL) -> None:
        self._avoided_until_s[base] = self._now_s() + AVOIDED_S

    def _addressed(self, request: httpx2.Request, base: httpx2.URL) -> httpx2.Request:
        """Address the same request to this region. A base may have a path of its own."""
        own = _path(self._bases[0])
        target = request.url.raw_path
        rest = target[len(own) :] if target.startswith(own) else target
        url = request.url.copy_with(scheme=base.scheme, host=base.host, port=base.port, raw_path=_path(base) + rest)
        headers = request.headers.copy()
        headers["host"] = url.netloc.decode("ascii")
        return httpx2.Request(
            request.method, url, headers=headers, content=request.content, extensions=request.extensions
        )


def _path(base: httpx2.URL) -> bytes:
    return base.raw_path.rstrip(b"/")


def _may_go_on(request: httpx2.Request, response: httpx2.Response) -> bool:
    if request.method in _READS:
        return response.status_code >= 500
    return response.status_code == 503 and _REGION in response.headers


def _final(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Mark a write's 5xx that is not Memolith's own, so that the SDK does not repeat it; return the answer."""
    if request.method not in _READS and response.status_code >= 500 and _REGION not in response.headers:
        response.headers[_RETRY] = "false"
    return response


def _unknown(request: httpx2.Request) -> httpx2.Response:
    """Make the answer that Memolith gives when it does not know the outcome."""
    failure = failure_of(OutcomeUnknown("the connection broke; the write may have been done: look first"), writes=True)
    return httpx2.Response(
        failure.status, headers=dict(failure.headers), json=failure.body("req_unanswered"), request=request
    )


def _close(response: httpx2.Response | None) -> None:
    if response is not None:
        response.close()
