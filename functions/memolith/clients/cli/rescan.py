"""``memolith index rescan``: the post-commit scan of versions whose requests may be lost.

What a region's queues hold is in its bucket too, but for one thing: which versions are still to be scanned. Where the
scan queue was deleted, or a dead letter's time was over, each version of the region is therefore requested again. A
version that was scanned before is scanned again, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from memolith.app.kernel.region import Region
from memolith.app.operations.rescan import scan_requests
from memolith.ports.queue import Queue

PAGE = 1000


def request_scans(region: Region, queue: Queue, after: str | None = None) -> Iterator[tuple[int, str | None]]:
    """Request the scan of each of the region's versions behind the key `after`, or of all; repeatable.

    Yields, after each page, how many were requested so far and the key to go on after; None at the end. One LIST a
    thousand versions, and a request to the queue for every ten.

    Raises:
        Unavailable: the bucket or the queue does not answer; go on after the last key.
    """
    requested = 0
    while True:
        requests, after = scan_requests(region, after, PAGE)
        if requests:
            queue.send(requests)
        requested += len(requests)
        yield requested, after
        if after is None:
            return
