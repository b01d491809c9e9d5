"""The packer of a laptop: one pack at a time, and imported when the first store is behind."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

from memolith.app.kernel.region import Region
from memolith.ports.packs import Packs
from memolith.ports.queue import Queue

if TYPE_CHECKING:
    from memolith.app.search.packer import Packer


class LaptopPacker:
    """Makes the packs for the worker and for searches, which ask at the same moment after many writes or a start.

    On AWS each of them has a function of its own, and one of the two packs is thrown away. Here they would take the
    memory and the processor of one machine twice: whoever comes second waits, and finds what the first has made.
    """

    def __init__(self, region: Region, packs: Packs, queue: Queue) -> None:
        self._region = region
        self._packs = packs
        self._queue = queue
        self._one = threading.Lock()

    def pack(self, store_id: str, since: int | None = None, from_scratch: bool = False) -> int | None:
        """See `Packer.pack`."""
        with self._one:
            return self._packer.pack(store_id, since, from_scratch)

    @cached_property
    def _packer(self) -> Packer:
        from memolith.app.search.packer import make_packer

        return make_packer(self._region, self._packs, self._queue)
