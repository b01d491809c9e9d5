"""Resolutions of conflicts: each put once at the store's home, projected in every region."""

from __future__ import annotations

from functools import partial

from memolith.app.index.ack_journal import commit_joined_everywhere
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core.epochs import homes_of
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.object_keys import ResolutionKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.resolution_record import ResolutionRecord
from memolith.core.objects.store_record import parse_epoch
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.resolutions import ResolutionRow, join
from memolith.ports.index import Change, Index

FOLD_ATTEMPTS = 20


class ResolutionLog:
    """Puts and projects the records of resolutions."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def put(self, record: ResolutionRecord) -> ResolutionRecord:
        """Put a record at this region, the store's home; return the one that holds, which may have been there first.

        One PUT; a GET where the key is taken.

        Raises:
            Busy, Unavailable: nothing was done. OutcomeUnknown: it may have been; put it again.
        """

        def is_mine() -> bool | None:
            found = self._read(record.key)
            return None if found is None else found == record

        if put_if_absent(self._region, str(record.key), record.to_json(), {}, is_mine=is_mine) is Put.MINE:
            return record
        found = self._read(record.key)
        if found is None:
            raise OutcomeUnknown(
                "the resolution was put, but cannot be read now",
                region=self._region.name,
                object=str(record.key),
                hint="repeat the call",
            )
        return found

    def _read(self, key: ResolutionKey) -> ResolutionRecord | None:
        found = find(self._region.objects, str(key))
        return None if found is None else ResolutionRecord.from_json(found.body)

    def of_earlier_homes(self, store: StoreRow, conflict_id: str) -> ResolutionRecord | None:
        """Return the last decision that the store's earlier homes made, as this bucket has it. A GET for each of them.

        A planned move has brought all of them, but not indexed those that had been replicated before. Raises
        Unavailable.
        """
        homes = homes_of(store)
        keys = [ResolutionKey(home, store.store_id, conflict_id) for home in homes if home != self._region.name]
        records = [record for key in keys if (record := self._read(key)) is not None]
        return max(records, key=lambda record: parse_epoch(record.epoch).rank, default=None)

    def fold_own(self, view: View, record: ResolutionRecord) -> None:
        """Project a record that this region has put and is about to acknowledge. Raises OutcomeUnknown."""
        try:
            self.fold(view, record, Named(str(record.key)), own=True)
        except Unavailable as error:
            raise OutcomeUnknown(
                f"{record.conflict_id} is resolved, but the index of {self._region.name} does not say so yet;"
                " repeat the call"
            ) from error

    def fold(self, view: View, record: ResolutionRecord, name: Named | None = None, own: bool = False) -> None:
        """Join one record into every generation of tables. Repeatable, in any order.

        An index read and a transaction, where the record is new here. `name` is its object, if this home put it: it is
        logged as acknowledged where the row changes, and in any case if it is the caller's `own`.

        Raises:
            Unavailable, OutcomeUnknown: the index could not be brought so far; the record itself stands.
        """
        commit_joined_everywhere(
            self._region,
            view,
            partial(self._changes, record=record),
            name,
            own=own,
            contended="the resolution's row stayed contended; repeat the call",
            attempts=FOLD_ATTEMPTS,
        )

    def _changes(self, index: Index, record: ResolutionRecord) -> list[Change]:
        key = ResolutionRow.key(record.store_id, record.conflict_id)
        attributes = self._region.read(index, [key]).get(key)
        before = None if attributes is None else ResolutionRow.from_attributes(attributes)
        after = join(before, record)
        return [] if after == before else [Change(key, attributes, after.to_attributes())]
