"""`store_client.StoreClient` over HTTP: one address, one key, a few connections that stay open.

It speaks the API without the SDK, whose import takes longer than a mount may take to start. What only reads is asked
again without an answer; what writes never is, for its caller must know what became of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from memolith.clients.api.client import address
from memolith.clients.working_copy.store_client import (
    Changes,
    Damaged,
    Denied,
    Gone,
    Head,
    Heads,
    NoAnswer,
    Overtaken,
    Refused,
    Staged,
    Version,
)
from memolith.core.times import parse_rfc3339, rfc3339, since_epoch
from memolith.ports.clock import Clock
from memolith.wire.errors import message_of, says_not_done

PAGE = 100
PAGE_WITH_TEXT = 20
TIMEOUT_S = 35.0
"""A little more than the API itself may take."""

CONNECT_TIMEOUT_S = 5.0
READ_ATTEMPTS = 3
PAUSE_S = 0.3
BETA = "agent-memory-2026-07-22"
COMPLETE_UNTIL = "x-memolith-complete-until"
AT_HOME = {"x-memolith-consistency": "home"}
TOO_LARGE = 413
NOT_OURS = "the answer was a {}, and not as Memolith answers"


class HttpStoreClient:
    """One store. May be shared between threads.

    Args:
        url: the API's address.
        key: an API key, or a session's token.
        store_id: ``memstore_…``.
        transport: what carries requests instead of the network.
    """

    def __init__(
        self, url: str, key: str, store_id: str, clock: Clock, transport: httpx2.BaseTransport | None = None
    ) -> None:
        self._url, self._clock = url.rstrip("/"), clock
        self._store = self._url + address(store_id)
        self._http = httpx2.Client(
            headers={"authorization": f"Bearer {key}", "anthropic-beta": BETA},
            timeout=httpx2.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            transport=transport,
        )

    def heads(self) -> Heads:
        pages = list(self._pages("/memories", {"view": "basic", "limit": PAGE}))
        rows = [row for page, _ in pages for row in page["data"]]
        return Heads([_head(row) for row in rows if row["type"] == "memory"], *_when(pages[0][1]))

    def changes(self, since_us: int) -> Changes:
        pages = list(self._pages("/memory_versions", {"limit": PAGE, "created_at[gte]": rfc3339(since_us)}))
        return Changes([_version(row) for page, _ in pages for row in page["data"]], *_when(pages[0][1]))

    def text(self, memory_id: str) -> tuple[Head, bytes]:
        row, _ = self._get(f"/memories/{memory_id}", {"view": "full"})
        if row["content"] is None:
            raise Denied("its text is withheld by the safety scanner")
        return _head(row), row["content"].encode()

    def texts(self, folder: str, *, deep: bool) -> Iterator[tuple[Head, bytes]]:
        asked: dict[str, str | int] = {"view": "full", "limit": PAGE_WITH_TEXT, "depth": 0 if deep else 1}
        if folder != "/":
            asked["path_prefix"] = folder + "/"
        return self._with_texts("/memories", asked)

    def everything(self) -> Iterator[tuple[Head, bytes]]:
        return self._with_texts("/pack", {})

    def head(self, memory_id: str) -> Head:
        row, _ = self._get(f"/memories/{memory_id}", {"view": "basic"}, AT_HOME)
        return _head(row)

    def at(self, path: str) -> Head | None:
        folder = path[: path.rindex("/") + 1]
        asked: dict[str, str | int] = {"path_prefix": folder, "depth": 1, "limit": PAGE}
        for page, _ in self._pages("/memories", asked, AT_HOME):
            for row in page["data"]:
                if row["type"] == "memory" and row["path"] == path:
                    return _head(row)
        return None

    def create(self, path: str, text: str) -> Head:
        return _head(self._post("/memories", {"path": path, "content": text}))

    def update(self, memory_id: str, *, expected_sha256: str, text: str | None = None, path: str | None = None) -> Head:
        changes = {name: value for name, value in (("content", text), ("path", path)) if value is not None}
        still = {"type": "content_sha256", "content_sha256": expected_sha256}
        return _head(self._post(f"/memories/{memory_id}", {**changes, "precondition": still}))

    def delete(self, memory_id: str, *, expected_sha256: str) -> None:
        self._ask("DELETE", f"/memories/{memory_id}", {"expected_content_sha256": expected_sha256})

    def versions(self, memory_id: str, *, at_home: bool = False) -> Sequence[Version]:
        asked: dict[str, str | int] = {"limit": PAGE, "memory_id": memory_id}
        pages = self._pages("/memory_versions", asked, AT_HOME if at_home else None)
        return [_version(row) for page, _ in pages for row in page["data"]]

    def version_text(self, version_id: str) -> bytes:
        row, _ = self._get(f"/memory_versions/{version_id}", {"view": "full"})
        if row["content"] is None:
            raise Denied("this version has no text: it is a deletion, was erased, or is withheld")
        return str(row["content"]).encode()

    def _with_texts(self, path: str, query: Mapping[str, str | int]) -> Iterator[tuple[Head, bytes]]:
        for page, _ in self._pages(path, query):
            for row in page["data"]:
                if row["type"] == "memory" and row["content"] is not None:
                    yield _head(row), row["content"].encode()

    # ---- requests -----------------------------------------------------------------------------------------------

    def _pages(
        self, path: str, query: Mapping[str, str | int], headers: Mapping[str, str] | None = None
    ) -> Iterator[tuple[dict[str, Any], httpx2.Headers]]:
        """Yield each page, and the headers of its response."""
        while True:
            page, told = self._get(path, query, headers)
            yield page, told
            if page["next_page"] is None:
                return
            query = {**query, "page": page["next_page"]}

    def _get(
        self, path: str, query: Mapping[str, str | int], headers: Mapping[str, str] | None = None
    ) -> tuple[dict[str, Any], httpx2.Headers]:
        return self._ask("GET", path, query, headers=headers)

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._ask("POST", path, {}, body)[0]

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int],
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[dict[str, Any], httpx2.Headers]:
        """Send a request; return what was answered, and its headers. Raises the errors of `StoreClient`."""
        attempts = READ_ATTEMPTS if method == "GET" else 1
        for attempt in range(1, attempts + 1):
            try:
                return self._ask_once(method, path, query, body, headers)
            except NoAnswer:
                if attempt == attempts:
                    raise
                self._clock.pause(PAUSE_S * attempt)
        raise AssertionError("unreachable")

    def _ask_once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int],
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
    ) -> tuple[dict[str, Any], httpx2.Headers]:
        writes = method != "GET"
        try:
            answer = self._http.request(
                method, self._store + path, params=dict(query), json=body, headers=dict(headers or {})
            )
        except httpx2.RequestError as error:
            never_sent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
            raise NoAnswer(f"{self._url} does not answer", maybe_done=writes and not never_sent) from error
        if answer.status_code not in (httpx2.codes.OK, httpx2.codes.ACCEPTED):
            raise _refusal(answer, writes)
        told = _told(answer)
        if told is None:
            raise NoAnswer(f"{self._url}: {NOT_OURS.format(answer.status_code)}", maybe_done=writes)
        if answer.status_code == httpx2.codes.ACCEPTED:
            raise Staged(f"staged for approval as {told.get('id')}; it is not in memory yet")
        return told, answer.headers


def _told(answer: httpx2.Response) -> dict[str, Any] | None:
    """Parse what the API answers, a page or an object with an id; None where something else answered in its place."""
    try:
        told = json.loads(answer.content)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and ("id" in told or "data" in told) else None


def _refusal(answer: httpx2.Response, writes: bool) -> Exception:
    status, told = answer.status_code, _error_of(answer)
    message = message_of(told, NOT_OURS.format(status))
    if status == 409 and told:
        return Overtaken(message)
    if status == 404 and told:  # a proxy's own says nothing of a memory
        return Gone(message)
    if status in (401, 403):
        return Denied(message)
    if status in (400, TOO_LARGE):
        findings = told.get("findings") or ()
        reasons = "; ".join(f"{one['rule']}: {one['reason']}" for one in findings)
        return Refused(f"{message}: {reasons}" if reasons else message, scanner=bool(findings))
    if told.get("type") == "memory_damaged_error":
        return Damaged(message)
    return NoAnswer(message, maybe_done=writes and not says_not_done(status, str(told.get("type") or "")))


def _error_of(answer: httpx2.Response) -> Mapping[str, Any]:
    """Parse what the API says of an error; empty where something else answered in its place."""
    try:
        told = answer.json()["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return told if isinstance(told, Mapping) else {}


def _when(told: httpx2.Headers) -> tuple[int | None, int | None]:
    """Return up to when the region was complete when it answered, and when that was by its clock."""
    return _instant(parse_rfc3339, told.get(COMPLETE_UNTIL)), _instant(_http_date, told.get("date"))


def _instant(parse: Callable[[str], int], text: str | None) -> int | None:
    """Parse an instant; None where the answer has none, or what is none, which something on the way has written."""
    try:
        return None if text is None else parse(text)
    except (ValueError, OverflowError):
        return None


def _http_date(text: str) -> int:
    """Parse a date of HTTP, which is in UTC where it names no zone."""
    moment = parsedate_to_datetime(text)
    return since_epoch(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def _head(row: Mapping[str, Any]) -> Head:
    return Head(
        row["id"],
        row["path"],
        row["content_sha256"],
        row["content_size_bytes"],
        row["memory_version_id"],
        parse_rfc3339(row["updated_at"]),
        row.get("withheld") is not None,
        row.get("trust", ""),
    )


def _version(row: Mapping[str, Any]) -> Version:
    return Version(
        row["id"],
        row["memory_id"],
        row["operation"],
        row["path"],
        row["content_sha256"],
        row["content_size_bytes"],
        parse_rfc3339(row["created_at"]),
        row.get("withheld") is not None,
        row.get("trust", ""),
    )
