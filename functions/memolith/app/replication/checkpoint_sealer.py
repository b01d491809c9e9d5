"""Sealing a checkpoint before it is put: the root of its names, the hash of the one before it, and a signature.

Nothing here keeps a checkpoint from being published: other regions wait for it. Where a key does not answer, the
checkpoint has no signature of its own, and the next one's covers it: it states the hash of its object, and that of its
statement, which proves a version without the names of others. Where it is not known what an earlier release put into
the first parts, the checkpoint has no root either, and is unsealed.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.core.errors import Unavailable
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, Seal, grown, sha256_of
from memolith.core.rows.journal import JournalStateRow
from memolith.core.sealing import SIGNED_EVERY, LastSealed
from memolith.ports.sealing import Sealing, SealMemory

_log = logging.getLogger(__name__)


class CheckpointSealer:
    """Seals the checkpoints of one home. `memory` is None where other regions' witnesses stand in for it."""

    def __init__(self, region: Region, sealing: Sealing, memory: SealMemory | None = None) -> None:
        self._region = region
        self._sealing = sealing
        self._memory = memory

    def sealed(self, checkpoint: Checkpoint, state: JournalStateRow) -> Checkpoint:
        """Return the checkpoint with its seal. One signature where it names something, or the one before it has none
        and should; a GET of that one where the journal does not say its hash.

        Raises:
            Unavailable: the checkpoint before it cannot be read.
        """
        if state.frontier is None:
            return checkpoint
        tree = grown(state.frontier, checkpoint.names)
        known = state.previous_of(checkpoint.period)
        previous, uncovered = (known, None) if known is not None else self._before(checkpoint.period)
        sealed = replace(
            checkpoint, count=tree.size, root=tree.root.hex(), previous=previous, previous_statement=uncovered
        )
        if tree.size == 0 and uncovered is None and checkpoint.period % SIGNED_EVERY:
            return sealed
        return replace(sealed, seal=self._signed(sealed.statement))

    def remember(self, period: int, sha256: str, previous: str | None) -> None:
        """Remember outside the data that this checkpoint stands. What cannot be remembered is counted and logged."""
        if self._memory is None:
            return
        try:
            self._memory.remember(LastSealed(period, sha256, previous))
        except Unavailable as error:
            self._failed("a sealed checkpoint could not be remembered outside the data", error)

    def _before(self, period: int) -> tuple[str | None, str | None]:
        """Return the hash of the checkpoint before, and that of its statement if it needs cover."""
        found = find(self._region.objects, str(CheckpointKey(self._region.name, period - 1))) if period > 1 else None
        if found is None:
            return None, None
        try:
            before = Checkpoint.from_json(found.body)
        except ValueError:  # of a newer release
            return sha256_of(found.body), None
        return sha256_of(found.body), sha256_of(before.statement) if before.needs_cover else None

    def _signed(self, statement: bytes) -> Seal | None:
        try:
            return self._sealing.sign(statement)
        except Unavailable as error:
            self._failed("a checkpoint was published without a signature of its own", error)
            return None

    def _failed(self, message: str, error: Unavailable) -> None:
        self._region.metrics.count("seal_failed")
        _log.warning(message, extra={"region": self._region.name, "cause": error.cause or error.message})
