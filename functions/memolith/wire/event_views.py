"""Events of sessions as the API's JSON objects, and as server-sent events.

Source of the form of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import json

from memolith.core.objects.transcript import Event
from memolith.core.times import rfc3339
from memolith.core.trust import name_of
from memolith.wire.json_views import Json

OPENED = ": open\n\n"
"""A comment, which clients pass over: the stream is open, though nothing has come."""

KEPT_ALIVE = ":\n\n"


def event_view(event: Event) -> Json:
    """Render an event as the API's own types have it; what is Memolith's to say stands beside it."""
    outcome = {"outcome_id": f"outc_{event.id.removeprefix('sevt_')}"} if event.type == "user.define_outcome" else {}
    return {
        **event.fields,
        **outcome,
        "id": event.id,
        "type": event.type,
        "processed_at": rfc3339(event.at),
        "trust": name_of(event.trust),
        "client_event_id": event.client_event_id,
        "redactions": event.redactions,
    }


def frame(name: str, data: Json) -> str:
    """Make one server-sent event. `data` is ASCII: some clients break lines at other characters than the form names."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
