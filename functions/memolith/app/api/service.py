"""Memolith in one region: every use case, put together over that region's ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memolith.app.api import forwarded_reads
from memolith.app.api.divergent import Divergent
from memolith.app.api.history_import import HistoryImport, ImportResult
from memolith.app.api.memories import Memories
from memolith.app.api.quarantine import Quarantine
from memolith.app.api.redaction import Redactions, answer
from memolith.app.api.sessions import Sessions
from memolith.app.api.snapshots import Snapshots
from memolith.app.api.stores import Stores, given
from memolith.app.api.versions import Versions
from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.authorizer import Authorizer
from memolith.app.auth.session_tokens import NO_SIGNING_KEYS, SessionTokens
from memolith.app.commit.adoption import Adoption
from memolith.app.commit.attempt import encode_outcome
from memolith.app.commit.forwarding import Forwarding
from memolith.app.commit.late_records import LateRecords
from memolith.app.commit.writer import Writer
from memolith.app.epochs.ownership import Ownership
from memolith.app.kernel.no_packs import NO_PACKS
from memolith.app.kernel.peer_messages import NotHome, encode_error, encode_placed, encode_settled
from memolith.app.kernel.region import Region
from memolith.app.kernel.results import (
    UNSET,
    Hit,
    Memory,
    MemoryPrefix,
    Page,
    RequestContext,
    Store,
    Version,
    VersionFilter,
)
from memolith.app.log.log_reader import LogReader
from memolith.app.safety.write_gate import TextScanner
from memolith.core.commands import ImportedVersion, from_payload
from memolith.core.errors import MemolithError, NotFound
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import parse_key
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.base import mark_key
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import MOVER, PlacedRecord, to_record
from memolith.core.tables import TABLES
from memolith.ports.packs import Packs
from memolith.ports.signing import SigningKeys

if TYPE_CHECKING:
    from memolith.app.search.pack_cache import PackCache

_MARKS = tuple(mark_key(table.name) for table in TABLES if table.generational)


class Memolith:
    """The facade that HTTP, direct invocations and local clients drive. Every method raises `core.errors` only."""

    def __init__(
        self,
        region: Region,
        scanner: TextScanner,
        signing: SigningKeys = NO_SIGNING_KEYS,
        packs: Packs = NO_PACKS,
    ) -> None:
        self._region = region
        self._door = Authorizer(region)
        self._writer = Writer(region, scanner)
        passing = Forwarding(region)
        self._asking = forwarded_reads.ForwardedReads(passing)
        self._past = Snapshots(region, self._door)
        self._stores = Stores(region, self._door, passing, scanner)
        self._memories = Memories(region, self._door, self._writer, passing)
        self._versions = Versions(region, self._door)
        self._redacting = Redactions(region, self._door, self._writer, passing)
        self._importing = HistoryImport(region, self._door, scanner, self._writer, self._redacting, passing)
        self._quarantine = Quarantine(region, self._door, self._memories, passing)
        self._divergent = Divergent(region, self._door, self._memories, self._redacting, passing)
        self._packs = packs
        self._keys = ApiKeys(region)
        self.sessions = Sessions(region, self._door, SessionTokens(signing, region.clock))
        self._records = Ownership(region)
        self._adopting = Adoption(region, self._writer)
        self._late_records = LateRecords(region)
        self._logs = LogReader(region)

    @property
    def region(self) -> str:
        """The region that answers."""
        return self._region.name

    def check_health(self) -> None:
        """Whether callers should come here: one index read, of a row in each table.

        Raises:
            Unavailable: a table does not answer, or they do not hold everything that this region's bucket does.
        """
        self._region.view(_MARKS).require_complete()

    # ---- stores -------------------------------------------------------------------------------------------------

    def create_store(
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
        """See `Stores.create`."""
        return self._stores.create(
            call,
            name=name,
            description=description,
            metadata=metadata,
            scan_policy=scan_policy,
            retention=retention,
            durability=durability,
            second_region=second_region,
        )

    def retrieve_store(self, call: RequestContext, store_id: str) -> Store:
        """See `Stores.retrieve`."""
        given = {"store_id": store_id}
        return self._asking.read(call, "retrieve_store", given, lambda: self._stores.retrieve(call, store_id))

    def update_store(
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
    ) -> Store:
        """See `Stores.update`; a field that is UNSET is left alone."""
        changes = given(
            name=name,
            description=description,
            metadata=metadata,
            scan_policy=scan_policy,
            retention=retention,
            durability=durability,
            second_region=second_region,
        )
        return self._stores.update(call, store_id, changes)

    def list_stores(
        self,
        call: RequestContext,
        *,
        created_at_gte: int | None,
        created_at_lte: int | None,
        include_archived: bool,
        limit: int,
        after: str | None,
    ) -> Page[Store]:
        """See `Stores.page`."""
        return self._stores.page(
            call,
            created_at_gte=created_at_gte,
            created_at_lte=created_at_lte,
            include_archived=include_archived,
            limit=limit,
            after=after,
        )

    def archive_store(self, call: RequestContext, store_id: str) -> Store:
        """See `Stores.archive`."""
        return self._stores.archive(call, store_id)

    def delete_store(self, call: RequestContext, store_id: str) -> str:
        """See `Stores.delete`."""
        return self._stores.delete(call, store_id)

    # ---- memories -----------------------------------------------------------------------------------------------

    def create_memory(self, call: RequestContext, store_id: str, *, path: str, content: str, full: bool) -> Memory:
        """See `Memories.create`."""
        return self._memories.create(call, store_id, path=path, content=content, full=full)

    def retrieve_memory(
        self, call: RequestContext, store_id: str, memory_id: str, *, full: bool, as_of: int | None = None
    ) -> Memory:
        """See `Memories.retrieve`, and `Snapshots.retrieve` for an instant."""
        given = {"store_id": store_id, "memory_id": memory_id, "full": full, "as_of": as_of}

        def answer() -> Memory:
            if as_of is None:
                return self._memories.retrieve(call, store_id, memory_id, full=full)
            return self._past.retrieve(call, store_id, memory_id, full=full, as_of=as_of)

        return self._asking.read(call, "retrieve_memory", given, answer)

    def update_memory(
        self,
        call: RequestContext,
        store_id: str,
        memory_id: str,
        *,
        content: str | None,
        path: str | None,
        expected_content_sha256: str | None,
        full: bool,
    ) -> Memory:
        """See `Memories.update`."""
        return self._memories.update(
            call,
            store_id,
            memory_id,
            content=content,
            path=path,
            expected_content_sha256=expected_content_sha256,
            full=full,
        )

    def delete_memory(
        self, call: RequestContext, store_id: str, memory_id: str, *, expected_content_sha256: str | None
    ) -> str:
        """See `Memories.delete`."""
        return self._memories.delete(call, store_id, memory_id, expected_content_sha256=expected_content_sha256)

    def list_memories(
        self,
        call: RequestContext,
        store_id: str,
        *,
        path_prefix: str | None,
        depth: int,
        limit: int,
        after: str | None,
        full: bool,
        as_of: int | None = None,
    ) -> Page[Memory | MemoryPrefix]:
        """See `Memories.page`, and `Snapshots.page` for an instant, which knows no depth."""
        page: dict[str, Any] = {"path_prefix": path_prefix, "limit": limit, "after": after, "full": full}
        given = {"store_id": store_id, "depth": depth, "as_of": as_of, **page}

        def answer() -> Page[Memory | MemoryPrefix]:
            if as_of is None:
                return self._memories.page(call, store_id, depth=depth, **page)
            return self._past.page(call, store_id, as_of=as_of, **page)

        return self._asking.read(call, "list_memories", given, answer)

    def search_memories(
        self, call: RequestContext, store_id: str, *, query: str, limit: int, path_prefix: str | None = None
    ) -> Page[Hit]:
        """See `Search.search`."""
        given = {"store_id": store_id, "query": query, "limit": limit, "path_prefix": path_prefix}

        def answer() -> Page[Hit]:
            from memolith.app.api.search import Search  # with a search, and not with a start

            searching = Search(self._region, self._door, self._shelf, self._packs)
            return Page(searching.search(call, store_id, query=query, limit=limit, path_prefix=path_prefix), None)

        return self._asking.read(call, "search_memories", given, answer)

    def load_memories(self, call: RequestContext, store_id: str, *, after: str | None) -> Page[Memory]:
        """See `BulkRead.page`."""

        def answer() -> Page[Memory]:
            from memolith.app.api.bulk_read import BulkRead

            return BulkRead(self._region, self._door, self._shelf).page(call, store_id, after=after)

        return self._asking.read(call, "load_memories", {"store_id": store_id, "after": after}, answer)

    @cached_property
    def _shelf(self) -> PackCache:
        """The packs that this process holds."""
        from memolith.app.search.pack_cache import PackCache

        return PackCache(self._region, self._packs)

    # ---- versions -----------------------------------------------------------------------------------------------

    def list_versions(
        self, call: RequestContext, store_id: str, filter: VersionFilter, *, limit: int, after: str | None, full: bool
    ) -> Page[Version]:
        """See `Versions.page`."""
        page: dict[str, Any] = {"limit": limit, "after": after, "full": full}
        given = {"store_id": store_id, "filter": asdict(filter), **page}
        return self._asking.read(
            call, "list_versions", given, lambda: self._versions.page(call, store_id, filter, **page)
        )

    def retrieve_version(self, call: RequestContext, store_id: str, version_id: str, *, full: bool) -> Version:
        """See `Versions.retrieve`."""
        given = {"store_id": store_id, "version_id": version_id, "full": full}
        return self._asking.read(
            call, "retrieve_version", given, lambda: self._versions.retrieve(call, store_id, version_id, full=full)
        )

    def redact_version(self, call: RequestContext, store_id: str, version_id: str) -> Version:
        """See `Redactions.redact`."""
        return self._redacting.redact(call, store_id, version_id)

    def import_versions(
        self, call: RequestContext, store_id: str, versions: Sequence[ImportedVersion]
    ) -> list[ImportResult]:
        """See `HistoryImport.bring_in`."""
        return self._importing.bring_in(call, store_id, versions)

    @property
    def quarantine(self) -> Quarantine:
        """The use cases of withheld texts."""
        return self._quarantine

    @property
    def divergent(self) -> Divergent:
        """The use cases of versions that a fail-over left behind."""
        return self._divergent

    # ---- direct invocations -------------------------------------------------------------------------------------

    def direct(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """A peer's or an operator's call, let in by IAM alone: ``{"call": …}`` to JSON, errors under ``error``.

        Raises:
            KeyError, TypeError, ValueError: a payload that no version of Memolith made.
        """
        calls = {
            "write": self._write,
            "store": self._change_store,
            "redact": self._redact,
            "import": self._import,
            "release": self._release,
            "help": self._help,
            "seal": self._seal,
            "adopt": self._adopt,
            "adopt_records": self._adopt_records,
            "dismiss": self._dismiss,
            "keys.create": self._create_key,
            "keys.revoke": self._revoke_key,
            "keys.list": self._list_keys,
        }
        fields = dict(payload)
        try:
            return calls[fields.pop("call")](fields)
        except NotHome as elsewhere:
            return {"elsewhere": encode_placed(elsewhere.placed)}
        except MemolithError as error:
            return {"error": encode_error(error)}

    def read_direct(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Another region's read of a store whose home this is (`memolith.app.api.forwarded_reads`); IAM alone lets it
        in.

        Raises:
            KeyError, TypeError: a payload that no version of Memolith made.
        """
        reads: dict[str, Callable[..., object]] = {
            "retrieve_store": self.retrieve_store,
            "retrieve_memory": self.retrieve_memory,
            "list_memories": self.list_memories,
            "search_memories": self.search_memories,
            "load_memories": self.load_memories,
            "list_versions": self._list_versions,
            "retrieve_version": self.retrieve_version,
        }
        read = reads[payload["operation"]]
        try:
            return {"answer": forwarded_reads.encode(read(forwarded_reads.vouched(payload), **payload["arguments"]))}
        except MemolithError as error:
            return {"error": encode_error(error)}

    def _list_versions(
        self, call: RequestContext, store_id: str, filter: Mapping[str, Any], **page: Any
    ) -> Page[Version]:
        return self.list_versions(call, store_id, VersionFilter(**filter), **page)

    def _write(self, fields: dict[str, Any]) -> dict[str, Any]:
        workspace_id = fields.pop("workspace_id")
        return encode_outcome(self._memories.write_at_home(workspace_id, from_payload(fields)))

    def _change_store(self, fields: dict[str, Any]) -> dict[str, Any]:
        store = self._own_store(fields["store_id"], ended_by=fields["version_id"])
        row = self._stores.change_at_home(store, fields)
        return {"slot": row.slot, "record": to_record(row, fields["actor"]).to_json().decode()}

    def _redact(self, fields: dict[str, Any]) -> dict[str, Any]:
        return answer(self._redacting.redact_at_home(self._own_store(fields["store_id"]), fields))

    def _import(self, fields: dict[str, Any]) -> dict[str, Any]:
        return self._importing.import_at_home(self._own_store(fields["store_id"]), fields)

    def _release(self, fields: dict[str, Any]) -> dict[str, Any]:
        verdicts = self._quarantine.release_at_home(self._own_store(fields["store_id"]), fields)
        return {"verdicts": [verdict.to_json().decode() for verdict in verdicts]}

    def _help(self, fields: dict[str, Any]) -> dict[str, Any]:
        key = parse_key(fields["key"])
        entry = self._logs.entry(key) if isinstance(key, LogKey) else None
        if entry is None:
            return {"settled": []}
        view = self._region.view()
        return {"settled": encode_settled(self._writer.help(view, self._own_store(entry.key.store_id), entry))}

    def _seal(self, fields: dict[str, Any]) -> dict[str, Any]:
        """``{"call": "seal", "key": …}``: the indexer has met half a rename, here, of an epoch that is over."""
        key = parse_key(fields["key"])
        entry = self._logs.entry(key) if isinstance(key, LogKey) else None
        if entry is None or entry.slot.epoch.home != self._region.name:
            return {"sealed": False}
        attributes = self._region.view([StoreRow.key(entry.key.store_id)]).rows.get(StoreRow.key(entry.key.store_id))
        store = None if attributes is None else StoreRow.from_attributes(attributes)
        return {"sealed": store is not None and self._writer.seal(store, entry)}

    def _adopt(self, fields: dict[str, Any]) -> dict[str, Any]:
        """``{"call": "adopt", "key": …}``: the indexer has met a late version."""
        key = parse_key(fields["key"])
        if not isinstance(key, LogKey):
            raise ValueError("not a key of a log")
        return {"adopted": self._adopting.adopt(self._own_store(key.store_id), key)}

    def _adopt_records(self, fields: dict[str, Any]) -> dict[str, Any]:
        """``{"call": "adopt_records", "store_id": …}``: the indexer has met a late record, or may have."""
        return {"adopted": self._late_records.adopt(self._own_store(fields["store_id"]))}

    def _dismiss(self, fields: dict[str, Any]) -> dict[str, Any]:
        order = self._divergent.dismiss_at_home(self._own_store(fields["store_id"]), fields)
        return {"order": order.to_json().decode()}

    def _own_store(self, store_id: str, ended_by: str | None = None) -> StoreRow:
        """The record of a store whose home this is, as a peer names it. Raises NotFound, Unavailable; Elsewhere.

        A deleted store is found by the call that deleted it, if the network repeats that: `ended_by` is its version_id.
        """
        view = self._region.view([StoreRow.key(store_id)])
        attributes = view.rows.get(StoreRow.key(store_id))
        row = self._records.find(store_id) if attributes is None else StoreRow.from_attributes(attributes)
        if row is None or (row.state == StoreState.DELETED and row.version_id != ended_by):
            raise NotFound("memory_store", store_id)
        row = self._records.at_home(view, row)
        if row.home != self._region.name:
            raise NotHome(PlacedRecord(Slot.parse(row.slot), to_record(row, MOVER)))
        return row

    def _create_key(self, fields: dict[str, Any]) -> dict[str, Any]:
        return asdict(self._keys.create(fields["workspace_id"], fields["name"], fields["scope"]))

    def _revoke_key(self, fields: dict[str, Any]) -> dict[str, Any]:
        record = self._keys.revoke(fields["workspace_id"], fields["key_id"])
        return {"record": asdict(record)}

    def _list_keys(self, fields: dict[str, Any]) -> dict[str, Any]:
        rows = self._keys.of_workspace(fields["workspace_id"])
        hidden = {"secret_sha256"}
        return {"keys": [{k: v for k, v in asdict(row).items() if k not in hidden} for row in rows]}
