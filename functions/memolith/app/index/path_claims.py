"""A path and its ancestor cannot both be memories: the one rule that no single put can decide.

A creator claims its path in the home's index, naming the slot it will put; then looks, strongly consistent, for a live
or claimed ancestor or descendant; then puts. Of two creators at least one sees the other and yields. Claims expire, but
safety does not rest on the clock: a writer that breaks one takes its slot first, so that a stalled creator's put fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memolith.app.kernel.region import Region, View
from memolith.core.limits import CLAIM_LIFETIME_US, CLOCKS_APART_US, PATH_MAX_BYTES
from memolith.core.log_position import LogRef
from memolith.core.paths import ancestors
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import PathRow
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Found, Index, Query


@dataclass(frozen=True, slots=True)
class Claim:
    """One creator's word that it may put `position`, for `path`."""

    store_id: str
    path: str
    claim_id: str
    position: LogRef

    @property
    def key(self) -> RowKey:
        return PathRow.key(self.store_id, self.path)


class IntentConflict(Exception):
    """Another writer's intent is in the way: pause, and begin again."""


class Claims:
    """Claims in every generation of tables that is written; looks in the serving one."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def make(self, view: View, claim: Claim, before: PathRow | None) -> PathRow:
        """Put the write intent beside what is known of the path. One conditional write a generation.

        Raises:
            Yielded: the row is not what it was, or has another intent.
        """
        if before is not None and before.claim_id is not None:
            raise IntentConflict
        return self._claim(view, claim, before, self._region.clock.now_us() + CLAIM_LIFETIME_US)

    def leave_expired(self, view: View, claim: Claim) -> PathRow:
        """Put an intent that has expired, for what anybody may put into the slot; return the row as it stands then.

        It replaces an intent for an earlier slot. A read, and a conditional write a generation.

        Raises:
            IntentConflict: another intent came meanwhile. Unavailable, OutcomeUnknown.
        """
        attributes = self._region.read(view.index, [claim.key]).get(claim.key)
        before = None if attributes is None else PathRow.from_attributes(attributes)
        claimed = None if before is None or before.claim_position is None else LogRef.parse(before.claim_position)
        if before is not None and claimed is not None and claimed.slot.rank >= claim.position.slot.rank:
            return before
        return self._claim(view, claim, before, expires_at=0)

    def _claim(self, view: View, claim: Claim, before: PathRow | None, expires_at: int) -> PathRow:
        row = replace(
            before or PathRow(store_id=claim.store_id, path=claim.path),
            claim_id=claim.claim_id,
            claim_position=str(claim.position),
            claim_expires_at=expires_at,
        )
        self._put(view.index, claim.key, before, row)
        for index in view.indexes[1:]:
            attributes = self._region.read(index, [claim.key]).get(claim.key)
            self._put(index, claim.key, None if attributes is None else PathRow.from_attributes(attributes), row)
        return row

    def _put(self, index: Index, key: RowKey, before: PathRow | None, row: PathRow) -> None:
        try:
            index.commit([Change(key, None if before is None else before.to_attributes(), row.to_attributes())])
        except port_errors.Contended as error:
            raise IntentConflict from error
        except port_errors.OutcomeUnknown as error:
            if self._region.read(index, [key]).get(key) != row.to_attributes():
                raise IntentConflict from error

    def neighbours(self, view: View, path: str, store_id: str, moving_id: str | None) -> list[PathRow]:
        """List live or reserved ancestors and descendants of `path`, but for the memory being moved.

        Two reads, one after the other: the second also tells that the tables had not been emptied before the first. Of
        descendants at most a few: one is enough to be in the way. The longest paths have none.

        Raises:
            Unavailable: the index does not answer, or was emptied, so that this cannot be decided.
        """
        region, index = self._region, view.index

        def above() -> list[PathRow]:
            keys = [PathRow.key(store_id, ancestor) for ancestor in ancestors(path)]
            rows = region.read_whole(view, keys, "paths")
            return [PathRow.from_attributes(rows[key]) for key in keys if key in rows]

        def below() -> list[PathRow]:
            found = index.query(Query("paths", store_id, prefix=f"{path}/", limit=3))
            return [_path_row(one) for one in found]

        found = [*(below() if len(path.encode()) < PATH_MAX_BYTES - 1 else []), *above()]
        rows = (replace(row, memory_id=None) if row.memory_id == moving_id else row for row in found)
        return [row for row in rows if row.memory_id is not None or row.claim_id is not None]

    def expired(self, row: PathRow) -> bool:
        """Tell whether an intent is older than a creator should need, or claims to last longer than any may.

        A creator whose clock is ahead writes an end that is far off. Expiring an intent too soon costs its creator one
        attempt, and nothing else: its slot is taken first.
        """
        if row.claim_expires_at is None:
            return False
        left_us = row.claim_expires_at - self._region.clock.now_us()
        return left_us < 0 or left_us > CLAIM_LIFETIME_US + CLOCKS_APART_US

    def withdraw(self, view: View, claim: Claim) -> None:
        """Withdraw the caller's own intent: only if nothing was put, or its slot was seen taken. It expires anyway."""
        self._remove(view, claim.key, lambda row: row.claim_id == claim.claim_id)

    def remove_broken(self, view: View, row: PathRow) -> None:
        """Remove an intent whose slot has been taken."""
        self._remove(view, PathRow.key(row.store_id, row.path), lambda now: now.claim_id == row.claim_id)

    def has(self, view: View, row: PathRow) -> bool:
        """Tell whether an intent is still at its path, in any generation of tables. A read a generation."""
        key = PathRow.key(row.store_id, row.path)
        found = (self._region.read(index, [key]).get(key) for index in view.indexes)
        return any(one is not None and one.get("claim_id") == row.claim_id for one in found)

    def _remove(self, view: View, key: RowKey, wanted: Callable[[PathRow], bool]) -> None:
        for index in view.indexes:
            try:
                attributes = index.read([key]).get(key)
                row = None if attributes is None else PathRow.from_attributes(attributes)
                if row is None or not wanted(row):
                    continue
                rest = replace(row, claim_id=None, claim_position=None, claim_expires_at=None)
                index.commit([Change(key, attributes, None if rest.memory_id is None else rest.to_attributes())])
            except port_errors.PORT_FAILURES:
                continue


def _path_row(found: Found) -> PathRow:
    return PathRow.from_attributes(found.attributes)
