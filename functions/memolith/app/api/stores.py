"""Stores: made where the call lands, changed at home, read anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from operator import itemgetter
from typing import Any

from memolith.app.api.forwarded_reads import ForwardedReads, forwarded
from memolith.app.api.linearizable_reads import LinearizableReads
from memolith.app.api.store_settings import DURABILITY, chosen, require_second_alone, scanning, to_store, updated
from memolith.app.auth.authorizer import Access, Authorizer, Scope, StoreAccess
from memolith.app.commit.forwarding import Forwarding
from memolith.app.commit.sync_replica import SyncReplica
from memolith.app.epochs.fence import require_writing_home
from memolith.app.epochs.ownership import Ownership
from memolith.app.kernel.answer_size import RECORDS_MAX_BYTES
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import UNSET, Page, RequestContext, ScanPolicy, Store
from memolith.app.safety.write_gate import STORE_RULES, TextScanner
from memolith.core.errors import InvalidRequest, NotFound, PermissionDenied, Unavailable
from memolith.core.listing import check_position
from memolith.core.log_position import Epoch, Slot
from memolith.core.objects.store_record import StoreRecord, StoreState
from memolith.core.pipelines.policy import switched_on
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import PlacedRecord, to_record, to_row
from memolith.core.sync_replica import chosen_second, deployed_second
from memolith.ports.index import Query

ENDS_WRITING = ("archive", "delete")
"""The changes after which nothing more may be acknowledged."""

ERASED = "its erasure has begun, which nothing undoes; a backup or an export is all that can bring it back"
"""What a caller is told that would restore a store too late."""

_POSITION = re.compile(r"\d{20}#[a-z0-9_]+", re.ASCII)


class Stores:
    """The use cases of memory_stores."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        forwarding: Forwarding,
        reads: ForwardedReads,
        scanner: TextScanner,
        records: Ownership,
        linearizable_reads: LinearizableReads,
        second: SyncReplica,
    ) -> None:
        self._scanner = scanner
        self._region = region
        self._authorizer = authorizer
        self._forwarding = forwarding
        self._forwarded = reads
        self._records = records
        self._linearizable_reads = linearizable_reads
        self._second = second

    def create(
        self,
        call: RequestContext,
        *,
        name: str,
        description: str,
        metadata: Mapping[str, str],
        scan_policy: Mapping[str, Any] | None = None,
        retention: Mapping[str, int | None] | None = None,
        durability: str | None = None,
        second_region: str | None = None,
    ) -> Store:
        """Create a store whose home is this region. One PUT, one index read and write; in two regions, two PUTs.

        `scan_policy` has any of ``policy``, ``allow`` and ``secrets``, `retention` of ``days`` and ``versions``; what
        either lacks is the default. `durability`, `second_region`: see `memolith.core.sync_replica.chosen_second`.
        """
        self._check_policy(scan_policy)
        access = self._authorizer.enter(call, Scope.admin)
        if not access.sees_all_stores:
            raise PermissionDenied("the API key is limited to stores that exist; a key without a limit may create one")
        region, now_us = self._region, self._region.clock.now_us()
        epoch = Epoch(1, region.name)
        record = StoreRecord(
            store_id=region.new_regional_id("memstore"),
            workspace_id=access.workspace_id,
            name=name,
            description=description,
            metadata=dict(metadata),
            salt=region.randomness.bytes(32).hex(),
            home=region.name,
            epochs=(str(epoch),),
            created_at=now_us,
            updated_at=now_us,
            created_by=access.actor,
            version_id=region.new_id("memver"),
            **scanning(ScanPolicy(), scan_policy),
            retention_days=chosen(retention, "days", None),
            retention_versions=chosen(retention, "versions", None),
            transcript_days=chosen(retention, "transcript_days", None),
            second_region=chosen_second(region.name, region.regions, None, durability, second_region),
        )
        placed = PlacedRecord(Slot(epoch, 1), record)
        sealed_name = self._records.put(placed)
        if sealed_name is None:
            raise Unavailable("the new store's id is taken; try again")
        self._second.keep_record(to_row(placed))
        self._records.fold_own(access.view, placed, sealed_name)
        call.home = region.name
        return to_store(to_row(placed))

    @forwarded("retrieve_store")
    def retrieve(self, call: RequestContext, store_id: str) -> Store:
        """Return the store, archived or not. One index read; if the caller demands the home's answer, a GET that finds
        nothing.

        Raises:
            NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        store = self._authorizer.enter_store(call, Scope.read, store_id).store
        if call.demand.home and (store := self._linearizable_reads.record(store)).is_deleted:
            raise NotFound("memory_store", store_id)
        return to_store(store)

    def update(
        self,
        call: RequestContext,
        store_id: str,
        *,
        name: object,
        description: object,
        metadata: object,
        scan_policy: object = UNSET,
        retention: object = UNSET,
        durability: object = UNSET,
        second_region: object = UNSET,
        approval: object = UNSET,
        pipelines: object = UNSET,
    ) -> Store:
        """Change name, description, metadata or settings; once archived, `DURABILITY` alone.

        A field that is UNSET is left alone. Metadata is a merge patch in which None deletes a key; what a
        setting does not mention stays. A key that is limited to stores has no sessions read by themselves.
        A change that asks for two regions takes five seconds, as `archive`: what is acknowledged after it is in both.
        """
        changes = _given(
            name=name,
            description=description,
            metadata=metadata,
            scan_policy=scan_policy,
            retention=retention,
            durability=durability,
            second_region=second_region,
            approval=approval,
            pipelines=pipelines,
        )
        self._check_policy(changes.get("scan_policy"))
        return self._change(call, store_id, {"change": "update", **changes})

    def archive(self, call: RequestContext, store_id: str) -> Store:
        """End writing for good: after the answer, nothing more is acknowledged. Archiving again changes nothing.

        Takes five seconds (half a second on a laptop): until no call that knows the store as it was may answer any more
        (`memolith.app.epochs.fence`).
        """
        return self._change(call, store_id, {"change": "archive"})

    def delete(self, call: RequestContext, store_id: str) -> str:
        """Delete the store: from then on neither it nor anything in it is found. Waits as `archive`.

        It is erased once the delay that its home has configured is over, and can be restored until then.
        """
        self._change(call, store_id, {"change": "delete"})
        return store_id

    def restore(self, call: RequestContext, store_id: str) -> Store:
        """Bring a deleted store back as it was, with all that is in it. One that is not deleted is left as it is.

        If its second region was removed from the deployment meanwhile, it has the next one, or none is left.

        Either this comes first or the erasure: both are one put in the same slot of the store's log of records. One
        index read, and at the home one GET that finds nothing, one PUT, one transaction.

        Raises:
            NotFound: there was none, or it is being erased, which `why` says. Unavailable, OutcomeUnknown: repeat it.
            Unauthenticated, PermissionDenied.
        """
        return self._change_of(call, self._authorizer.enter_deleted(call, store_id), {"change": "restore"})

    def page(
        self,
        call: RequestContext,
        *,
        created_at_gte: int | None,
        created_at_lte: int | None,
        include_archived: bool,
        limit: int,
        after: str | None,
        deleted: bool = False,
    ) -> Page[Store]:
        """List the workspace's stores that the caller's key reaches, newest first.

        With `deleted`, an admin lists those, archived or not, that were deleted and are not erased yet, and no others.
        Two index reads and one query, more if many are filtered out; for a key that is limited to stores, three reads.
        A page ends before its records take more than `RECORDS_MAX_BYTES`, with one at least.
        """
        check_position(after, _POSITION)
        access = self._authorizer.enter(call, Scope.admin if deleted else Scope.read)

        def shows(row: StoreRow) -> bool:
            if deleted:
                return row.erase_after is not None
            return not row.is_deleted and (include_archived or row.archived_at is None)

        page = self._page(access, created_at_gte, created_at_lte, shows, limit, after)
        self._region.require_whole(access.view, "stores")
        return page

    def _page(
        self,
        access: Access,
        created_at_gte: int | None,
        created_at_lte: int | None,
        shows: Callable[[StoreRow], bool],
        limit: int,
        after: str | None,
    ) -> Page[Store]:
        found, size = list[Store](), 0
        if after is None and created_at_lte is not None:
            after = f"{max(created_at_lte, 0) + 1:020d}"
        while True:
            page = self._newest(access, after, limit + 1)
            for position, row in page:
                if created_at_gte is not None and row.created_at < created_at_gte:
                    return Page(tuple(found), None)
                if not shows(row):
                    after = position
                    continue
                store = to_store(row)
                size += len(json.dumps(asdict(store), ensure_ascii=False).encode())
                if found and (len(found) == limit or size > RECORDS_MAX_BYTES):
                    return Page(tuple(found), after)
                found.append(store)
                after = position
            if len(page) <= limit:
                return Page(tuple(found), None)

    def _newest(self, access: Access, after: str | None, limit: int) -> list[tuple[str, StoreRow]]:
        """Read stores that the caller's key reaches, newest first, each with its position: `limit`, if there are more.

        One query; for a key that is limited to stores, one read of those instead, however many others there are.
        """
        if access.sees_all_stores:
            query = Query("stores", access.workspace_id, after=after, limit=limit, descending=True)
            return [(row.sort_key, StoreRow.from_attributes(row.attributes)) for row in access.view.index.query(query)]
        rows = self._region.read(access.view.index, [StoreRow.key(store_id) for store_id in access.limited_to])
        stores = [StoreRow.from_attributes(row) for row in rows.values()]
        placed = [
            (StoreRow.listing_key(one.workspace_id, one.created_at, one.store_id).sk, one)
            for one in stores
            if one.workspace_id == access.workspace_id
        ]
        return sorted((one for one in placed if after is None or one[0] < after), key=itemgetter(0), reverse=True)[
            :limit
        ]

    def _change(self, call: RequestContext, store_id: str, changes: Mapping[str, Any]) -> Store:
        return self._change_of(call, self._authorizer.enter_store(call, Scope.admin, store_id), changes)

    def _change_of(self, call: RequestContext, access: StoreAccess, changes: Mapping[str, Any]) -> Store:
        version_id, store_id = self._region.new_id("memver"), access.store.store_id
        request = {"store_id": store_id, "actor": access.actor, "version_id": version_id, **changes}
        request["seen"] = access.store.slot
        if not access.sees_all_stores:
            request["limited"] = True
        store, answer = self._forwarding.reach(access.view, access.store, {"call": "store", **request})
        if answer is None:
            return to_store(self.change_at_home(store, request))
        placed = PlacedRecord(Slot.parse(answer["slot"]), StoreRecord.from_json(answer["record"].encode()))
        self._records.fold_own(access.view, placed)
        return to_store(to_row(placed))

    def change_at_home(self, row: StoreRow, request: Mapping[str, Any]) -> StoreRow:
        """Change the record where the store's home is. One GET that finds nothing, one PUT, one transaction.

        A change that ends writing, or asks for two regions, is answered only after every lease has run out; so is its
        repetition, as the caller that put the record may have died while waiting. A call that the network repeats is
        done once.
        """
        changed = self._done(row, request)
        if changed is None:
            view = self._region.view()
            changed = self._records.change(view, row, lambda now: self._next(now, request), own=request["version_id"])
        asks_for_two = changed.second_region is not None and any(request.get(name) for name in DURABILITY)
        if request["change"] in ENDS_WRITING or asks_for_two:
            self._region.clock.pause(self._region.drain_s)
        self._second.keep_record(changed)
        return changed

    def _done(self, row: StoreRow, request: Mapping[str, Any]) -> StoreRow | None:
        """Return the record by which another copy of this call has done it, if other records were put since.

        A GET for each record of this epoch since the one that the region where the call landed knew (``seen``).
        """
        slot = Slot.parse(row.slot)
        while str(slot) != request.get("seen") and (before := slot.preceding) is not None:
            record = self._records.at(row.store_id, before)
            if record is not None and record.version_id == request["version_id"]:
                return to_row(PlacedRecord(before, record))
            slot = before
        return None

    def _next(self, row: StoreRow, request: Mapping[str, Any]) -> StoreRecord | None:
        """Return the next record, or None where nothing changes."""
        if row.version_id == request["version_id"]:
            return None
        restores = request["change"] == "restore"
        if row.state == StoreState.DELETED:
            raise NotFound("memory_store", row.store_id, ERASED if restores else "")
        if row.is_deleted and not restores:
            raise NotFound("memory_store", row.store_id)
        require_writing_home(self._region.name, row)
        now_us = max(self._region.clock.now_us(), row.updated_at + 1)
        record = replace(to_record(row, request["actor"]), version_id=request["version_id"])
        if restores:
            second = deployed_second(row.home, self._region.regions, row.second_region)
            return replace(record.restored(now_us), second_region=second) if row.is_deleted else None
        if request["change"] == "delete":
            return record.withdrawn(now_us, self._region.erase_delay_us)
        if request["change"] == "archive":
            return None if row.archived_at is not None else replace(record, archived_at=now_us, updated_at=now_us)
        if row.archived_at is not None:
            require_second_alone(request)
        changed = updated(record, row, request, self._region.regions)
        if request.get("limited"):
            _refuse_switching_on(row, changed)
        return None if changed == replace(record, metadata=dict(row.metadata)) else replace(changed, updated_at=now_us)

    def _check_policy(self, scan_policy: Mapping[str, Any] | None) -> None:
        """Raise InvalidRequest for a rule without findings: allowing it could only be a mistake."""
        for rule in (scan_policy or {}).get("allow") or ():
            if rule not in STORE_RULES and not self._scanner.knows(rule):
                raise InvalidRequest("scan_policy.allow", f"names no rule of the scanner: {rule}")


def _refuse_switching_on(row: StoreRow, changed: StoreRecord) -> None:
    """Refuse a limited key's change after which sessions, which may have other stores too, are read without a caller.

    Raises:
        PermissionDenied.
    """
    field = switched_on(row.pipelines, changed.pipelines)
    if field is not None:
        raise PermissionDenied(
            f"pipelines.{field}: the API key is limited to stores, and this would bring into {row.store_id} what was "
            "said in sessions that have other stores, too; use a key without a limit"
        )


def _given(**fields: Any) -> dict[str, Any]:
    """Return the fields that an update names."""
    return {name: value for name, value in fields.items() if value is not UNSET}
