"""How fresh a read must be, as headers of the request; how fresh its answer is, as headers of the answer.

| header of a request | values |
|---|---|
| x-memolith-consistency | ``region`` (the default), or ``home``: the linearizable answer |
| x-memolith-min-version | ``memver_…``: an answer no older than this version |

| header of an answer to GET | |
|---|---|
| x-memolith-complete-until | RFC 3339: the region has everything that was acknowledged until then; or ``unknown`` |
| x-memolith-lag-ms | how long ago that is, by the region's own clock; absent where it is unknown |
"""

from __future__ import annotations

from collections.abc import Mapping

from memolith.app.kernel.results import ReadConsistency, RequestContext
from memolith.core import ids
from memolith.core.errors import InvalidRequest
from memolith.core.times import rfc3339

CONSISTENCY = "x-memolith-consistency"
MIN_VERSION = "x-memolith-min-version"
COMPLETE_UNTIL = "x-memolith-complete-until"
LAG_MS = "x-memolith-lag-ms"

UNKNOWN = "unknown"
"""The region cannot say, or the request was refused before its index was read."""


def demand(headers: Mapping[str, str]) -> ReadConsistency:
    """Parse what the headers (names in lower case) ask for. Raises InvalidRequest naming the header and the rule."""
    consistency = headers.get(CONSISTENCY, "region")
    if consistency not in ("region", "home"):
        raise InvalidRequest(CONSISTENCY, "must be region or home")
    min_version = headers.get(MIN_VERSION)
    if min_version is not None and ids.VERSION.fullmatch(min_version) is None:
        raise InvalidRequest(MIN_VERSION, "must be the id of a version, such as memver_01kb…")
    return ReadConsistency(consistency == "home", min_version)


def check_none(demand: ReadConsistency) -> None:
    """Check a read that no home is asked for. Raises InvalidRequest naming the header."""
    if demand.home:
        raise InvalidRequest(CONSISTENCY, "must be region here: a region answers this by what it has itself")
    if demand.min_version is not None:
        raise InvalidRequest(MIN_VERSION, "must be left out here: a region answers this by what it has itself")


def headers(call: RequestContext | None, now_us: int) -> dict[str, str]:
    """Return the headers in which a read reports its own freshness."""
    complete_until = None if call is None else call.complete_until
    if complete_until is None:
        return {COMPLETE_UNTIL: UNKNOWN}
    return {COMPLETE_UNTIL: rfc3339(complete_until), LAG_MS: str(max(0, now_us - complete_until) // 1000)}
