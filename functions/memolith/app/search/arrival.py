"""A pack on its way out of the bucket: what is done with its bytes while they arrive.

They are written to where the pack will be opened, and their hash is computed beside that. A search need not wait for
the hash: what a pack holds can be looked at before it is known to be what was put, if nothing of it is told until then.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Mapping

from memolith.core.objects.search_pack import Manifest
from memolith.ports.packs import DamagedPack, IncomingPack
from memolith.ports.parallel import Parallel

BATCH_BYTES = 1_000_000
"""How much is hashed at a time: much enough that two threads rarely wait for each other."""

WAITING_MAX = 8
"""How many batches may wait; then who takes the pieces hashes too, so that a pack is never in memory as a whole."""


class Digest:
    """The SHA-256 of what arrives piece by piece, computed beside its arrival."""

    def __init__(self, parallel: Parallel) -> None:
        self._digest = hashlib.sha256()
        self._turn = threading.Lock()
        self._batches: deque[list[bytes]] = deque()
        self._waiting = threading.Semaphore(0)
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self._result = parallel.begin(self._computed)

    def take(self, piece: bytes) -> None:
        """Take the next piece."""
        self._batch.append(piece)
        self._batch_bytes += len(piece)
        if self._batch_bytes >= BATCH_BYTES:
            self._pass_on()
            if len(self._batches) > WAITING_MAX and self._waiting.acquire(blocking=False):
                self._add()

    def end(self) -> None:
        """Say that nothing more comes, whether or not all of it has come."""
        if self._batch:
            self._pass_on()
        self._pass_on()  # an empty one is the end

    def hexdigest(self) -> str:
        """Return it, after `end`; waits until it is computed."""
        return self._result()

    def _pass_on(self) -> None:
        self._batches.append(self._batch)
        self._batch, self._batch_bytes = [], 0
        self._waiting.release()

    def _computed(self) -> str:
        while self._waiting.acquire() and self._add():
            pass
        return self._digest.hexdigest()

    def _add(self) -> bool:
        """Add the next of the batches, one of which is the caller's to add; False at the end."""
        with self._turn:
            batch = self._batches.popleft()
            for piece in batch:
                self._digest.update(piece)
        return bool(batch)


class Arrival:
    """A `ports.objects.Sink` that a pack goes into."""

    def __init__(self, incoming: IncomingPack, digest: Digest, begun: Callable[[Manifest], object]) -> None:
        """Make it. `begun` is told what the pack says of itself, before its body arrives."""
        self._incoming = incoming
        self._digest = digest
        self._begun = begun

    def begin(self, metadata: Mapping[str, str]) -> None:
        """Read what the pack says of itself. Raises DamagedPack."""
        try:
            self.manifest = Manifest.from_metadata(metadata)
        except (ValueError, KeyError) as error:
            raise DamagedPack("nothing says what it is") from error
        self._begun(self.manifest)

    def write(self, piece: bytes) -> None:
        """Take the next piece."""
        self._digest.take(piece)
        self._incoming.write(piece)

    def verify(self) -> None:
        """Wait until the hash is computed, and compare it. Raises DamagedPack."""
        if self._digest.hexdigest() != self.manifest.sha256:
            raise DamagedPack("it is not what was put")
