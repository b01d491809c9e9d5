"""What a dream takes from sessions: notes, each with the events that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from memolith.app.api.dream_run import DreamFailedError, Run
from memolith.app.api.transcripts import EventFilter
from memolith.app.kernel.results import DelegatedCredentials, Page, RequestContext
from memolith.core.errors import Damaged, NotFound
from memolith.core.limits import LIST_MAX
from memolith.core.objects.run_record import ANY_SCHEDULED, RunRecord
from memolith.core.objects.transcript import Event
from memolith.core.times import rfc3339
from memolith.ports.model import BYTES_PER_TOKEN

SAID = ("user.message", "agent.message")
"""What people and agents said. What tools gave is a stranger's text, and is left out."""

SESSION_TOKENS_MAX = 150_000
WINDOW_SHARE = 0.7
EVENT_MAX_BYTES = 10_000
OMITTED = "[... left out ...]"


@dataclass(frozen=True, slots=True)
class SessionInput:
    """A session as a model is handed it, and the classes of what is in it."""

    document: Mapping[str, Any]
    classes: tuple[str | None, ...]

    @property
    def event_ids(self) -> frozenset[str]:
        """The events that it has."""
        return frozenset(one["id"] for one in self.document["events"])

    def notes(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the notes of an extraction's answer that rest on these events; what rests on nothing is left out."""
        session_id = self.document["session"]["id"]
        at = {one["id"]: one["at"] for one in self.document["events"]}
        return [
            {
                **note,
                "id": f"{session_id}.{number}",
                "session": session_id,
                "at": max(at[one] for one in note["evidence"]),
            }
            for number, note in enumerate(answer["notes"], 1)
            if set(note["evidence"]) <= self.event_ids
        ]


class EventPages(Protocol):
    """Lists events, as `memolith.app.api.transcripts.Transcripts` does."""

    def page(
        self, call: RequestContext, session_id: str, *, filter: EventFilter, limit: int, after: str | None
    ) -> Page[Event]:
        """Return a page of a session's events."""
        ...


class DreamSessions:
    """Reads the transcripts of a dream's sessions. Whoever made the dream reached them."""

    def __init__(self, transcripts: EventPages) -> None:
        self._transcripts = transcripts

    def of_run(self, run: Run, session_id: str, window_tokens: int, go_on: Callable[[], None]) -> SessionInput | None:
        """Read one session of a dream under way; None also where it cannot be read and no caller named it.

        A store's own dreams would be handed it again, and fail each time. Costs what `read` does.

        Raises:
            DreamFailedError: the session is not there any more, or cannot be read. Unavailable.
        """
        try:
            return self.read(run.record, session_id, window_tokens, go_on)
        except NotFound as error:
            raise DreamFailedError("input_session_unavailable", error.message) from error
        except Damaged as error:
            if run.record.created_by not in ANY_SCHEDULED:
                told = f"session {session_id} cannot be read: {error.message}"
                raise DreamFailedError("input_session_unavailable", told) from error
            run.dropped.append("unreadable_session")
            return None

    def read(
        self, record: RunRecord, session_id: str, window_tokens: int, go_on: Callable[[], None]
    ) -> SessionInput | None:
        """Read one session, as much of its end as a model takes; None where it says nothing. What listing it costs.

        Raises:
            NotFound: the session is not there any more. Damaged: its transcript cannot be read. Unavailable.
        """
        call = RequestContext(DelegatedCredentials(record.workspace_id, record.created_by, "read"))
        most_bytes = int(min(SESSION_TOKENS_MAX, window_tokens * WINDOW_SHARE) * BYTES_PER_TOKEN)
        go_on()
        said, size = [], 0
        for event, text in self._newest(call, session_id, go_on):
            size += len(text.encode()) + EVENT_MAX_BYTES // 100
            if size > most_bytes:
                break
            said.append((event, text))
        if not said:
            return None
        events = [
            {"id": event.id, "type": event.type, "at": rfc3339(event.at), "text": text}
            for event, text in reversed(said)
        ]
        document = {"session": {"id": session_id, "date": events[-1]["at"][:10]}, "events": events}
        return SessionInput(document, tuple(event.trust for event, _ in said))

    def _newest(self, call: RequestContext, session_id: str, go_on: Callable[[], None]) -> Iterator[tuple[Event, str]]:
        """Yield what was said, the newest first. `go_on` is called between two pages, and stops it by raising."""
        after: str | None = None
        while True:
            page = self._transcripts.page(
                call, session_id, filter=EventFilter(types=SAID, descending=True), limit=LIST_MAX, after=after
            )
            for event in page.items:
                text = text_of(event.fields.get("content"))
                if text:
                    yield event, text
            after = page.next_after
            if after is None:
                return
            go_on()


def text_of(content: object) -> str:
    """Return the text of an event's content; what is no text is left out, and a very long one is cut."""
    parts = content if isinstance(content, list) else [content]
    texts = [one if isinstance(one, str) else one.get("text") for one in parts if isinstance(one, (str, Mapping))]
    whole = "\n".join(one for one in texts if isinstance(one, str))
    encoded = whole.encode()
    if len(encoded) <= EVENT_MAX_BYTES:
        return whole
    half = EVENT_MAX_BYTES // 2
    return f"{encoded[:half].decode(errors='ignore')}\n{OMITTED}\n{encoded[-half:].decode(errors='ignore')}"
