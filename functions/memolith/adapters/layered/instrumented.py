"""What each port call costs: which AWS requests it becomes, counted.

The counts are of what `adapters.aws` sends when nothing is throttled and no page is left over. Calls that fail are
counted too, because AWS bills them; a crash before a call is not one. A test that states the price of a write reads
it here, with adapters in memory underneath.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sized
from typing import TypeVar

from memolith.adapters.layered.intercepted import Call
from memolith.adapters.limits import MESSAGES_PER_BATCH, ROWS_PER_READ

T = TypeVar("T")

_OBJECTS = {
    "objects.put_if_absent": "s3.PutObject",
    "objects.head": "s3.HeadObject",
    "objects.get": "s3.GetObject",
    "objects.list": "s3.ListObjectsV2",
}

_ERASURES = {
    "erasable.erase": ("s3.HeadObject", "s3.PutObject", "s3.ListObjectVersions"),
    "erasable.delete_older": ("s3.ListObjectVersions",),
    "erasable.remove": ("s3.ListObjectVersions",),
    "erasable.versions": ("s3.ListObjectVersions",),
    "erasable.read_version": ("s3.GetObject",),
}
"""Besides one DeleteObject for each version that goes, which is free."""


class CallCounts:
    """An interceptor that counts. Safe for threads.

    Attributes:
        calls: by port call: ``index.commit`` -> 3.
        requests: by AWS request: ``s3.PutObject``, ``dynamodb.TransactWriteItems``. A commit of one row is
            ``dynamodb.single_write`` (PutItem, UpdateItem or DeleteItem, which cost the same). Requests to another
            region are counted once more with ``.remote`` at the end.
        rows: ``read`` (asked for by key; each is billed, there or not), ``found`` (by queries), ``written`` (alone),
            ``transacted`` (in transactions, billed twice; checks alone among them), each also by table:
            ``transacted.paths``.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        with self._lock:
            self._before(call)
        result = act()
        with self._lock:
            self._after(call, result)
        return result

    def clear(self) -> None:
        """Reset all counts, for instance once a test has set its scene."""
        with self._lock:
            for counter in (self.calls, self.requests, self.rows):
                counter.clear()

    def _before(self, call: Call) -> None:
        self.calls[call.name] += 1
        size = len(call.subjects)
        if call.name in _OBJECTS:
            self._request(call, _OBJECTS[call.name])
        elif call.name in _ERASURES:
            for request in _ERASURES[call.name]:
                self._request(call, request)
        elif call.name == "index.read":
            self._request(call, "dynamodb.BatchGetItem", -(-size // ROWS_PER_READ))
            self._row(call, "read")
        elif call.name in ("index.query", "index.count"):
            self._request(call, "dynamodb.Query")
        elif call.name == "index.commit" and size:
            self._request(call, "dynamodb.single_write" if size == 1 else "dynamodb.TransactWriteItems")
            self._row(call, "written" if size == 1 else "transacted")
        elif call.name == "queue.send":
            self._request(call, "sqs.SendMessageBatch", -(-size // MESSAGES_PER_BATCH))
        elif call.name == "peers.call":
            self._request(call, "lambda.Invoke")

    def _after(self, call: Call, result: object) -> None:
        if call.name in ("erasable.erase", "erasable.delete_older") and isinstance(result, int):
            self._request(call, "s3.DeleteObject", result)
        if call.name == "index.query" and isinstance(result, Sized):
            self.rows["found"] += len(result)
            self.rows[f"found.{call.subjects[0]}"] += len(result)

    def _request(self, call: Call, name: str, times: int = 1) -> None:
        if times:
            self.requests[name] += times
            if call.target != call.origin:
                self.requests[f"{name}.remote"] += times

    def _row(self, call: Call, what: str) -> None:
        for table in call.subjects:
            self.rows[what] += 1
            self.rows[f"{what}.{table}"] += 1
