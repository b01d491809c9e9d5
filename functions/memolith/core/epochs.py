"""What a store's record says of its epochs: which one is written now, and whether its first state is known."""

from __future__ import annotations

from memolith.core.log_position import Epoch, Slot
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.identity import StoreRow


def current_epoch(store: StoreRow) -> Epoch:
    """Return the epoch in which a store's logs are written now."""
    return parse_epoch(store.epochs[-1])


def has_snapshot(store: StoreRow) -> bool:
    """Tell whether the record names the present epoch's snapshot; it does not while a failover is under way."""
    return len(store.cuts or ()) == len(store.epochs) - 1


BEGINNINGS = 2
"""The first records of an epoch: the one that names it, and of a fail-over the one that names its cut."""


def begins_an_epoch(slot: Slot) -> bool:
    """Tell whether a record in this slot may be what makes rows of older epochs wrong."""
    return slot.epoch.number > 1 and slot.sequence <= BEGINNINGS
