"""The lease under which a call answers as a store's home.

    read the store's record -> decide, put, read the log -> the reply is in: still within the lease? -> answer

A call learns from the store's record that this region is the store's home; that holds for the region's `lease_us` after
it began to read the record, by ticks that are never set. A region that ends a home's term puts that into the store's
log of records, then waits until every lease has run out (`drain_s`), and only then looks at what the home has left
behind. So what is put under a lease is seen; nothing is put past one without reading the record again; and an answer
that is later than its lease stands only if the record, read again, is unchanged. The lease begins with each read and
ends with its call: between two invocations a process's ticks may stand still.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memolith.app.epochs.ownership import Ownership
from memolith.app.kernel.region import Region, View
from memolith.core.errors import Unavailable, once_done
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.identity import StoreRow
from memolith.core.store_records import to_row


class Fence:
    """Judges, of one region's calls, whether they may answer as a store's home."""

    def __init__(self, region: Region, records: Ownership) -> None:
        self._region = region
        self._records = records

    def is_current(self, view: View, store: StoreRow) -> bool:
        """Tell whether an answer given now, on the record that came with `view`, is the home's.

        No call within the lease. Past it, and while the tables are incomplete, whose row may be behind the log: a GET
        of what follows the record, and one index read, for the epoch that another region may have begun.

        Raises:
            Unavailable: this cannot be decided now.
        """
        if self._is_fresh(view):
            return True
        newer = self._records.newer(store)
        if newer is not None and not _same_term(store, to_row(newer)):
            return False
        attributes = self._region.view([StoreRow.key(store.store_id)]).rows.get(StoreRow.key(store.store_id))
        if attributes is None:
            return True
        row = StoreRow.from_attributes(attributes)
        return row.epochs == store.epochs and _same_term(store, row)

    def may_put(self, view: View, store: StoreRow) -> bool:
        """Tell whether a put may begin that counts only in the home's present term.

        An answer that is too late can be withheld, an object cannot: it would be shown until the next term's snapshot
        drops it. So a slow writer checks again before it puts. No call within the lease; past it as `is_current`.

        Raises:
            Unavailable: this cannot be decided now.
        """
        return self._region.is_recent(view, self._region.lease_us) or self.is_current(view, store)

    @contextmanager
    def term(self, view: View, store: StoreRow, doubt: str, hint: str = "read before trying again") -> Iterator[None]:
        """Have what is put inside be put in the home's present term, or else not acknowledged.

        A planned move copies nothing more once the term is over: the new home would not know what is put then. No call
        within the lease; past it, before and after, as `is_current`.

        Args:
            doubt: what may have been done, for the message of an OutcomeUnknown; `hint` what to do then.

        Raises:
            Unavailable: the store is being moved, or this cannot be decided now; nothing was put. OutcomeUnknown: the
            term may have ended meanwhile.
        """
        require_writing_home(self._region.name, store)
        if not self.may_put(view, store):
            raise Unavailable("the store's home changed while this was decided; try again")
        yield
        with once_done(f"{doubt}, but the store may have another home by now", hint):
            if not self.is_current(view, store):
                raise Unavailable("the store's home changed meanwhile")

    def _is_fresh(self, view: View) -> bool:
        return view.complete and self._region.is_recent(view, self._region.lease_us)


def stored_record(view: View, store: StoreRow) -> StoreRow:
    """Return the store's record as it was read with `view`; `store` where `view` has none. No call."""
    key = StoreRow.key(store.store_id)
    return StoreRow.from_attributes(view.rows[key]) if key in view.rows else store


def require_writing_home(here: str, store: StoreRow) -> None:
    """Raise Unavailable unless `here` is the store's home, and takes its writes, by this record. No call."""
    if store.state != StoreState.ACTIVE or store.home != here:
        raise Unavailable("the store's home is being moved; try again")


def _same_term(store: StoreRow, now: StoreRow) -> bool:
    """Tell whether the record as it is now changes no right to write, and asks for no other second region."""
    if now.second_region not in (None, store.second_region):
        return False
    active = now.state == StoreState.ACTIVE == store.state and now.is_deleted == store.is_deleted
    return active and now.home == store.home and now.archived_at == store.archived_at
