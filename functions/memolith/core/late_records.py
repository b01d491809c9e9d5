"""Late records: what a store's old home wrote of the store itself, and the new one had not when its epoch began.

A final deletion and an archiving absorb: they were acknowledged, cannot be undone, and hold whatever was written since.
A deletion that can be undone holds too, until the store is restored: for the whole delay from when it is taken up, as
what was written since would go with it. A late restoration undoes the deletion that it was made for, and no other. Any
other change is taken up where the same settings were not changed since, and is divergent otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memolith.core.log_position import Epoch, Slot
from memolith.core.objects.store_record import StoreRecord, StoreState

SETTINGS = (
    "name",
    "description",
    "metadata",
    "scan_policy",
    "scan_allow",
    "scan_secrets",
    "retention_days",
    "retention_versions",
    "transcript_days",
    "second_region",
    "approval",
    "pipelines",
)
"""What a store's own update changes."""


@dataclass(frozen=True, slots=True)
class LateRecord:
    """A late record, and the one that it was made from; None where that has not arrived."""

    slot: Slot
    record: StoreRecord
    before: StoreRecord | None

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that it changed, and to what."""
        if self.before is None:
            return {}
        pairs = {name: (getattr(self.record, name), getattr(self.before, name)) for name in SETTINGS}
        return {name: to for name, (to, was) in pairs.items() if to != was}

    @property
    def is_restoration(self) -> bool:
        """Whether it undoes the deletion that the record before it made."""
        return self.before is not None and self.before.erase_after is not None and not self.record.is_deleted

    @property
    def is_deletion(self) -> bool:
        """Whether it deletes the store so that it can be restored."""
        return self.before is not None and self.before.erase_after is None and self.record.erase_after is not None


def is_straggler(slot: Slot, chain: Sequence[Epoch], ends: Mapping[Epoch, int]) -> bool:
    """Tell whether a record is beyond what the accepted epochs were made from.

    `chain` are the accepted epochs, and `ends` says of the closed ones, as far as it is known, the sequence of the last
    record that a later one followed. A record for which that is not known yet does not count as late.
    """
    if slot.epoch == chain[-1]:
        return False
    if slot.epoch in ends:
        return slot.sequence > ends[slot.epoch]
    return slot.epoch not in chain and slot.epoch.rank < chain[-1].rank


def replay(now: StoreRecord, late: Sequence[LateRecord], now_us: int) -> StoreRecord | None:
    """Return the record that follows `now` and decides all of `late`, by their slots' order; None if `now` does."""
    after = now
    for one in late:
        name = str(one.slot)
        if name in after.adopted or name in after.apart:
            continue
        if one.record.state is StoreState.DELETED:
            ended = replace(now.ended(now_us), created_by=one.record.created_by)
            return replace(ended, adopted=(*after.adopted, name), apart=after.apart)
        if one.is_deletion or one.is_restoration:
            after = _redecided(after, one, now_us)
            continue
        if _contradicts(after, one, late):
            after = replace(after, apart=(*after.apart, name))
            continue
        taken = {key: to for key, to in one.changed.items() if getattr(after, key) != to}
        if one.record.archived_at is not None and after.archived_at is None:
            taken["archived_at"] = one.record.archived_at
        if taken:
            by = one.record.created_by
            after = replace(after, **taken, adopted=(*after.adopted, name), updated_at=now_us, created_by=by)
    return None if after == now else after


def _redecided(now: StoreRecord, one: LateRecord, now_us: int) -> StoreRecord:
    """Return `now` after a late deletion or restoration, which is named so that it is decided once.

    Otherwise the deletion would be taken up again after the store was restored here.
    """
    decided = now
    if one.is_deletion and now.deletion is None:
        decided = now.withdrawn_late(one.record, now_us)
    elif one.is_restoration and one.before is not None and now.deletion == one.before.deletion:
        decided = now.restored(now_us)
    if decided != now:
        decided = replace(decided, created_by=one.record.created_by)
    return replace(decided, adopted=(*now.adopted, str(one.slot)))


def _contradicts(now: StoreRecord, one: LateRecord, late: Sequence[LateRecord]) -> bool:
    """Tell whether the same settings were changed since, or the store was archived, which leaves `second_region`."""
    if one.before is None:
        return False
    changed = {name: to for name, to in one.changed.items() if getattr(now, name) != to}
    if any(getattr(now, name) != getattr(one.before, name) for name in changed):
        return True
    return (
        bool(changed.keys() - {"second_region"}) and now.archived_at is not None and not _archived_after(now, one, late)
    )


def _archived_after(now: StoreRecord, one: LateRecord, late: Sequence[LateRecord]) -> bool:
    """Tell whether the store is archived by a late record that came after this one in the same log."""
    return any(
        other.slot.epoch == one.slot.epoch and other.slot > one.slot and other.record.archived_at == now.archived_at
        for other in late
    )
