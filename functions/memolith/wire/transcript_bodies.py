"""The bodies that bring events of a session: what Memolith reads of one is checked, the rest is kept as it came."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memolith.app.api.transcripts import EventDraft
from memolith.core import limits
from memolith.core.errors import InvalidRequest
from memolith.core.times import parse_rfc3339
from memolith.core.transcripts import NEEDED, SENT
from memolith.wire.request_bodies import Body, Instant, StoreId, parse

_TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
_SAYS = frozenset(("id", "type", "processed_at", "at", "client_event_id", "trust", "region", "redactions"))
"""Fields that are ours to say; an event of another API, which has some of them, may be sent as it is."""


class SentEvent(BaseModel):
    """One event. `id` and `processed_at`, as other APIs answer them, stand for `client_event_id` and `at`."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    type: Annotated[str, Field(max_length=limits.EVENT_TYPE_MAX_CHARS)]
    client_event_id: Annotated[str, Field(min_length=1, max_length=limits.CLIENT_EVENT_ID_MAX_CHARS)] | None = None
    id: Annotated[str, Field(min_length=1, max_length=limits.CLIENT_EVENT_ID_MAX_CHARS)] | None = None
    at: Instant | None = None
    processed_at: Instant | None = None


class EventsBody(Body):
    """POST /v1/sessions/{id}/events and …/transcript."""

    events: Annotated[list[SentEvent], Field(min_length=1, max_length=limits.TRANSCRIPT_EVENTS_MAX, fail_fast=True)]


Line = Annotated[int, Field(ge=1, le=limits.CONTENT_MAX_BYTES)]


class CitedMemory(Body):
    """One memory that helped."""

    path: Annotated[str, Field(min_length=1, max_length=limits.PATH_MAX_BYTES)]
    line_start: Line | None = None
    line_end: Line | None = None
    note: Annotated[str, Field(max_length=limits.CITATION_NOTE_MAX_CHARS)] | None = None


class CitationsBody(Body):
    """POST /v1/sessions/{id}/citations."""

    entries: Annotated[list[CitedMemory], Field(min_length=1, max_length=limits.CITATIONS_MAX, fail_fast=True)]
    memory_store_id: StoreId | None = None
    message_id: Annotated[str, Field(max_length=limits.CLIENT_EVENT_ID_MAX_CHARS)] | None = None


class ExtractBody(Body):
    """POST /v1/sessions/{id}/extract; may be empty."""

    memory_store_id: StoreId | None = None
    again: bool = False


def read_events(body: bytes, *, sent: bool) -> list[EventDraft]:
    """Parse events; `sent`: only of the types that a client sends, with the fields that those need.

    Raises:
        InvalidRequest: naming the field and the rule; `too_large` beyond `TRANSCRIPT_MAX_BYTES`.
    """
    if len(body) > limits.TRANSCRIPT_MAX_BYTES:
        rule = f"must be at most {limits.TRANSCRIPT_MAX_BYTES:,} bytes; send the events in several calls"
        raise InvalidRequest("body", rule, too_large=True)
    events = parse(EventsBody, body, limits.TRANSCRIPT_OBJECTS_MAX).events
    return [_draft(event, f"events.{number}", sent) for number, event in enumerate(events)]


def _draft(event: SentEvent, field: str, sent: bool) -> EventDraft:
    if _TYPE.fullmatch(event.type) is None:
        raise InvalidRequest(f"{field}.type", "must be words in lower case joined by dots, such as agent.message")
    extra: dict[str, Any] = {
        name: value for name, value in (event.__pydantic_extra__ or {}).items() if name not in _SAYS
    }
    if sent:
        _check_sent(event.type, extra, field)
    at = event.at or event.processed_at
    name = "at" if event.at else "processed_at"
    return EventDraft(
        type=event.type,
        fields=extra,
        client_event_id=event.client_event_id or event.id,
        at=None if at is None else _instant(at, f"{field}.{name}"),
    )


def _check_sent(type: str, fields: dict[str, Any], field: str) -> None:
    if type not in SENT:
        known = ", ".join(sorted(SENT))
        raise InvalidRequest(f"{field}.type", f"must be one of {known}; report others to …/transcript")
    for name in NEEDED.get(type, ()):
        if fields.get(name) in (None, "", []):
            raise InvalidRequest(f"{field}.{name}", "is required")
    if "content" in fields and not isinstance(fields["content"], list):
        raise InvalidRequest(f"{field}.content", "must be a list of content blocks")


def _instant(text: str, field: str) -> int:
    try:
        return max(0, parse_rfc3339(text.upper()))
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(field, "must be an RFC 3339 date and time with an offset") from error
