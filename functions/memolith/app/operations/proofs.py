"""Proving one version to somebody who trusts a public key and nothing else: no bucket, no server, no other version.

    what the digest was made from -> the name in a checkpoint -> its way up the Merkle tree -> the root, which is signed

Where the key did not answer when that checkpoint was made, the statement with the root is followed by those of the next
checkpoints, each of which states the hash of the one before, up to the first that is signed.

Of a version that was erased, what its digest was made from is gone: then the proof is that it was acknowledged, and
that an order to erase it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memolith.app.kernel.port_calls import find, find_head
from memolith.app.kernel.region import Region
from memolith.app.log.sealed_history import SealedHistory, StoredCheckpoint
from memolith.core.errors import Damaged, NotFound, Unavailable
from memolith.core.merkle import inclusion_path, leaf_hash
from memolith.core.object_keys import RedactionKey
from memolith.core.objects.checkpoint import Checkpoint, Named, Seal, name_to_json, sha256_of
from memolith.core.objects.redaction_order import Redaction
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.sealing import opening_of, record_digest
from memolith.ports.sealing import Sealing

PROOF_FORMAT = 1
CHAINED_FORMAT = 2
"""Of a proof with a `chain`: a script of format 1 would take the signature for one under the first statement."""
CHAIN_MAX = 60
"""Statements, of 400 bytes, that the chain of a bounded proof has: an hour without the key that signs."""
SEARCHED_MAX = 20
"""Checkpoints that a bounded search reads, from the object's time on: an object is named in the first or the second."""
NOT_YET = "it is not sealed yet; try again in a minute"
PARTS_MAX = 40
"""Parts of one checkpoint that a bounded search reads, of 1 MB each: 200,000 writes in a minute have as many."""


class _Wanted(NamedTuple):
    """An object whose name is looked for: of which home, from which instant on; what to call it in an error."""

    key: str
    home: str
    at_us: int
    kind: str
    id: str


class Proofs:
    """Makes proofs of versions from the checkpoints in one region's bucket. `bounded`: for a caller who waits."""

    def __init__(self, region: Region, history: SealedHistory, bounded: bool = False) -> None:
        self._region = region
        self._history = history
        self._bounded = bounded

    def of_version(self, store_id: str, version_id: str) -> dict[str, Any]:
        """Return the proof of a version by its id. One index read, and what `of_row` costs and raises."""
        view = self._region.view()
        keys = [VersionRow.key(store_id, version_id), StoreRow.key(store_id)]
        rows = self._region.read(view.index, keys)
        if keys[0] not in rows or keys[1] not in rows:
            raise NotFound("memory_version", version_id)
        return self.of_row(StoreRow.from_attributes(rows[keys[1]]), VersionRow.from_attributes(rows[keys[0]]))

    def of_row(self, store: StoreRow, row: VersionRow) -> dict[str, Any]:
        """Return the proof of a version, as JSON for `scripts/verify_proof.py`: path and author, no text.

        A HEAD, and a GET for each bit of the period's number, twice; then a GET of each checkpoint until it is found:
        from the one by the version's time on, or, not bounded, from the first one on for an imported version, whose
        time is as it was told. A version that was redacted costs a GET for each region, and the search again.

        Raises:
            NotFound: no such version, or retention erased it, or it was written by a release that sealed nothing, or
                it is not sealed or not signed yet, or not found within the bounds.
            Unavailable: it has not arrived here; or a port does not answer.
            Damaged: what stands in its place is not what was sealed.
        """
        if row.position is None:
            raise NotFound("memory_version", row.version_id)
        key = row.ref.key_in(store.store_id)
        at_us = 0 if row.imported and not self._bounded else row.created_at or 0
        wanted = _Wanted(str(key), key.slot.epoch.home, at_us, "memory_version", row.version_id)
        if row.redacted_at is not None:
            order = self._order(store.store_id, row)
            version = self._inclusion(wanted, *self._sealed(wanted))
            chained = "chain" in version or "chain" in order
            return {"memolith_proof": CHAINED_FORMAT if chained else PROOF_FORMAT, "version": version, "order": order}
        if row.blank:
            raise NotFound(wanted.kind, wanted.id, "retention erased it, and what was sealed cannot be shown")
        stored, number = self._sealed(wanted)
        name = stored.names[number]
        head = find_head(self._region.objects, name.key)
        if head is None:
            raise Unavailable("the version has not arrived in this region", object=name.key, hint="try again")
        opening = opening_of(name.key, head.metadata, store.salt)
        if opening.digest != name.digest:
            raise Damaged(
                "what stands in the version's place is not what was sealed",
                version_id=row.version_id,
                region=self._region.name,
                object=name.key,
                cause="its digest is another one",
                hint="memolith audit verify says what was done to it",
            )
        shown = {"nonce": opening.nonce, "metadata": dict(opening.metadata)}
        proof = self._inclusion(wanted, stored, number)
        return {"memolith_proof": CHAINED_FORMAT if "chain" in proof else PROOF_FORMAT, **proof, "opening": shown}

    def _order(self, store_id: str, row: VersionRow) -> dict[str, Any]:
        """Return the order that erased a version, with its own inclusion."""
        for region in self._region.origins:
            key = str(RedactionKey(region, store_id, row.version_id))
            found = find(self._region.objects, key)
            if found is not None:
                at_us = Redaction.from_json(found.body).redacted_at
                wanted = _Wanted(key, region, at_us, "order of redaction", row.version_id)
                stored, number = self._sealed(wanted)
                if stored.names[number].digest != record_digest(key, found.body):
                    raise Damaged(
                        "the order of redaction is not what was sealed",
                        version_id=row.version_id,
                        region=self._region.name,
                        object=key,
                        cause="its digest is another one",
                    )
                return {**self._inclusion(wanted, stored, number), "body": found.body.decode()}
        why = "it was erased before it was imported, or the order that erased it has not arrived in this region"
        raise NotFound("order of redaction", row.version_id, why)

    def _inclusion(self, wanted: _Wanted, stored: StoredCheckpoint, number: int) -> dict[str, Any]:
        """Return a name of a checkpoint, its way up the tree, and the root with what signs it."""
        checkpoint = stored.checkpoint
        path = inclusion_path([leaf_hash(one.leaf) for one in stored.names], number)
        shown = {
            "name": name_to_json(stored.names[number]),
            "index": number,
            "path": [node.hex() for node in path],
            "statement": checkpoint.statement.decode(),
        }
        chain, seal = self._chain(wanted, checkpoint)
        if chain:
            shown["chain"] = chain
        return {**shown, "seal": seal._asdict()}

    def _chain(self, wanted: _Wanted, checkpoint: Checkpoint) -> tuple[list[str], Seal]:
        """Return the statements after a checkpoint's own up to the first signed one, and its signature. A GET each."""
        chain: list[str] = []
        while checkpoint.seal is None:
            if self._bounded and len(chain) == CHAIN_MAX:
                why = f"no signature is in the {CHAIN_MAX} checkpoints after its own; memolith audit prove reads on"
                raise NotFound(wanted.kind, wanted.id, why)
            following = self._history.after(checkpoint)
            if following is None:
                raise NotFound(wanted.kind, wanted.id, NOT_YET)
            if following.previous_statement != sha256_of(checkpoint.statement):
                why = f"its checkpoint was not signed, and that of period {following.period} does not state it"
                raise NotFound(wanted.kind, wanted.id, why)
            chain.append(following.statement.decode())
            checkpoint = following
        return chain, checkpoint.seal

    def _sealed(self, wanted: _Wanted) -> tuple[StoredCheckpoint, int]:
        """Return the first checkpoint that seals an object, and the number of its name there."""
        first = self._history.first_since(wanted.home, wanted.at_us)
        last = first + SEARCHED_MAX - 1 if self._bounded else self._history.last(wanted.home)
        named = False
        for stored in self._history.read(wanted.home, first, last, PARTS_MAX if self._bounded else None):
            if not isinstance(stored, StoredCheckpoint):
                if self._bounded:
                    break  # the end, or a hole that an audit names
                continue
            for number, name in enumerate(stored.names):
                if name.key == wanted.key and _is_sealed(name) and stored.is_sealed:
                    return stored, number
                named = named or name.key == wanted.key
        else:
            if self._bounded and not named:
                why = f"no proof of it is in the {SEARCHED_MAX} checkpoints after its time"
                raise NotFound(wanted.kind, wanted.id, f"{why}; memolith audit prove searches all of them")
        if named:
            raise NotFound(wanted.kind, wanted.id, "it is named in a checkpoint, and what it was is not sealed")
        raise NotFound(wanted.kind, wanted.id, NOT_YET)


def _is_sealed(name: Named) -> bool:
    return name.digest is not None


def make_proofs(region: Region, sealing: Sealing, bounded: bool = False) -> Proofs:
    """Put together what makes proofs. No call."""
    return Proofs(region, SealedHistory(region, sealing), bounded)
