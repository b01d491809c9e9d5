"""What ``memolith serve`` serves, within the test's process, and asked over a real socket."""

from __future__ import annotations

import string
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memolith.adapters.memory import ManualClock, RecordingMetrics
from memolith.adapters.system import SystemRandomness
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.entry.compose_laptop import LocalSite, Machine, open_site
from memolith.entry.serve import Server
from memolith.ports.model import Models
from memolith.wire.rpc import keys_calls
from tests.api.harness import Backend
from tests.api.transport import body_of_event, request_over_loopback


@contextmanager
def running(site: LocalSite) -> Iterator[int]:
    """Serves while the block runs, and closes the site; yields the port."""
    server = Server(site, 0)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield int(server.url.rpartition(":")[2])
    finally:
        server.stop()
        thread.join()
        site.close()


@contextmanager
def laptop_backends(root: Path, models: Models | None = None) -> Iterator[Callable[[int], Backend]]:
    """Builds one laptop in `root`, by its cap; it is closed when the block ends."""
    open_ones = []

    def build(cap: int = 10_000) -> Backend:
        clock, metrics = ManualClock(), RecordingMetrics()
        machine = Machine(clock, SystemRandomness(), metrics)
        site = open_site(root, LettingAllThrough(), machine, cap, models=models)
        served = running(site)
        open_ones.append(served)
        port = served.__enter__()

        def issue_key(workspace: str, scope: str, **limits: Any) -> str:
            fields = {"workspace_id": f"wrkspc_{workspace}", "name": "test", "scope": scope, **limits}
            return str(keys_calls(site.memolith.api_keys)({"call": "keys.create", **fields})["api_key"])

        return Backend(
            site.memolith, clock, issue_key, metrics=metrics, served=lambda event: over_loopback(port, event)
        )

    try:
        yield build
    finally:
        for served in open_ones:
            served.__exit__(None, None, None)


def over_loopback(port: int, event: Mapping[str, Any]) -> dict[str, Any]:
    """Sends the request that an event tells of, percent-encoding what HTTP cannot say; the answer as a function's."""
    query = event["rawQueryString"]
    target = quote(event["rawPath"] + (f"?{query}" if query else ""), safe=string.punctuation)
    method = event["requestContext"]["http"]["method"]
    headers = {name: value.encode() for name, value in event["headers"].items()}
    status, answered, body = request_over_loopback(port, method, target, headers, body_of_event(event))
    return {"statusCode": status, "headers": answered, "body": body.decode(), "isBase64Encoded": False}
