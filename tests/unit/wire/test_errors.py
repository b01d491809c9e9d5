"""The table of errors is complete, and tells no more than it should."""

from __future__ import annotations

import json

import pytest

from memolith.core import errors
from memolith.core.errors import (
    Busy,
    InvalidRequest,
    MemolithError,
    NotFound,
    OutcomeUnknown,
    PathConflict,
    Unavailable,
)
from memolith.wire.errors import MESSAGE_MAX_CHARS, MethodNotAllowed, UnknownRoute, failure_of, says_not_done, trace


def test_every_error_of_the_core_has_its_answer() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MemolithError)]
    assert len(kinds) > 8
    for kind in kinds:
        if kind is not MemolithError:
            error = kind.__new__(kind)
            MemolithError.__init__(error, "message")
            vars(error).update({"too_large": False, "findings": (), "conflicting_path": "/a"})
            vars(error).update({"conflicting_memory_id": "", "as_of": 0, "complete_until": None})
            assert failure_of(error, writes=True).status not in (500, 200), kind


def test_conflicts_say_who_is_in_the_way() -> None:
    failure = failure_of(PathConflict("/a", "mem_x"), writes=True)
    assert (failure.status, failure.extra) == (409, {"conflicting_memory_id": "mem_x", "conflicting_path": "/a"})
    assert failure_of(PathConflict("/a"), writes=True).extra["conflicting_memory_id"] == ""


def test_findings_of_the_scanner_are_passed_on() -> None:
    failure = failure_of(InvalidRequest("content", "refused", findings=({"rule": "r"},)), writes=True)
    assert failure.body("req_x")["error"]["findings"] == [{"rule": "r"}]


def test_what_is_no_error_of_the_core_is_told_nothing() -> None:
    for error in (ValueError("secret"), MemolithError("secret"), RecursionError("secret")):
        failure = failure_of(error, writes=False)
        assert (failure.status, failure.type, failure.message) == (500, "api_error", "internal error")


def test_a_write_that_failed_for_unknown_reasons_is_not_repeated_blindly() -> None:
    assert failure_of(ValueError(), writes=True).headers == {"x-should-retry": "false"}
    assert failure_of(ValueError(), writes=False).headers == {}


def test_a_client_takes_a_write_for_not_done_only_where_memolith_or_a_throttle_says_so() -> None:
    for error, not_done in ((Busy("x"), True), (Unavailable("x"), True), (OutcomeUnknown("x"), False)):
        failure = failure_of(error, writes=True)
        assert says_not_done(failure.status, failure.type) is not_done
    internal = failure_of(ValueError(), writes=True)
    assert not says_not_done(internal.status, internal.type)
    assert {status for status in (200, 408, 409, 429, 500, 502, 503, 504, 529) if says_not_done(status, "")} == {429}


@pytest.mark.parametrize("id", ["\ud800", "x" * 100_000, "\x00\n\u2028"])
def test_any_message_can_be_sent(id: str) -> None:
    body = failure_of(NotFound("memory", id), writes=False).body("req_x")
    json.dumps(body, ensure_ascii=False).encode()
    assert len(body["error"]["message"]) <= MESSAGE_MAX_CHARS + 10


def test_routes() -> None:
    assert failure_of(UnknownRoute(), writes=False).status == 404
    failure = failure_of(MethodNotAllowed(("GET", "POST")), writes=False)
    assert (failure.status, failure.headers) == (405, {"allow": "GET, POST"})


def test_a_trace_says_where_and_not_what() -> None:
    def fail() -> None:
        try:
            raise KeyError("secret")
        except KeyError as error:
            raise ValueError("secret") from error

    with pytest.raises(ValueError) as raised:
        fail()
    told = trace(raised.value)
    assert [line for line in told if line in ("KeyError", "ValueError")] == ["KeyError", "ValueError"]
    assert any(line.endswith(" fail") for line in told)
    assert "secret" not in "".join(told)
