"""The model's stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memolith.app.kernel.results import (
    UNSET,
    Page,
    RequestContext,
    ScanPolicy,
    Store,
)
from memolith.core import limits
from memolith.core.errors import (
    InvalidRequest,
)
from memolith.core.ids import region_code
from memolith.core.retention import DAY_US, Retention
from tests.api.model.state import Shelf, State, page, within


@dataclass
class Stores:
    """The use cases of memory_stores."""

    state: State

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
        refuse_second(durability, second_region)
        key = self.state.enter(call, "admin")
        now_us = self.state.now()
        id = f"memstore_{region_code(self.state.region)}_{self.state.ulid()}"
        store = Store(
            id, name, description, dict(metadata), now_us, now_us, None, scanning(scan_policy), retention_of(retention)
        )
        self.state.shelves[id] = Shelf(store, key.workspace_id)
        call.home = self.state.region
        return store

    def retrieve(self, call: RequestContext, store_id: str) -> Store:
        return self.state.shelf(call, "read", store_id).store

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
    ) -> Store:
        shelf = self.state.shelf(call, "admin", store_id)
        old = shelf.store
        others = any(one is not UNSET for one in (name, description, metadata, scan_policy, retention))
        if old.archived_at is not None and (others or (durability is UNSET and second_region is UNSET)):
            raise InvalidRequest("memory_store_id", "archived")
        refuse_second(durability, second_region)
        merged = {**old.metadata, **(metadata if isinstance(metadata, Mapping) else {})}
        kept = {name: value for name, value in merged.items() if value is not None}
        if len(kept) > limits.METADATA_MAX_PAIRS:
            raise InvalidRequest("metadata", "too many")
        new = replace(
            old,
            name=old.name if name is UNSET else str(name),
            description=old.description if description is UNSET else str(description),
            metadata=kept,
            scan_policy=scanning(scan_policy, old.scan_policy),
            retention=retention_of(retention, old.retention),
        )
        if new != old:
            shelf.store = replace(new, updated_at=self.state.now())
        return shelf.store

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
        key = self.state.enter(call, "admin" if deleted else "read")
        rows = [
            shelf.store
            for shelf in reversed(self.state.shelves.values())
            if shelf.workspace_id == key.workspace_id
            and (shelf.store.erase_after is not None) == deleted
            and (deleted or include_archived or shelf.store.archived_at is None)
            and within(shelf.store.created_at, created_at_gte, created_at_lte)
        ]
        return page(rows, [f"{row.created_at:020d}" for row in rows], limit, after, descending=True)

    def archive(self, call: RequestContext, store_id: str) -> Store:
        shelf = self.state.shelf(call, "admin", store_id)
        if shelf.store.archived_at is None:
            now_us = self.state.now()
            shelf.store = replace(shelf.store, archived_at=now_us, updated_at=now_us)
        return shelf.store

    def delete(self, call: RequestContext, store_id: str) -> str:
        shelf = self.state.shelf(call, "admin", store_id)
        now_us = self.state.now()
        shelf.store = replace(shelf.store, updated_at=now_us, erase_after=now_us + 7 * DAY_US)
        return store_id

    def restore(self, call: RequestContext, store_id: str) -> Store:
        shelf = self.state.shelf(call, "admin", store_id, deleted=True)
        if shelf.store.erase_after is not None:
            shelf.store = replace(shelf.store, updated_at=self.state.now(), erase_after=None)
        return shelf.store


def scanning(change: object, before: ScanPolicy = ScanPolicy()) -> ScanPolicy:  # noqa: B008 - frozen
    given = change if isinstance(change, Mapping) else {}
    allow = tuple(sorted(set(given.get("allow", before.allow))))
    return ScanPolicy(given.get("policy", before.policy), allow, given.get("secrets", before.secrets))


def refuse_second(durability: object, second_region: object) -> None:
    """One process is one region."""
    if second_region not in (None, UNSET):
        raise InvalidRequest("second_region", "there is none")
    if durability == "two_regions":
        raise InvalidRequest("durability", "there is one region")


def retention_of(given: object, before: Retention | None = None) -> Retention:
    """Each of the two numbers as it was last given."""
    changes = {name: value for name, value in given.items() if value is not None} if isinstance(given, Mapping) else {}
    return replace(before or Retention(30, 10), **changes)
