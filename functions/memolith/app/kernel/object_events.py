"""Messages to a region's index queue that have its objects projected again, as the bucket's own events do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote_plus

from memolith.ports.queue import Queue


def send_object_events(queue: Queue, keys: Sequence[str]) -> None:
    """Send an event for each key; nothing for none. Raises Unavailable: some may have been sent."""
    if keys:
        queue.send([json.dumps({"Records": [{"s3": {"object": {"key": quote_plus(key)}}}]}) for key in keys])
