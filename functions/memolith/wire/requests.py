"""An HTTP API event, payload format 2.0, as what an operation needs of it.

Query values come from ``rawQueryString``, because ``queryStringParameters`` joins repeated ones with commas and
``path_prefix`` may hold a comma. A value is decoded only where it is used, so that parameters which older SDKs send
(``beta=true``, ``order``) are tolerated whatever they hold. Any other that an operation does not know is refused.
Source: docs/api-compatibility.md §1.2.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from memolith.core.errors import InvalidRequest
from memolith.core.limits import LIST_DEFAULT, LIST_MAX
from memolith.core.times import parse_rfc3339
from memolith.wire.errors import UnknownRoute

BODY_MAX_BYTES = 1_048_576
"""No valid request is larger: 102,400 bytes of content are 614,400 as JSON if every one of them is escaped."""

WITHHELD = "x-memolith-withheld"
"""``show``: an admin is shown withheld texts too; ``hide``, the default: they are null, whatever the key."""

ID_MAX_CHARS = 128
"""No id is longer; what is longer is not looked for, nor a filter, because no table could hold it as a key."""

TOLERATED = frozenset(("beta", "order", "order_by"))
"""Parameters that older SDKs send and that change nothing, with whatever value."""

PARAMETER_SHOWN_CHARS = 40

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Query:
    """The query's parameters, each read by the one who knows what it should be."""

    def __init__(self, raw: str) -> None:
        self._values: dict[str, list[str]] = {}
        self._known: Container[str] | None = None
        for pair in filter(None, raw.split("&")):
            name, _, value = pair.partition("=")
            self._values.setdefault(_percent_decoded(name) or "", []).append(value)

    def has(self, name: str) -> bool:
        """Tell whether a parameter is given."""
        return name in self._values

    def allow_only(self, known: Sequence[str]) -> None:
        """Refuse what the operation does not know: ignored, it would be answered as if it had been heeded.

        Raises:
            InvalidRequest: naming the parameter.
        """
        for name in self._values:
            if name not in known and name not in TOLERATED:
                listed = f"; it knows {', '.join(known)}" if known else ""
                shown = name[:PARAMETER_SHOWN_CHARS] or "query"
                raise InvalidRequest(shown, f"is not a parameter of this operation{listed}")
        self._known = {*known, *TOLERATED}

    def text(self, name: str) -> str | None:
        """Return the value, or None where the parameter is absent. Raises InvalidRequest: repeated, or not UTF-8."""
        if self._known is not None and name not in self._known:
            raise LookupError(f"{name} is read, but not among the parameters of this operation in wire/routes/table.py")
        values = self._values.get(name, [])
        if len(values) > 1:
            raise InvalidRequest(name, "must be given once")
        if not values:
            return None
        text = _percent_decoded(values[0])
        if text is None:
            raise InvalidRequest(name, "must be percent-encoded UTF-8")
        return text

    def words(self, name: str) -> str | None:
        """Return a value, refusing an empty one: it is a mistake of the caller's, which must not widen a listing."""
        text = self.text(name)
        if text == "":
            raise InvalidRequest(name, "must not be empty")
        return text

    def id(self, name: str) -> str | None:
        """Return an id to filter by; an unknown id finds nothing."""
        text = self.words(name)
        if text is not None and len(text) > ID_MAX_CHARS:
            raise InvalidRequest(name, f"must be at most {ID_MAX_CHARS} characters long")
        return text

    def one_of(self, name: str, *choices: str) -> str | None:
        """Return one of a few words. Raises InvalidRequest."""
        text = self.text(name)
        if text is not None and text not in choices:
            raise InvalidRequest(name, f"must be one of {', '.join(choices)}")
        return text

    def several_of(self, names: Sequence[str], choices: Sequence[str]) -> frozenset[str]:
        """Return the words that a repeated parameter, known by any of these names, has. Raises InvalidRequest."""
        values = [(name, _percent_decoded(value)) for name in names for value in self._values.get(name, ())]
        for name, value in values:
            if value not in choices:
                raise InvalidRequest(name, f"must be one of {', '.join(choices)}")
        return frozenset(value for _, value in values if value is not None)

    def full(self, *, default: bool) -> bool:
        """Tell whether `view` asks for content."""
        view = self.one_of("view", "basic", "full")
        return default if view is None else view == "full"

    def limit(self, default: int = LIST_DEFAULT, highest: int = LIST_MAX) -> int:
        """Return a limit from 1 to 100. Full listings apply their cap of 20 themselves: larger limits are valid."""
        return self.number("limit", default, highest)

    def number(self, name: str, default: int, highest: int, lowest: int = 1) -> int:
        """Return a whole number from `lowest` to `highest`. Raises InvalidRequest."""
        text = self.text(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) <= 9 and lowest <= int(text) <= highest):
            raise InvalidRequest(name, f"must be a whole number from {lowest} to {highest}")
        return int(text)

    def instant(self, name: str) -> int | None:
        """Parse an RFC 3339 date and time with its offset, as microseconds since 1970; earlier ones count as 1970."""
        text = self.text(name)
        if text is None:
            return None
        try:
            if not _INSTANT.fullmatch(text):
                raise ValueError(text)
            return max(0, parse_rfc3339(text.upper()))
        except (ValueError, OverflowError) as error:
            raise InvalidRequest(name, "must be an RFC 3339 date and time, such as 2026-11-21T10:00:00Z") from error

    def bounds(self, name: str) -> tuple[int | None, int | None]:
        """Return the first and the last instant that ``[gte]``, ``[gt]``, ``[lte]`` and ``[lt]`` of a name leave."""
        since = (self.instant(f"{name}[gte]"), _moved(self.instant(f"{name}[gt]"), 1))
        until = (self.instant(f"{name}[lte]"), _moved(self.instant(f"{name}[lt]"), -1))
        return (
            max((bound for bound in since if bound is not None), default=None),
            min((bound for bound in until if bound is not None), default=None),
        )

    def each(self, name: str, most: int, max_chars: int) -> tuple[str, ...]:
        """Return the values of a parameter that may be repeated, ``name[]``. Raises InvalidRequest."""
        repeated = f"{name}[]"
        values = [_percent_decoded(value) for value in self._values.get(repeated, [])]
        if len(values) > most:
            raise InvalidRequest(repeated, f"must be given at most {most} times")
        for value in values:
            if not value or len(value) > max_chars:
                raise InvalidRequest(repeated, f"must be percent-encoded UTF-8 of 1 to {max_chars} characters")
        return tuple(value for value in values if value)

    def sha256(self, name: str) -> str | None:
        """Return a SHA-256. Refuses an empty or misspelt one: it must not act as no precondition, nor a stale one."""
        text = self.text(name)
        return None if text is None else check_sha256(name, text)


def check_sha256(field: str, text: str) -> str:
    """Return the text itself. Raises InvalidRequest."""
    if not _SHA256.fullmatch(text):
        raise InvalidRequest(field, "must be 64 lower-case hexadecimal characters")
    return text


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Header names are in lower case; segments are percent-decoded, once."""

    method: str
    segments: tuple[str, ...]
    query: Query
    headers: Mapping[str, str]
    raw_body: str
    is_base64: bool

    def shows_withheld(self) -> bool:
        """Tell whether withheld texts are to be shown. Raises InvalidRequest naming the header and the rule."""
        asked = self.headers.get(WITHHELD, "hide")
        if asked not in ("show", "hide"):
            raise InvalidRequest(WITHHELD, "must be show or hide")
        return asked == "show"

    def body(self) -> bytes:
        """Return the body's bytes.

        Raises:
            InvalidRequest: naming ``body``: too large, or flagged as base64 and not.
        """
        if len(self.raw_body) > BODY_MAX_BYTES * 4 // 3 + 4:
            raise _too_large()
        try:
            body = base64.b64decode(self.raw_body, validate=True) if self.is_base64 else self.raw_body.encode()
        except (binascii.Error, ValueError) as error:
            raise InvalidRequest("body", "must be UTF-8") from error
        if len(body) > BODY_MAX_BYTES:
            raise _too_large()
        return body


def _too_large() -> InvalidRequest:
    return InvalidRequest("body", f"must be at most {BODY_MAX_BYTES:,} bytes", too_large=True)


def read_event(event: Mapping[str, Any]) -> Request:
    """Parse the request in an event.

    Removes a stage's name in front of the path (the ``$default`` stage has none).

    Raises:
        UnknownRoute: the path is not percent-encoded UTF-8.
    """
    path = str(event.get("rawPath", "/"))
    stage = f"/{(event.get('requestContext') or {}).get('stage', '$default')}/"
    if path.startswith(stage):
        path = path[len(stage) - 1 :]
    segments = [_percent_decoded(segment, plus=False) for segment in path.lstrip("/").split("/")]
    if None in segments:
        raise UnknownRoute
    return Request(
        method=method_of(event),
        segments=tuple(segment for segment in segments if segment is not None),
        query=Query(str(event.get("rawQueryString") or "")),
        headers={name.lower(): str(value) for name, value in (event.get("headers") or {}).items()},
        raw_body=str(event.get("body") or ""),
        is_base64=bool(event.get("isBase64Encoded")),
    )


def method_of(event: Mapping[str, Any]) -> str:
    """Return the HTTP method, in capitals."""
    return str((event.get("requestContext") or {}).get("http", {}).get("method", "GET")).upper()


def _moved(instant_us: int | None, by_us: int) -> int | None:
    """Return the inclusive bound that an exclusive one is."""
    return None if instant_us is None else instant_us + by_us


def _percent_decoded(text: str, *, plus: bool = True) -> str | None:
    """Decode percent signs; None for what is not UTF-8. `plus`: a plus sign is a space, as in a form."""
    raw = text.replace("+", " ") if plus else text
    try:
        return unquote_to_bytes(raw.encode("utf-8", "surrogatepass")).decode()
    except UnicodeDecodeError:
        return None
