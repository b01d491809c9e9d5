"""Redaction: an order that is an object like any other, and the erasing that it asks for.

The order is put at the store's home and replicates; each region's index stops showing the text when it folds the
order, and each region's eraser blanks the object and deletes its older S3 versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from memolith.app.api.proposal_decisions import ProposalDecisions
from memolith.app.api.versions import to_version
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.commit.forwarding import Forwarding
from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.commit.writer import Writer
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.epochs.fence import Fence, require_writing_home, stored_record
from memolith.app.index.projector import Projector
from memolith.app.index.redaction_places import places_of
from memolith.app.kernel.eraser_client import erase
from memolith.app.kernel.port_calls import require
from memolith.app.kernel.region import Region, View
from memolith.app.kernel.results import RequestContext, Version
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.app.proposals.proposal_log import ProposalLog
from memolith.core import ids
from memolith.core.errors import Busy, InvalidRequest, NotFound, Unavailable, in_doubt, once_done
from memolith.core.fold import is_live, join_redaction
from memolith.core.object_keys import RedactionKey
from memolith.core.objects.proposal_record import ProposalRecord
from memolith.core.objects.redaction_order import Redaction
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.sealing import named_record

REPEAT = "repeat the call"
"""What to do where a redaction did not come to its end: each part of it is done at most once."""

HEAD_ATTEMPTS = 3
"""How often a head is read: again where it was late, and where the log had more."""


class Redactions:
    """Orders redactions, at home and for callers anywhere."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        writer: Writer,
        repair: EpochRepair,
        fence: Fence,
        forwarding: Forwarding,
        projector: Projector,
        second: SyncReplica,
        proposal_log: ProposalLog,
        proposals: ProposalDecisions,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._writer = writer
        self._repair = repair
        self._fence = fence
        self._forwarding = forwarding
        self._projector = projector
        self._second = second
        self._proposal_log = proposal_log
        self._proposals = proposals

    def redact(self, call: RequestContext, store_id: str, version_id: str) -> Version:
        """Blank one version for good; redacting it again changes nothing. The head of a live memory is refused.

        An answer means that the order is durable at the store's home and that no answer of this region shows the text.
        The bytes are erased before the answer where the eraser answers; otherwise the order's event or the daily
        comparison of the bucket (`memolith.app.replication.compare_listing`) has them erased.

        Raises:
            Unavailable: nothing was done. OutcomeUnknown: the order may stand; repeat the call.
            InvalidRequest, NotFound; Unauthenticated, PermissionDenied.
        """
        if ids.VERSION.fullmatch(version_id) is None:
            raise NotFound("memory_version", version_id)
        access = self._authorizer.enter_store(call, Scope.admin, store_id, [VersionRow.key(store_id, version_id)])
        seen = self._forwarding.seen_of(access.view, access.store, version_id)
        request = {"store_id": store_id, "version_id": version_id, "actor": access.actor}
        store, answer = self._forwarding.reach(access.view, access.store, {"call": "redact", **request}, seen)
        if answer is None:
            return to_version(self.redact_at_home(store, request)[0])
        row = VersionRow.from_attributes(answer["version"])
        self.fold_given(access.view, self._order(row))
        if answer.get("proposal") is not None:
            with once_done(f"{version_id} is redacted at its home, but its proposal is not indexed here", REPEAT):
                self._proposal_log.fold(access.view, ProposalRecord.from_json(answer["proposal"].encode()))
        return to_version(row)

    def redact_at_home(self, store: StoreRow, request: Mapping[str, Any]) -> tuple[VersionRow, ProposalRecord | None]:
        """Put the order, fold it, and have the text erased here; the version's row as the order leaves it.

        Of a version that was proposed, the proposal has a copy of the text: the order to erase that one comes second.

        Three index reads, a query, a HEAD, a PUT, a transaction, and the eraser's own calls; for a version that was
        proposed, what the second order costs. Raises as `redact`.
        """
        version = VersionRow.key(store.store_id, request["version_id"])
        view = self._region.view([StoreRow.key(store.store_id), version])
        store = stored_record(view, store)
        row = self._version(view, store.store_id, request["version_id"])
        order = self._order(row)
        if row.redacted_at is None:
            self.require_superseded(view, store, row)
            order = replace(order, redacted_at=self._region.clock.now_us(), redacted_by=request["actor"])
            order = self.give(view, store, order)
        try:
            row = self._erase(view, store, order) or row
        except Unavailable:
            self._region.metrics.count("erasures_deferred")
        return join_redaction(row, order), self._erase_proposal(view, store, request)

    def _erase_proposal(self, view: View, store: StoreRow, request: Mapping[str, Any]) -> ProposalRecord | None:
        """Order that the texts of the proposal be erased which planned the version; return the order, if any."""
        try:
            proposal_id = self._proposal_log.proposal_of(view.index, store.store_id, request["version_id"])
            if proposal_id is None:
                return None
            asked = {"change": "erase", "proposal_id": proposal_id, "actor": request["actor"]}
            return self._proposals.change_at_home(store, asked)[0][-1]
        except (Busy, Unavailable) as error:
            message = f"{request['version_id']} is redacted, but the proposal that wrote it may still have its text"
            raise in_doubt(message, error, REPEAT) from error

    def _erase(self, view: View, store: StoreRow, order: Redaction) -> VersionRow | None:
        """Have every copy of the text here erased; return the version's row, read after the order was projected."""
        row, keys = places_of(self._region, view, order)
        for key in keys:
            erase(self._region, str(key))
        for key in self._repair.replays(store, keys, order.version_id):
            erase(self._region, str(key))
        return row

    def give(self, view: View, store: StoreRow, order: Redaction) -> Redaction:
        """Put an order in the home's present term and fold it; the one that stands, which may have been there first.

        `store` is the store's record as it came with `view`. No call more within the lease.

        Raises:
            Unavailable: nothing was done. OutcomeUnknown: the order may stand; repeat the call.
        """
        with self._fence.term(view, store, f"the order to redact {order.version_id} may stand", REPEAT):
            return self._give(view, store, order)

    def _give(self, view: View, store: StoreRow, order: Redaction) -> Redaction:
        order = self._put(order)
        key = RedactionKey(self._region.name, order.store_id, order.version_id)
        try:
            self._second.keep(store, str(key))
            self._projector.fold_redaction(view, order, named_record(key, order.to_json()), own=True)
        except Unavailable as error:
            raise in_doubt(
                f"the order to redact {order.version_id} stands in {self._region.name} and will be carried out, but not"
                " every index and second region has it yet",
                error,
                REPEAT,
            ) from error
        return order

    def fold_given(self, view: View, order: Redaction) -> None:
        """Project an order that the store's home, another region, has given for a call that landed here.

        Raises:
            OutcomeUnknown: this region may still show the text; the order stands.
        """
        try:
            self._projector.fold_redaction(view, order, unseen=True)
        except Unavailable as error:
            message = f"{order.version_id} is redacted at its home, but the index does not say so yet"
            raise in_doubt(message, error, REPEAT) from error

    def _version(self, view: View, store_id: str, version_id: str) -> VersionRow:
        attributes = view.rows.get(VersionRow.key(store_id, version_id))
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        if row is None or row.memory_id is None or row.position is None:
            self._region.require_whole(view, "versions")
            raise NotFound("memory_version", version_id)
        return row

    def require_superseded(self, view: View, store: StoreRow, row: VersionRow) -> None:
        """Raise unless the version is superseded, and stays so if the home's term ends. No call within the lease.

        What is put after that may be shown as head, and is none in the next term: what it followed is the memory again.

        Raises:
            InvalidRequest: it is the head. Unavailable: this cannot be decided here and now; nothing was done.
        """
        require_writing_home(self._region.name, store)
        is_head = self._is_head(view, store, row)
        if not self._fence.is_current(view, store):
            raise Unavailable("the store's home changed while this was decided; try again")
        if is_head:
            raise InvalidRequest(
                "memory_version_id", "the current version of a live memory cannot be redacted; write a new one first"
            )

    def _is_head(self, view: View, store: StoreRow, row: VersionRow) -> bool:
        """Tell whether a version is the head of a live memory, and the log has nothing newer.

        A head that came late, and was folded as this region became the home, is mended, and the head is read again. If
        it is the version itself, its replay may make it the head again: Unavailable.
        Where the table of memories has been emptied, nothing tells what the head is: Unavailable. What is read beside
        its mark may have gone after that was read: where the row is missing, or older than the version, one read more.
        """
        key = MemoryRow.key(store.store_id, row.memory_id or "")
        for _ in range(HEAD_ATTEMPTS):
            attributes = self._region.read_whole(view, [key], "memories").get(key)
            head = None if attributes is None else MemoryRow.from_attributes(attributes)
            if head is None or head.generation < (row.generation or 0):
                self._region.require_whole(view, "memories")
                return False
            if self._repair.memory(view, store, head):
                if head.version_id == row.version_id:
                    raise Unavailable(f"{row.version_id} came late, and is still to be replayed; try again")
                continue
            if head.version_id != row.version_id or not is_live(head):
                return False
            if not self._writer.refresh(view, store, head):
                break
        return True

    def _put(self, order: Redaction) -> Redaction:
        """Put the order; return the one that holds: this one, or the one that was there first."""
        key = str(RedactionKey(self._region.name, order.store_id, order.version_id))
        put = put_if_absent(self._region, key, order.to_json(), {})
        return order if put is Put.MINE else self._stored(key)

    def _stored(self, key: str) -> Redaction:
        try:
            return Redaction.from_json(require(self._region.objects, key).body)
        except Unavailable as error:
            raise in_doubt("the order stands, but cannot be read now", error, REPEAT) from error

    def _order(self, row: VersionRow) -> Redaction:
        return Redaction(row.store_id, row.version_id, row.position or "", row.redacted_at or 0, row.redacted_by or "")


def answer(row: VersionRow, proposal: ProposalRecord | None) -> dict[str, Any]:
    """Write the redacted version, and the order to erase its proposal, as JSON for the region where the call landed."""
    told: dict[str, Any] = {"version": {name: value for name, value in asdict(row).items() if value is not None}}
    return told if proposal is None else {**told, "proposal": proposal.to_json().decode()}
