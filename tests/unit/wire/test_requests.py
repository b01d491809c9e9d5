"""Events as API Gateway sends them, and as emulators do."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.errors import InvalidRequest
from memolith.wire.errors import UnknownRoute
from memolith.wire.requests import BODY_MAX_BYTES, Query, read_event


def event(**fields: Any) -> dict[str, Any]:
    return {"rawPath": "/", "requestContext": {"http": {"method": "get"}, "stage": "$default"}, **fields}


def test_segments_are_decoded_once() -> None:
    assert read_event(event(rawPath="/v1/a%2Fb/%252F/%C3%A4+")).segments == ("v1", "a/b", "%2F", "ä+")
    with pytest.raises(UnknownRoute):
        read_event(event(rawPath="/v1/%ff"))


def test_a_stages_name_in_front_of_the_path_is_taken_off() -> None:
    context = {"http": {"method": "GET"}, "stage": "dev"}
    assert read_event(event(rawPath="/dev/v1/x", requestContext=context)).segments == ("v1", "x")
    assert read_event(event(rawPath="/v1/x", requestContext=context)).segments == ("v1", "x")
    assert read_event(event(rawPath="/dev/v1/x")).segments == ("dev", "v1", "x")


def test_headers_are_found_whatever_their_case() -> None:
    request = read_event(event(headers={"Authorization": "a", "x-API-key": "b"}))
    assert (request.headers["authorization"], request.headers["x-api-key"]) == ("a", "b")


def test_a_body_is_the_same_flagged_or_not() -> None:
    text = '{"path":"/ä"}'
    assert read_event(event(body=text)).body() == text.encode()
    encoded = base64.b64encode(text.encode()).decode()
    assert read_event(event(body=encoded, isBase64Encoded=True)).body() == text.encode()
    assert read_event(event()).body() == b""
    assert read_event(event(body=None)).body() == b""


def test_a_body_that_is_not_what_its_flag_says_is_refused() -> None:
    for fields in ({"body": "{}", "isBase64Encoded": True}, {"body": "\ud800"}):
        with pytest.raises(InvalidRequest, match="body: must be UTF-8"):
            read_event(event(**fields)).body()


@pytest.mark.parametrize("is_base64", [False, True])
def test_a_body_is_limited_to_a_mebibyte(is_base64: bool) -> None:
    def body(size: int) -> bytes:
        raw = b"x" * size
        text = base64.b64encode(raw).decode() if is_base64 else raw.decode()
        return read_event(event(body=text, isBase64Encoded=is_base64)).body()

    assert len(body(BODY_MAX_BYTES)) == BODY_MAX_BYTES
    for size in (BODY_MAX_BYTES + 1, 3 * BODY_MAX_BYTES):
        with pytest.raises(InvalidRequest) as refused:
            body(size)
        assert refused.value.too_large


def test_values_are_decoded_as_a_form_is() -> None:
    query = Query("path_prefix=%2Fa%20b%2Cc%2F&x=a+b&y=a%2Bb&empty=&bare&created_at%5Bgte%5D=1&created_at[lte]=2")
    assert query.text("path_prefix") == "/a b,c/"
    assert (query.text("x"), query.text("y")) == ("a b", "a+b")
    assert (query.text("empty"), query.text("bare"), query.text("absent")) == ("", "", None)
    assert (query.text("created_at[gte]"), query.text("created_at[lte]")) == ("1", "2")


@pytest.mark.parametrize(
    ("text", "instant_us"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01t00:00:01z", 1_000_000),
        ("1970-01-01 00:00:01Z", 1_000_000),
        ("1970-01-01T02:00:00%2B02:00", 0),
        ("1970-01-01T00:00:00.1234567Z", 123_456),
        ("1969-12-31T23:59:59Z", 0),
        ("0001-01-01T00:00:00%2B23:59", 0),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ("9999-12-31T23:59:59.999999-23:59", 253_402_387_139_999_999),
    ],
)
def test_instants_are_rfc_3339(text: str, instant_us: int) -> None:
    assert Query(f"at={text}").instant("at") == instant_us


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04Z",
        "20260102T030405Z",
        "2026-W01-1T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-02T24:00:01Z",
        "2026-01-02T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "2026-01-02T03:04:05+00:00",
        "٢٠٢٦-01-02T03:04:05Z",
        "1767322800",
        "now",
        "",
    ],
)
def test_anything_else_is_no_instant(text: str) -> None:
    with pytest.raises(InvalidRequest, match="at: must be an RFC 3339 date and time"):
        Query(f"at={text}").instant("at")


@given(raw=st.text(st.characters(codec=None)), name=st.text())
def test_no_query_is_worse_than_refused(raw: str, name: str) -> None:
    try:
        value = Query(raw).text(name)
    except InvalidRequest as refused:
        assert refused.field == name
    else:
        assert value is None or value.encode() is not None
