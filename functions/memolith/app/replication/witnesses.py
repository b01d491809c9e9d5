"""Checking another home's checkpoint before it is folded, and keeping what was seen of it.

    its place in the chain, its root, its signature -> folded -> witnessed, once: put-if-absent

A home that shows this region one history and another one later, or whose bucket is put back to an earlier state, meets
its own witness here. Then nothing more of it is folded: the watermark stands still and rings, for what cannot be true
must not make this region say that it is complete.

A signature by a key that is not known here, as one that was replaced, says nothing for or against a checkpoint. It is
folded like one without a signature, which needs no key either, and the key is counted and logged.
"""

from __future__ import annotations

import logging

from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core.errors import Unavailable
from memolith.core.merkle import Frontier
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, grown
from memolith.core.objects.witness import Witness, witness_key, witness_prefix
from memolith.ports.sealing import Sealing

WITNESSED_EVERY = 60
"""Of checkpoints that name nothing, each of so many periods is witnessed: the hash of a later one covers them."""

_log = logging.getLogger(__name__)


class Witnesses:
    """What one region checks and keeps of the other homes' checkpoints."""

    def __init__(self, region: Region, sealing: Sealing) -> None:
        self._region = region
        self._sealing = sealing
        self._passed: dict[str, tuple[int, int | None]] = {}
        self._logged: set[tuple[str, str]] = set()

    def accept(self, at: CheckpointKey, checkpoint: Checkpoint, before: str | None) -> bool:
        """Tell whether a checkpoint may be folded: it is that of its key, follows the one before it, and is whole.

        `before` is the hash of the one that was folded before it, where that is known. No call but for the home's
        public key, once a process. One of an earlier release has nothing to check but its key.
        """
        elsewhere = checkpoint.key != at
        wrong = "it is that of another home or period" if elsewhere else self._wrong_with(checkpoint, before)
        if wrong:
            self.reject(at, wrong)
        return not wrong

    def keep(self, checkpoint: Checkpoint, sha256: str) -> bool:
        """Keep what was seen of a checkpoint that is folded; False where another one was seen of this period.

        One PUT where it names something, and a GET where it was witnessed before. One that is not witnessed itself, as
        it names nothing or is not sealed, is compared all the same: a region whose tables were made anew has nothing
        else that tells it from the one that stood there. That costs a LIST a process and home, and one for each
        witness that is passed again.

        Raises:
            Unavailable, OutcomeUnknown, Busy: to be repeated.
        """
        named = checkpoint.names or checkpoint.parts
        key, now_us = witness_key(checkpoint.home, checkpoint.period), self._region.clock.now_us()
        if checkpoint.root is None or (not named and checkpoint.period % WITNESSED_EVERY):
            if not self._was_witnessed(checkpoint.home, checkpoint.period):
                return True
        else:
            seen = Witness(checkpoint.home, checkpoint.period, sha256, now_us, self._is_signed(checkpoint))
            if put_if_absent(self._region, key, seen.to_json(), {}) is Put.MINE:
                return True
        stands = find(self._region.objects, key)
        if stands is None or Witness.from_json(stands.body).sha256 == sha256:
            return True
        self.reject(checkpoint.key, "this region saw another one of the same period")
        return False

    def _was_witnessed(self, home: str, period: int) -> bool:
        """Tell whether this region keeps what it saw of a period.

        A process remembers the next witness after the last period that it asked for: a region follows a home forwards,
        and where it begins again, so does this.
        """
        passed, following = self._passed.get(home, (period, None))
        if period <= passed or (following is not None and following < period):
            keys = self._region.objects.list(witness_prefix(home), after=witness_key(home, period - 1), limit=1).keys
            following = int(keys[0].rpartition("/")[2]) if keys else None
        self._passed[home] = (period, following)
        return following == period

    def _wrong_with(self, checkpoint: Checkpoint, before: str | None) -> str:
        if checkpoint.root is None:
            return ""
        if before is not None and checkpoint.previous != before:
            return "it does not follow the checkpoint that was folded before it"
        tree = grown(Frontier(), checkpoint.names)
        if checkpoint.parts == 0 and (tree.root.hex(), tree.size) != (checkpoint.root, checkpoint.count):
            return "its names are not those of its root"
        return "its signature is not that of its home's key" if self._is_signed(checkpoint) is False else ""

    def _is_signed(self, checkpoint: Checkpoint) -> bool | None:
        """Tell whether the signature holds; None where there is none, or no key to check it with."""
        if checkpoint.seal is None:
            return None
        try:
            signed = self._sealing.is_signed(checkpoint.home, checkpoint.statement, checkpoint.seal)
        except Unavailable:
            return None
        if signed is None:
            self._note_unknown(checkpoint.key, checkpoint.seal.key_id)
        return signed

    def _note_unknown(self, key: CheckpointKey, key_id: str) -> None:
        """Count a key that is not known here, and log the first checkpoint that it signed: once a process."""
        if (key.home, key_id) in self._logged:
            return
        self._logged.add((key.home, key_id))
        self._region.metrics.count("seal_key_unknown")
        hint = "the home's key was replaced; memolith audit verify --keys checks what the earlier key signed"
        _log.warning(
            "a checkpoint is signed by a key that is not known here",
            extra={"key": str(key), "key_id": key_id, "hint": hint},
        )

    def reject(self, key: CheckpointKey, why: str) -> None:
        """Count and log that a checkpoint cannot be true, which keeps it from being folded. No call."""
        self._region.metrics.count("integrity_broken")
        _log.error("a checkpoint of another region is not true", extra={"key": str(key), "reason": why})
