"""Store records: a log of their own, one object a version, with the same rules as every other log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from cairn.app.journal import Journal, commit_joined
from cairn.app.judging import Judging
from cairn.app.listings import keys_under
from cairn.app.region import Region, View, asked
from cairn.core import ids
from cairn.core.checkpoint import Named
from cairn.core.errors import Busy, OutcomeUnknown, Unavailable
from cairn.core.limits import WRITE_ATTEMPTS
from cairn.core.records import SCAN_POLICY_DEFAULT, StoreRecord, StoreState, parse_epoch
from cairn.core.rows import Attributes, RowKey, StoreRow
from cairn.core.slots import Slot, StoreKey, parse_key
from cairn.ports import errors as port_errors
from cairn.ports.index import Change, Index

MOVER = "service_account:mover"
"""Who puts the records by which a home changes."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A record and the slot it stands in."""

    slot: Slot
    record: StoreRecord


class Records:
    """Finds, puts and folds the records of stores."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._judging = Judging(region)

    def find(self, store_id: str) -> StoreRow | None:
        """A record that the index lacks, from this bucket or else from the birth region's. A LIST and a GET, or two.

        Nothing is folded: a reader may not, and the record's own event will.

        Raises:
            Unavailable: the birth region does not answer, so nobody here can tell.
        """
        birth = ids.birth_region(store_id, self._region.regions)
        if birth is None:
            return None
        placed = self.newest(store_id) or self.newest(store_id, birth)
        return None if placed is None else to_row(placed)

    def newest(self, store_id: str, region: str | None = None) -> Placed | None:
        """The record that stands, of all that a bucket has. A LIST for each region, and a GET if there is one.

        Raises:
            Unavailable: the bucket does not answer.
        """
        try:
            keys = self._keys(store_id, region)
            if not keys:
                return None
            best = max(keys, key=lambda key: key.slot.rank)
            body = self._region.objects.get(str(best), region).body
        except port_errors.PortError as error:
            raise Unavailable("the store's birth region does not answer; try again") from error
        return Placed(best.slot, StoreRecord.from_json(body))

    def keys(self, store_id: str) -> list[StoreKey]:
        """Every record of a store that this bucket has. A LIST for each region. Raises Unavailable."""
        return asked(lambda: self._keys(store_id, None))

    def _keys(self, store_id: str, region: str | None) -> list[StoreKey]:
        prefixes = [f"{home}/store/{store_id}/" for home in self._region.regions]
        listed = [key for prefix in prefixes for key in keys_under(self._region.objects, prefix, region=region)]
        return [key for key in map(parse_key, listed) if isinstance(key, StoreKey)]

    def at(self, store_id: str, slot: Slot) -> StoreRecord | None:
        """The record in a slot, as this bucket has it; None while it is free here. One GET. Raises Unavailable."""
        try:
            return StoreRecord.from_json(self._region.objects.get(str(StoreKey(store_id, slot))).body)
        except port_errors.ObjectNotFound:
            return None
        except port_errors.PortError as error:
            raise Unavailable("the bucket does not answer; try again") from error

    def deletion(self, store_id: str) -> StoreRecord | None:
        """The record that ends a store, if this bucket has one, in whichever region and epoch it was written.

        A LIST for each region, and a GET for each epoch. Raises Unavailable.
        """
        try:
            for region in self._region.regions:
                prefix = f"{region}/store/{store_id}/"
                last = {key.rpartition(".")[0]: key for key in keys_under(self._region.objects, prefix)}
                for key in last.values():
                    record = StoreRecord.from_json(self._region.objects.get(key).body)
                    if record.state is StoreState.DELETED:
                        return record
        except port_errors.PortError as error:
            raise Unavailable("the bucket does not answer; try again") from error
        return None

    def put(self, placed: Placed, exact: bool = False) -> bool:
        """Takes the record's slot; False when it is taken by another record.

        `exact`: also by one of the same version_id that another copy of the call has put, at another instant.

        Raises:
            Unavailable, Busy: nothing was done. OutcomeUnknown: it may have been.
        """
        key = str(StoreKey(placed.record.store_id, placed.slot))
        in_doubt = False
        for attempt in range(WRITE_ATTEMPTS):
            try:
                self._region.objects.put_if_absent(key, placed.record.to_json(), {})
                return True
            except port_errors.Contended:
                self._region.back_off(attempt)
                continue
            except port_errors.Unavailable as error:
                if in_doubt:
                    raise OutcomeUnknown("the record may have been written; read before trying again") from error
                raise Unavailable("the bucket refuses writes now; try again") from error
            except port_errors.OutcomeUnknown:
                in_doubt = True
            except port_errors.ObjectExists:
                pass
            try:
                body = self._region.objects.get(key).body
                if exact:
                    return body == placed.record.to_json()
                return StoreRecord.from_json(body).version_id == placed.record.version_id
            except port_errors.ObjectNotFound:
                continue
            except port_errors.PortError as error:
                raise OutcomeUnknown("the record may have been written; read before trying again") from error
        if in_doubt:
            raise OutcomeUnknown("the record may have been written; read before trying again")
        raise Busy("others kept writing here; try again")

    def change(
        self, view: View, row: StoreRow, change: Callable[[StoreRow], StoreRecord | None], own: str | None = None
    ) -> StoreRow:
        """Puts the record that `change` makes of the newest one; None from it means that nothing is to change.

        A no-op, like a refusal that `change` raises, is decided on a record whose next slot was found free. `own` is
        the version_id of a change that another copy of the call may have put meanwhile: `change` is shown that one.
        """
        for attempt in range(WRITE_ATTEMPTS):
            newer = self.newer(row, own=own)
            if newer is not None:
                self.fold(view, newer)
                row = to_row(newer)
            record = change(row)
            if record is None:
                return row
            placed = Placed(Slot.parse(row.slot).following, record)
            if self.put(placed, exact=True):
                self.fold_own(view, placed)
                return to_row(placed)
            self._region.back_off(attempt)
        raise Busy("others kept writing here; try again")

    def newer(self, row: StoreRow, region: str | None = None, own: str | None = None) -> Placed | None:
        """What the record's log holds after `row`, in `region`'s bucket (default: this one). One GET if nothing.

        The last record; or the one whose version_id is `own`, if it is there.

        Raises:
            Unavailable: the bucket does not answer.
        """
        slot, found = Slot.parse(row.slot).following, None
        while True:
            try:
                body = self._region.objects.get(str(StoreKey(row.store_id, slot)), region).body
            except port_errors.ObjectNotFound:
                return found
            except port_errors.PortError as error:
                raise Unavailable("the bucket does not answer; try again") from error
            found, slot = Placed(slot, StoreRecord.from_json(body)), slot.following
            if own is not None and found.record.version_id == own:
                return found

    def at_home(self, view: View, row: StoreRow) -> StoreRow:
        """The record under which this region is the store's home, if it is; `row` where nothing says so.

        The old home's last record is enough: the first of the new home follows from it, and anybody there may put it.
        No call where `row` is the home's own; a GET from the home that it names where it is another's.

        Raises:
            Unavailable, OutcomeUnknown: the first record could not be put, or not be folded.
        """
        if row.home != self._region.name:
            try:
                moved = self.newer(row, row.home)
            except Unavailable:
                return row
            if moved is None or moved.record.home != self._region.name:
                return row
            row = self.fold(view, moved)
        if row.home == self._region.name and row.state == StoreState.MOVED:
            return self.take_up(view, row)
        return row

    def take_up(self, view: View, row: StoreRow) -> StoreRow:
        """Puts and folds the first record of this region's term, which `row`, the old home's last, names. Repeatable.

        What the term began with is in the tables then. Raises as `at_home`.
        """
        self._judging.take_up(view, row)
        epoch = parse_epoch(row.epochs[-1])
        record = replace(to_record(row, MOVER).begun(), follows=row.slot)
        placed = Placed(Slot(epoch, 1), record)
        if not self.put(placed):
            raise Unavailable("the store's new home has another record; try again")
        self.fold_own(view, placed)
        return to_row(placed)

    def fold_own(self, view: View, placed: Placed) -> None:
        """Folds what this call put: an index that fails now leaves it unacknowledged."""
        try:
            self.fold(view, placed, own=True)
        except Unavailable as error:
            raise OutcomeUnknown("the record was written, but is not indexed yet; read before trying again") from error

    def fold(self, view: View, placed: Placed, journal: bool = True, own: bool = False) -> StoreRow:
        """Joins one version of a record, by id and into its workspace's listing; gives the row of the highest slot.

        A record of this home is journaled where it was new to the index, or the caller is about to acknowledge it.
        """
        standing = to_row(placed)
        for index in view.indexes:
            serving = index.generation == view.index.generation
            here = journal and serving and placed.slot.epoch.home == self._region.name
            row = self._fold_into(index, placed, Journal(self._region, view.period) if here else None, own)
            standing = row if serving else standing
        return standing

    def _fold_into(self, index: Index, placed: Placed, journal: Journal | None, own: bool) -> StoreRow:
        standing = after = to_row(placed)
        key = StoreRow.key(after.store_id)
        listing = StoreRow.listing_key(after.workspace_id, after.created_at, after.store_id)

        def work_out() -> list[Change]:
            nonlocal standing
            rows = self._region.read(index, [key, listing])
            held = _holds(rows, key, listing, after)
            standing = StoreRow.from_attributes(rows[key]) if held else after
            return [] if held else self._changes(key, listing, rows, after)

        name = Named(str(StoreKey(after.store_id, placed.slot)))
        contended = "the store's row stayed contended; read before trying again"
        commit_joined(self._region, index, work_out, journal, [name], own=own, contended=contended)
        return standing

    def _changes(
        self, key: RowKey, listing: RowKey, rows: Mapping[RowKey, Attributes], after: StoreRow
    ) -> list[Change]:
        attributes = after.to_attributes()
        return [Change(key, rows.get(key), attributes), Change(listing, rows.get(listing), attributes)]


def _holds(rows: Mapping[RowKey, Attributes], key: RowKey, listing: RowKey, after: StoreRow) -> bool:
    """Whether the index has this record, or a later one, already."""
    if key not in rows:
        return False
    standing, comes = Slot.parse(StoreRow.from_attributes(rows[key]).slot).rank, Slot.parse(after.slot).rank
    return standing > comes or (standing == comes and listing in rows)


def to_row(placed: Placed) -> StoreRow:
    """The row of a record. A deleted store keeps its place, so that nothing older comes back, and no text."""
    fields = asdict(placed.record)
    del fields["created_by"]
    if placed.record.state is StoreState.DELETED:
        fields |= {"name": "", "description": "", "metadata": {}, "salt": "", "scan_policy": "", "scan_allow": ()}
    return StoreRow(
        **{
            **fields,
            "slot": str(placed.slot),
            "epochs": list(placed.record.epochs),
            "cuts": list(placed.record.cuts) or None,
            "adopted": list(placed.record.adopted) or None,
            "apart": list(placed.record.apart) or None,
            "state": placed.record.state.value,
            "metadata": dict(fields["metadata"]),
            "scan_policy": None if fields["scan_policy"] in ("", SCAN_POLICY_DEFAULT) else fields["scan_policy"],
            "scan_allow": list(fields["scan_allow"]) or None,
        }
    )


def to_record(row: StoreRow, created_by: str) -> StoreRecord:
    """The record that a row came from, to be changed into the next one."""
    fields = {name: value for name, value in asdict(row).items() if name != "slot"}
    return StoreRecord(
        **{
            **fields,
            "epochs": tuple(row.epochs),
            "cuts": tuple(row.cuts or ()),
            "adopted": tuple(row.adopted or ()),
            "apart": tuple(row.apart or ()),
            "state": StoreState(row.state),
            "created_by": created_by,
            "scan_policy": row.scan_policy or SCAN_POLICY_DEFAULT,
            "scan_allow": tuple(row.scan_allow or ()),
        }
    )
