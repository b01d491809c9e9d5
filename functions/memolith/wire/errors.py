"""The one table from errors to HTTP.

| error | status | error.type | the SDK repeats it by itself |
|---|---|---|---|
| InvalidRequest | 400, or 413 where something is too large | invalid_request_error, request_too_large | no |
| Unauthenticated | 401 | authentication_error | no |
| PermissionDenied | 403 | permission_error | no |
| RateLimited | 429 | rate_limit_error, with retry-after | yes: nothing was done |
| BudgetExhausted | 429 | memory_budget_error, with retry-after | no: told not to |
| NotFound, an unknown route | 404 | not_found_error | no |
| a known route, another method | 405 | invalid_request_error | no |
| PathConflict | 409 | memory_path_conflict_error | no: told not to |
| PreconditionFailed | 409 | memory_precondition_failed_error | no: told not to |
| NeedsApproval, which is answered as a proposal instead | 409 | conflict_error | no: told not to |
| Conflict | 409 | conflict_error | no: told not to |
| SnapshotIncomplete | 409 | memory_snapshot_incomplete_error | no: told not to |
| Busy | 503 | overloaded_error | yes: nothing was done |
| Unavailable | 503 | api_error | yes: nothing was done |
| Damaged | 503 | memory_damaged_error | no: told not to |
| OutcomeUnknown | 504 | timeout_error | no: told not to |
| anything else | 500 | api_error | reads only |

The SDK repeats every 409 and 5xx unless the answer says ``x-should-retry: false``. A repeated 409 costs a second and
can succeed against a state that the caller never saw; a repeated unknown outcome can undo what another caller wrote
since.
Source: docs/api-compatibility.md §1.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from traceback import extract_tb
from typing import Any

from memolith.core import errors
from memolith.core.errors import (
    BudgetExhausted,
    Damaged,
    InvalidRequest,
    MemolithError,
    PathConflict,
    RateLimited,
    SnapshotIncomplete,
)
from memolith.core.times import rfc3339

MESSAGE_MAX_CHARS = 2_000
"""A message may quote the request, which can be long; the quotation ends here."""

_NO_RETRY = {"x-should-retry": "false"}
_TIMEOUT, _THROTTLED, _SERVER_ERROR = 408, 429, 500
_OVERLOADED = (503, 529)


class UnknownRoute(Exception):
    """No operation has this path."""


class MethodNotAllowed(Exception):
    """The path is known, but not with this method. ``allowed`` lists those that are."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(", ".join(allowed))
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Failure:
    """What a caller is told of an error."""

    status: int
    type: str
    message: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, request_id: str) -> dict[str, Any]:
        """Make the API's error envelope. Text that is not Unicode is escaped, so that it can always be sent."""
        message = self.message[:MESSAGE_MAX_CHARS].encode("utf-8", "backslashreplace").decode()
        return {
            "type": "error",
            "error": {"type": self.type, "message": message, **self.extra},
            "request_id": request_id,
        }


@dataclass(frozen=True, slots=True)
class _Mapping:
    status: int
    type: str
    headers: Mapping[str, str] = field(default_factory=dict)


_TABLE: dict[type[MemolithError], _Mapping] = {
    errors.InvalidRequest: _Mapping(400, "invalid_request_error"),
    errors.Unauthenticated: _Mapping(401, "authentication_error"),
    errors.PermissionDenied: _Mapping(403, "permission_error"),
    errors.RateLimited: _Mapping(429, "rate_limit_error"),
    errors.BudgetExhausted: _Mapping(429, "memory_budget_error", _NO_RETRY),
    errors.NotFound: _Mapping(404, "not_found_error"),
    errors.PathConflict: _Mapping(409, "memory_path_conflict_error", _NO_RETRY),
    errors.PreconditionFailed: _Mapping(409, "memory_precondition_failed_error", _NO_RETRY),
    errors.NeedsApproval: _Mapping(409, "conflict_error", _NO_RETRY),
    errors.Conflict: _Mapping(409, "conflict_error", _NO_RETRY),
    errors.SnapshotIncomplete: _Mapping(409, "memory_snapshot_incomplete_error", _NO_RETRY),
    errors.Busy: _Mapping(503, "overloaded_error"),
    errors.Damaged: _Mapping(503, "memory_damaged_error", _NO_RETRY),
    errors.Unavailable: _Mapping(503, "api_error"),
    errors.OutcomeUnknown: _Mapping(504, "timeout_error", _NO_RETRY),
}


def failure_of(error: Exception, *, writes: bool) -> Failure:
    """Choose what the caller gets for an error. `writes`: the request may have changed something before it failed."""
    if isinstance(error, UnknownRoute):
        return Failure(404, "not_found_error", "no operation has this path")
    if isinstance(error, MethodNotAllowed):
        message = f"this path takes {' or '.join(error.allowed)}"
        return Failure(405, "invalid_request_error", message, headers={"allow": ", ".join(error.allowed)})
    mapping = next((_TABLE[kind] for kind in type(error).__mro__ if kind in _TABLE), None)
    if mapping is None or not isinstance(error, MemolithError):
        return Failure(500, "api_error", "internal error", headers=_NO_RETRY if writes else {})
    if isinstance(error, InvalidRequest) and error.too_large:
        return Failure(413, "request_too_large", error.message)
    headers = dict(mapping.headers)
    if isinstance(error, (RateLimited, BudgetExhausted)):
        headers["retry-after"] = str(error.retry_after_s)
    return Failure(mapping.status, mapping.type, error.message, _extra(error), headers)


def _extra(error: MemolithError) -> dict[str, Any]:
    if isinstance(error, PathConflict):
        return {
            "conflicting_memory_id": error.conflicting_memory_id,
            "conflicting_path": error.conflicting_path,
        }
    if isinstance(error, Damaged):
        return {
            "object": error.object,
            "region": error.region,
            "memory_version_id": error.version_id or None,
            "damage": error.cause,
        }
    if isinstance(error, SnapshotIncomplete):
        until = error.complete_until
        return {"as_of": rfc3339(error.as_of), "complete_until": None if until is None else rfc3339(until)}
    if isinstance(error, InvalidRequest) and error.findings:
        return {"findings": list(error.findings)}
    return {}


def trace(error: BaseException) -> list[str]:
    """List where an unexpected error came from, innermost last, without its message, which could quote content."""
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__, limit=-20)]
    cause = error.__cause__ or error.__context__
    return [*(trace(cause) if cause is not None else []), *frames, type(error).__qualname__]


def message_of(error: Mapping[str, Any], otherwise: str = "") -> str:
    """Return what a client shows of an error's JSON. Which path is held stands beside the message, not in it."""
    held = error.get("conflicting_path")
    return f"{held} is held by another memory" if held else str(error.get("message") or otherwise)


def says_not_done(status: int, kind: str) -> bool:
    """Tell a client whether an error response says that nothing was done. `kind`: its `error.type`, empty for none.

    A gateway answers 503 itself, without a type, when it has waited long enough: the function goes on, and may do the
    write yet. What is throttled was never handed on, whoever says so. Source: docs/api-compatibility.md §1.13.
    """
    return status == _THROTTLED or (status in _OVERLOADED and bool(kind))


def may_be_done(status: int, kind: str) -> bool:
    """Tell a client whether a write that was answered so may be done: it was not refused, nor left undone."""
    broke_off = status >= _SERVER_ERROR or status == _TIMEOUT
    return broke_off and not says_not_done(status, kind)
