"""What a store's record says of its epochs: which one is written now, and whether its first state is known."""

from __future__ import annotations

from memolith.core import ids
from memolith.core.limits import ACKNOWLEDGED_WITHIN_US
from memolith.core.log_position import Epoch, Slot
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.identity import StoreRow


def current_epoch(store: StoreRow) -> Epoch:
    """Return the epoch in which a store's logs are written now."""
    return parse_epoch(store.epochs[-1])


def has_snapshot(store: StoreRow) -> bool:
    """Tell whether the record names the present epoch's snapshot; it does not while a failover is under way."""
    return len(store.cuts or ()) == len(store.epochs) - 1


def is_same_term(one: StoreRow, other: StoreRow) -> bool:
    """Tell whether two records of a store are of one term, and begin it with the same snapshot."""
    return (one.epochs, one.cuts) == (other.epochs, other.cuts)


def term_of(store: StoreRow) -> str:
    """Return what tells the present term, and the snapshot that it begins with, from every other."""
    return " ".join((store.epochs[-1], *(store.cuts or ())[-1:]))


def homes_of(store: StoreRow) -> tuple[str, ...]:
    """Return the regions that have been the store's home, each once, the first one first."""
    return tuple(dict.fromkeys(parse_epoch(epoch).home for epoch in store.epochs))


def ended_us(store: StoreRow) -> int:
    """Return by when the earlier homes had acknowledged all that counts, by the id of the last cut; 0 in a first epoch.

    Microseconds since 1970. A lost home may go on, but what it acknowledges does not count.
    """
    if not store.cuts:
        return 0
    return ids.ulid_time_ms(store.cuts[-1].rpartition("_")[2]) * 1000 + ACKNOWLEDGED_WITHIN_US


def is_of_the_last_term(store: StoreRow, version_id: str) -> bool:
    """Tell whether an id was made after all that earlier homes acknowledged and that counts."""
    return ids.ulid_time_ms(version_id.rpartition("_")[2]) * 1000 > ended_us(store)


BEGINNINGS = 2
"""The first records of an epoch: the one that names it, and of a fail-over the one that names its cut."""


def begins_an_epoch(slot: Slot) -> bool:
    """Tell whether a record in this slot may be what makes rows of older epochs wrong."""
    return slot.epoch.number > 1 and slot.sequence <= BEGINNINGS
