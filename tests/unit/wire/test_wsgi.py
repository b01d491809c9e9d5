"""The API behind WSGI: what a server hands over becomes the event that API Gateway would have made."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.wire.wsgi import application, event_of


def environ(target: str = "/", method: str = "GET", body: bytes = b"", **more: str) -> dict[str, Any]:
    """What waitress makes of a request."""
    return {
        "REQUEST_METHOD": method,
        "REQUEST_URI": target,
        "QUERY_STRING": target.partition("?")[2],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **more,
    }


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/v1/a%2Fb/%C3%A4?x=%2F&x=a+b", "/v1/a%2Fb/%C3%A4", "x=%2F&x=a+b"),
        ("/?", "/", ""),
        ("//evil.example/v1", "//evil.example/v1", ""),
        ("http://127.0.0.1:8377/v1/x?y=1", "/v1/x", "y=1"),
        ("/a?b?c", "/a", "b?c"),
    ],
)
def test_path_and_query_are_what_was_on_the_wire(target: str, path: str, query: str) -> None:
    event = event_of(environ(target))
    assert (event["rawPath"], event["rawQueryString"]) == (path, query)
    assert event["requestContext"]["http"]["path"] == path


def test_header_names_are_in_lower_case_with_hyphens() -> None:
    event = event_of(environ(HTTP_X_API_KEY="k", HTTP_AUTHORIZATION="Bearer t", CONTENT_TYPE="application/json"))
    assert event["headers"] == {
        "x-api-key": "k",
        "authorization": "Bearer t",
        "content-type": "application/json",
        "content-length": "0",
    }


@given(st.binary(max_size=50), st.sampled_from(["application/json", "text/plain; charset=utf-8", "image/png", ""]))
def test_every_body_arrives_byte_for_byte(body: bytes, content_type: str) -> None:
    event = event_of(environ(method="POST", body=body, CONTENT_TYPE=content_type))
    if not body:
        assert "body" not in event
    elif event["isBase64Encoded"]:
        assert base64.b64decode(event["body"]) == body
    else:
        assert event["body"].encode() == body
        assert content_type.startswith(("application/json", "text/"))


def test_an_answer_goes_out_with_its_status_its_headers_and_its_length() -> None:
    started: list[Any] = []
    answer = {"statusCode": 404, "headers": {"x-memolith-home": "laptop"}, "body": "ä", "isBase64Encoded": False}
    body = application(lambda event: answer)(environ(), lambda status, headers: started.append((status, headers)))  # type: ignore[arg-type]  # what is called of it
    assert b"".join(body) == "ä".encode()
    assert started == [("404 Not Found", [("x-memolith-home", "laptop"), ("content-length", "2")])]


def test_the_answer_to_a_head_has_the_length_and_no_body() -> None:
    started: list[Any] = []
    answer = {"statusCode": 405, "headers": {}, "body": "no HEAD here", "isBase64Encoded": False}
    serve = application(lambda event: answer)
    body = serve(environ(method="HEAD"), lambda status, headers: started.append((status, headers)))  # type: ignore[arg-type]  # what is called of it
    assert b"".join(body) == b""
    assert started == [("405 Method Not Allowed", [("content-length", "12")])]
