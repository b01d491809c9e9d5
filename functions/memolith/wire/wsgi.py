"""The API as a WSGI application, for one process that any server of WSGI can run.

A request becomes the event that API Gateway would have made of it (HTTP API, payload format 2.0), so that everything
behind it is what runs in Lambda: the path and the query as they came over the wire, header names in lower case, the
body as text where its content type is textual and it is UTF-8, as base64 otherwise.
Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html,
https://peps.python.org/pep-3333/
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_TEXTUAL = ("text/", "application/json", "application/xml", "application/javascript")


def application(answer: Answer) -> WSGIApplication:
    """Serve `answer` (`HttpApi.answer`) behind WSGI. A stream is sent piece by piece, and closed by the server.

    The answer to a HEAD has no body: what followed its headers would be taken for the connection's next answer.

    The server must give the path as it was sent, as ``REQUEST_URI``: what WSGI itself gives is decoded, and a ``%2F``
    in it cannot be told from a slash any more.
    """

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = answer(event_of(environ))
        status = HTTPStatus(response["statusCode"])
        stream: Iterable[bytes] | None = response.get("stream")
        if stream is not None:
            start_response(f"{status.value} {status.phrase}", list(response["headers"].items()))
            return stream
        content = body_of(response)
        headers = [*response["headers"].items(), ("content-length", str(len(content)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [content]

    return respond


def event_of(environ: WSGIEnvironment) -> dict[str, Any]:
    """Make the event of a WSGI request. Reads its body to the end."""
    path = str(environ["REQUEST_URI"]).partition("?")[0]
    if not path.startswith("/"):
        path = urlsplit(path).path
    headers = {name[5:].replace("_", "-"): value for name, value in environ.items() if name.startswith("HTTP_")}
    headers |= {name.replace("_", "-"): environ[name] for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if name in environ}
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    return to_event(environ["REQUEST_METHOD"], path, environ.get("QUERY_STRING", ""), headers.items(), body)


def to_event(
    method: str,
    path: str,
    query: str = "",
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"",
    stage: str = "$default",
) -> dict[str, Any]:
    """Make the event of one request; `path` and `query` as on the wire. Joins repeated headers with commas."""
    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name.lower()] = f"{joined[name.lower()]},{value}" if name.lower() in joined else value
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": f"{method} /{{proxy+}}",
        "rawPath": path,
        "rawQueryString": query,
        "headers": joined,
        "requestContext": {"http": {"method": method, "path": path, "sourceIp": "127.0.0.1"}, "stage": stage},
        "isBase64Encoded": False,
    }
    if body:
        event["body"], event["isBase64Encoded"] = _encoded(body, joined.get("content-type", ""))
    return event


def body_of(answer: Mapping[str, Any]) -> bytes:
    """Return the bytes of an answer. Raises UnicodeEncodeError for one that cannot be sent."""
    if answer["isBase64Encoded"]:
        return base64.b64decode(answer["body"])
    return str(answer["body"]).encode()


def _encoded(body: bytes, content_type: str) -> tuple[str, bool]:
    if content_type.startswith(_TEXTUAL):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True
