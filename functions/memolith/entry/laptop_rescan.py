"""The post-commit scan of versions that a new queue knows nothing of.

What a laptop's queue holds is in the objects too, but for one thing: which versions are still to be scanned. A queue
that is new, because there was none or because a start has set a damaged one aside, therefore gets a request for each
version of the folder. A version that was scanned before is scanned again, which changes nothing.
"""

from __future__ import annotations

from memolith.adapters.local import LocalQueue
from memolith.app.kernel.region import Region
from memolith.app.operations.rescan import scan_requests

PAGE = 100


class LaptopRescan:
    """Fills a new queue, a page at a time, when the worker has nothing else to do. Several servers share the work."""

    def __init__(self, region: Region, queue: LocalQueue) -> None:
        self._region = region
        self._queue = queue
        self._ended = False

    def go_on(self) -> bool:
        """Request the scans of the next versions; return False where there is nothing to request any more.

        Raises:
            Unavailable, OutcomeUnknown: call it again.
        """
        after = None if self._ended else self._queue.refilled()
        if after is None:
            self._ended = True
            return False
        requests, next_after = scan_requests(self._region, after or None, PAGE)
        self._queue.refill(requests, after, next_after)
        return True
