"""One part of a session's transcript: JSON lines, the first about the part, then one for each event.

A part is put once. It is erased by putting over it a part without events, which says when that was; then, where only
its time was over, it keeps the ends of its events' ids, so that the same events sent again add nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memolith.core import ids
from memolith.core.objects.schema import SCHEMA, _load, known

ID_END = 16
"""Characters at the end of an event's id that tell it from the other events of its session: 80 bits."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a session, as it is stored: without its secrets.

    Attributes:
        id: ``sevt_…``; of an event with a `client_event_id` the same each time that it is sent.
        type: such as ``user.message`` or ``agent.tool_use``.
        at: when it happened, as its sender says, in microseconds since 1970.
        trust: the letter of its class (`memolith.core.trust`); None is unknown.
        fields: everything else that it says, as it came: content, name, input and so on.
        client_event_id: the sender's own name of it.
        redactions: how many secrets were taken out.
    """

    id: str
    type: str
    at: int
    trust: str | None
    fields: Mapping[str, Any]
    client_event_id: str | None = None
    redactions: int = 0

    @property
    def id_end(self) -> str:
        """What tells it from the session's other events."""
        return self.id[-ID_END:]

    @property
    def size_bytes(self) -> int:
        """How many bytes its line takes in a part."""
        return len(_line(_event_to_json(self)).encode())


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """What one call recorded; or, without events and with `erased_at`, that it was erased, or that all parts are to be.

    `kept_ids` are the ends of the ids of the events that were erased because their time was over.
    """

    workspace_id: str
    session_id: str
    recorded_at: int
    recorded_by: str
    events: tuple[Event, ...] = ()
    erased_at: int | None = None
    kept_ids: tuple[str, ...] = ()

    @property
    def id_ends(self) -> tuple[str, ...]:
        """What tells its events, erased or not, from the session's others."""
        return self.kept_ids or tuple(event.id_end for event in self.events)

    def blanked(self, erased_at: int, *, keep_ids: bool) -> TranscriptPart:
        """Return what is put over this part to erase it."""
        return TranscriptPart(
            workspace_id=self.workspace_id,
            session_id=self.session_id,
            recorded_at=self.recorded_at,
            recorded_by=self.recorded_by,
            erased_at=erased_at,
            kept_ids=self.id_ends if keep_ids else (),
        )

    def to_lines(self) -> bytes:
        header = {name: value for name, value in asdict(self).items() if name != "events" and value not in (None, ())}
        lines = [{"schema": SCHEMA, **header}, *(_event_to_json(event) for event in self.events)]
        return "".join(_line(one) for one in lines).encode()

    @classmethod
    def from_lines(cls, body: bytes) -> TranscriptPart:
        """Parse a part. Raises ValueError for a body that no writer of this schema made.

        A number that a writer of an earlier release took for infinite is None: no answer could be JSON with it.
        """
        first, _, rest = body.partition(b"\n")
        header = known(cls, _load(first))
        try:
            events = tuple(
                _event_from_json(json.loads(line, parse_constant=_nothing)) for line in rest.split(b"\n") if line
            )
            return cls(**{**header, "events": events, "kept_ids": tuple(header.get("kept_ids", ()))})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a part of a transcript cannot be read ({error})") from error


def _line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, sort_keys=True) + "\n"


def _event_to_json(event: Event) -> dict[str, Any]:
    return {name: value for name, value in asdict(event).items() if value is not None and value != 0}


def _event_from_json(line: Mapping[str, Any]) -> Event:
    """Parse an event. What is none or zero is not written."""
    return Event(**{"at": 0, "trust": None, **known(Event, line)})


def _nothing(constant: str) -> None:
    """Stand for NaN and Infinity, which Python writes and reads, and JSON has not."""


def event_id(session_id: str, client_event_id: str) -> str:
    """Return the id of an event that its sender names: the same in every region, each time that it is sent."""
    digest = hashlib.sha256(f"{session_id}/{client_event_id}".encode()).digest()
    return f"sevt_{ids.ulid(int.from_bytes(digest[:6]), digest[6:16])}"
