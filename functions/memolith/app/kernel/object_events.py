"""Messages to a region's index queue that have its objects projected again, as the bucket's own events do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from memolith.ports.queue import Queue


def send_object_events(queue: Queue, keys: Sequence[str]) -> None:
    """Send an event for each key; nothing for none. Raises Unavailable: some may have been sent."""
    if keys:
        queue.send([json.dumps({"Records": [{"s3": {"object": {"key": quote_plus(key)}}}]}) for key in keys])


def event_objects(event: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the key, decoded, and the id of the S3 version, if it says one, of each object that an event names.

    Raises KeyError, TypeError, ValueError: it is no event of a bucket.
    """
    for record in event["Records"]:
        stored = record["s3"]["object"]
        version = stored.get("versionId")
        yield unquote_plus(stored["key"], errors="strict"), version if isinstance(version, str) else None
