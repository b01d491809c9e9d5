"""What a store has beside its memories: proposals with their decisions, sessions with their transcripts, dreams.

A file of JSON lines, gzipped, each as the API tells it, under its `kind`. It is kept to be read; nothing is made of it
again: a proposal is about versions of a store that is no more, and a transcript is what was said to someone else's key.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memolith.clients.api.client import DREAMS, PAGE, SESSIONS, ApiClient, address
from memolith.core.proposals import STATUSES

PROPOSAL, SESSION, EVENT, DREAM = "proposal", "session", "event", "dream"


def export(client: ApiClient, store_id: str, path: Path) -> dict[str, int]:
    """Write the records of a store to a new file; return how many there are of each kind.

    A request for a page of each listing, of proposals for each status, and one for each proposal. Each is as it was
    while it was read. Needs an admin's key, which alone lists sessions. Raises OSError, ApiRefused, ApiUnanswered.
    """
    counts: Counter[str] = Counter()
    with path.open("xb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        for kind, record in _records(client, store_id):
            counts[kind] += 1
            file.write(json.dumps({"kind": kind, **record}, ensure_ascii=False, sort_keys=True).encode() + b"\n")
    return dict(sorted(counts.items()))


def _records(client: ApiClient, store_id: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    proposals = address(store_id, "proposals")
    for status in STATUSES:
        for one in client.rows(proposals, {"status": status, "limit": PAGE}):
            yield PROPOSAL, client.get(f"{proposals}/{one['id']}")
    asked: dict[str, str | int] = {"memory_store_id": store_id, "include_archived": "true", "limit": PAGE}
    for session in client.rows(SESSIONS, asked):
        yield SESSION, session
        for event in client.rows(address(session["id"], "events", of=SESSIONS), {"limit": PAGE}):
            yield EVENT, {"session_id": session["id"], **event}
    for dream in client.rows(DREAMS, {"include_archived": "true", "limit": PAGE}):
        if any(one.get("memory_store_id") == store_id for one in (*dream["inputs"], *dream["outputs"])):
            yield DREAM, dream
