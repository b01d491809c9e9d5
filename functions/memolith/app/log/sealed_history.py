"""Walking the checkpoints of a home from one period on, checking each: names, root, signature, and its predecessor.

    checkpoint P: SHA-256(object of P-1) = previous, root = Merkle(names of P), signature by the home's key

What the walk yields is as true as the last checkpoint that it ends at. So the walk goes on behind a flaw, which is
yielded among the checkpoints, and whoever walks decides what it means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from memolith.app.kernel.batching import gallop
from memolith.app.kernel.listing import keys_of
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.core.audit import Finding, Flaw
from memolith.core.errors import Damaged, Unavailable
from memolith.core.merkle import Frontier
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint, Named, grown, part_from_json, sha256_of
from memolith.ports.sealing import Sealing


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """One checkpoint as it stands: what it names, the hash of its object, and what is wrong with itself.

    Attributes:
        unknown_key: the id of the key that it says it is signed by, where that is no known one of its home: one that
            was replaced, or somebody else's. Whoever walks decides what that means.
    """

    checkpoint: Checkpoint
    sha256: str
    names: tuple[Named, ...]
    findings: tuple[Finding, ...]
    unknown_key: str | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether it says what it names by a root; one of an earlier release does not."""
        return self.checkpoint.root is not None


_VERIFY = "memolith audit verify says what was done to it"


class _Link(NamedTuple):
    """What a checkpoint is to state of the one before it: the hash of its object, and that of its statement."""

    sha256: str
    statement_sha256: str


class SealedHistory:
    """The checkpoints of homes, as this region's bucket has them."""

    def __init__(self, region: Region, sealing: Sealing) -> None:
        self._region = region
        self._sealing = sealing

    def last(self, home: str, since: int = 1) -> int:
        """Return the last period from `since` on that has a checkpoint; the one before it for none. A LIST a thousand.

        A search by halves would take a hole for the end.
        """
        after = str(CheckpointKey(home, since - 1)) + "/~" if since > 1 else None
        last = since - 1
        for key in keys_of(self._region.objects, CheckpointKey, f"{home}/checkpoint/", after):
            last = key.period
        return last

    def first_since(self, home: str, at_us: int) -> int:
        """Return the first period that can name what was acknowledged at that instant.

        One period earlier than the checkpoints' times say: a version's time is its writer's, whose clock may be ahead
        of the reconciler's. A GET, of a checkpoint without its parts, twice for each bit of the answer at most. A
        checkpoint that cannot be read is taken for one of before.
        """

        def ended_before(period: int) -> int | None:
            try:
                body = self._body(str(CheckpointKey(home, period)))
                return None if body is None or Checkpoint.from_json(body).until >= at_us else period
            except (ValueError, Damaged):
                return period

        return max(1, gallop(ended_before) or 0)

    def read(
        self, home: str, since: int, until: int, parts_max: int | None = None
    ) -> Iterator[StoredCheckpoint | Finding]:
        """Yield each checkpoint of these periods, and a finding for each that is not there or is no checkpoint.

        A GET of each, and of each of its parts. Raises Unavailable, also for one of more than `parts_max` parts.
        """
        before = None if since <= 1 else self._link(str(CheckpointKey(home, since - 1)))
        for period in range(since, until + 1):
            key = str(CheckpointKey(home, period))
            try:
                body = self._body(key)
                checkpoint = None if body is None else Checkpoint.from_json(body)
            except (ValueError, Damaged):
                before = None
                yield Finding(Flaw.CHECKPOINT_ALTERED, key, period, "it cannot be read")
                continue
            if body is None or checkpoint is None:
                before = None
                yield Finding(Flaw.CHECKPOINT_MISSING, key, period)
                continue
            if checkpoint.key != CheckpointKey(home, period):
                before = None
                yield Finding(Flaw.CHECKPOINT_ALTERED, key, period, "it is that of another home or period")
                continue
            if parts_max is not None and checkpoint.parts > parts_max:
                raise Unavailable(
                    f"a checkpoint has {checkpoint.parts} parts, and at most {parts_max} are read for a call",
                    object=key,
                    hint="memolith audit prove reads all of them",
                )
            yield self._checked(checkpoint, sha256_of(body), before)
            before = _Link(sha256_of(body), sha256_of(checkpoint.statement))

    def after(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """Return the next checkpoint of a home, unchecked and without its parts; None where there is none. A GET.

        Raises:
            Unavailable. Damaged: it cannot be read, or is of a newer release.
        """
        key = str(CheckpointKey(checkpoint.home, checkpoint.period + 1))
        body = self._body(key)
        try:
            return None if body is None else Checkpoint.from_json(body)
        except ValueError as error:
            raise Damaged(
                "a checkpoint cannot be read", object=key, region=self._region.name, cause=str(error), hint=_VERIFY
            ) from error

    def _checked(self, checkpoint: Checkpoint, sha256: str, before: _Link | None) -> StoredCheckpoint:
        key = str(CheckpointKey(checkpoint.home, checkpoint.period))
        names, findings = self._names(checkpoint)
        if checkpoint.root is None:
            return StoredCheckpoint(checkpoint, sha256, names, tuple(findings))
        wrong = []
        if before is not None and checkpoint.previous != before.sha256:
            wrong.append("the checkpoint before it is not the one that it names")
        if before is not None and checkpoint.previous_statement not in (None, before.statement_sha256):
            wrong.append("the statement of the checkpoint before it is not the one that it names")
        tree = grown(Frontier(), names)
        if not findings and (tree.root.hex(), tree.size) != (checkpoint.root, checkpoint.count):
            wrong.append("its names are not those of its root")
        seal, unknown = checkpoint.seal, None
        signed = seal is None or self._sealing.is_signed(checkpoint.home, checkpoint.statement, seal)
        if seal is not None and signed is None:
            unknown = seal.key_id
        elif not signed:
            wrong.append("its signature is not that of its home's key")
        findings += [Finding(Flaw.CHECKPOINT_ALTERED, key, checkpoint.period, what) for what in wrong]
        return StoredCheckpoint(checkpoint, sha256, names, tuple(findings), unknown)

    def _names(self, checkpoint: Checkpoint) -> tuple[tuple[Named, ...], list[Finding]]:
        names, findings = list(checkpoint.names), []
        for number in range(checkpoint.parts):
            key = str(checkpoint.part_key(number))
            try:
                body = self._body(key)
                if body is None:
                    findings.append(Finding(Flaw.CHECKPOINT_MISSING, key, checkpoint.period))
                else:
                    names += part_from_json(body)
            except (ValueError, Damaged):
                findings.append(Finding(Flaw.CHECKPOINT_ALTERED, key, checkpoint.period, "it cannot be read"))
        return tuple(names), findings

    def _link(self, key: str) -> _Link | None:
        body = self._body(key)
        if body is None:
            return None
        try:
            return _Link(sha256_of(body), sha256_of(Checkpoint.from_json(body).statement))
        except ValueError:
            return _Link(sha256_of(body), "")

    def _body(self, key: str) -> bytes | None:
        found = find(self._region.objects, key)
        return None if found is None else found.body
