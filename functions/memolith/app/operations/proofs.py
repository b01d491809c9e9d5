"""Proving one version to somebody who trusts a public key and nothing else: no bucket, no server, no other version.

what the digest was made from -> the name in a checkpoint -> its way up the Merkle tree -> the root, which is signed
"""

from __future__ import annotations

from typing import Any

from memolith.app.kernel.region import Region
from memolith.app.log.sealed_history import SealedHistory, StoredCheckpoint
from memolith.core.errors import NotFound, Unavailable
from memolith.core.log_position import LogKey
from memolith.core.merkle import inclusion_path, leaf_hash
from memolith.core.objects.checkpoint import Named, name_to_json
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.sealing import opening_of
from memolith.ports.sealing import Sealing

PROOF_FORMAT = 1


class Proofs:
    """Makes proofs of versions from the checkpoints in one region's bucket."""

    def __init__(self, region: Region, history: SealedHistory) -> None:
        self._region = region
        self._history = history

    def of_version(self, store_id: str, version_id: str) -> dict[str, Any]:
        """Return the proof of a version, as JSON for `scripts/verify_proof.py`. It tells the path and the author.

        One index read, a HEAD, and a GET of each checkpoint from the one by the version's time on until it is found;
        from the first one on for an imported version, whose time is as it was told.

        Raises:
            NotFound: no such version, or it was erased, or it was written by a release that sealed nothing.
            Unavailable: it is not sealed yet, or no signature of its own covers it; or a port does not answer.
        """
        view = self._region.view()
        keys = [VersionRow.key(store_id, version_id), StoreRow.key(store_id)]
        rows = self._region.read(view.index, keys)
        row = VersionRow.from_attributes(rows[keys[0]]) if keys[0] in rows else None
        if row is None or row.position is None or keys[1] not in rows:
            raise NotFound("memory_version", version_id)
        if row.blank or row.redacted_at is not None:
            raise NotFound("memory_version", version_id, "its text was erased, and what was sealed cannot be shown")
        key = row.ref.key_in(store_id)
        stored, number = self._sealed(key, 0 if row.imported else row.created_at or 0, version_id)
        name = stored.names[number]
        metadata = self._region.objects.head(name.key).metadata
        opening = opening_of(name.key, metadata, StoreRow.from_attributes(rows[keys[1]]).salt)
        checkpoint = stored.checkpoint
        if checkpoint.seal is None:
            raise Unavailable(f"the checkpoint of period {checkpoint.period} has no signature of its own")
        path = inclusion_path([leaf_hash(one.leaf) for one in stored.names], number)
        return {
            "memolith_proof": PROOF_FORMAT,
            "name": name_to_json(name),
            "opening": {"nonce": opening.nonce, "metadata": dict(opening.metadata)},
            "index": number,
            "path": [node.hex() for node in path],
            "statement": checkpoint.statement.decode(),
            "seal": {"key_id": checkpoint.seal.key_id, "signature": checkpoint.seal.signature},
        }

    def _sealed(self, key: LogKey, created_at: int, version_id: str) -> tuple[StoredCheckpoint, int]:
        """Return the first checkpoint that seals an object, and the number of its name there."""
        home, wanted = key.slot.epoch.home, str(key)
        last = self._history.last(home)
        named = False
        for stored in self._history.read(home, self._history.period_at(home, created_at, last), last):
            if not isinstance(stored, StoredCheckpoint):
                continue
            for number, name in enumerate(stored.names):
                if name.key == wanted and _is_sealed(name) and stored.is_sealed:
                    return stored, number
                named = named or name.key == wanted
        if named:
            raise NotFound("memory_version", version_id, "it is named in a checkpoint, and what it was is not sealed")
        raise Unavailable("this version is not sealed yet", object=wanted, hint="try again in a minute")


def _is_sealed(name: Named) -> bool:
    return name.digest is not None


def make_proofs(region: Region, sealing: Sealing) -> Proofs:
    """Put together what makes proofs. No call."""
    return Proofs(region, SealedHistory(region, sealing))
