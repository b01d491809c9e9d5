"""Defects planted on purpose, to show that each checker fires: a checker that has never failed has shown nothing.

Each is a context manager that puts a subclass, or a function, in the place of the product's own while a world runs.
Nothing of this is in the product.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from memolith.adapters.layered import FaultRates
from memolith.adapters.memory import MemoryBuckets, MemoryObjects
from memolith.app.api import linearizable_reads, memories, snapshots
from memolith.app.api import service as facade
from memolith.app.auth import authorizer as access
from memolith.app.commit import adoption, log_steps, rename, reservation, sync_replica, writer
from memolith.app.commit.attempt import Attempt, Outcome, Step
from memolith.app.epochs import fence
from memolith.app.erasure import eraser, store_purge
from memolith.app.erasure import retention as retaining
from memolith.app.erasure import service as erasure_service
from memolith.app.homes import failover as app_failing_over
from memolith.app.homes import handoff, snapshot_builder
from memolith.app.homes import transfer as app_moving
from memolith.app.index import ack_journal as journal
from memolith.app.index import path_claims, projector
from memolith.app.indexer import indexer
from memolith.app.kernel.region import View
from memolith.app.kernel.results import RequestContext
from memolith.app.log import conditional_put, epoch_snapshot, log_reader
from memolith.app.log.conditional_put import Put
from memolith.app.replication import checkpoints, reconciler
from memolith.app.replication import watermark as watermarks
from memolith.app.safety import text_access
from memolith.core import decide, fold, retention
from memolith.core import verdicts as core_verdicts
from memolith.core import watermark as core_watermark
from memolith.core.commands import AdoptVersion
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import VerdictKey, parse_key
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import LogRow, MemoryRow, PathRow, VersionRow
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.journal import JournalStateRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.settled import ResolvedEntry
from memolith.core.verdicts import Mark, join_verdict, withholdings
from memolith.ports import errors as port_errors
from memolith.ports.index import Change
from memolith.ports.objects import StoredObject
from tests.simulation import sites
from tests.simulation.options import (
    PATHS,
    Links,
    Options,
    Weights,
    crowded,
    doubled,
    drawn,
    dying,
    eroding,
    failing_over,
    frozen,
    judging,
    overtaken,
    remembering,
    saved,
    tearing,
    unheard,
)
from tests.simulation.options import retaining as keeping_little
from tests.simulation.ports import SkewedClock
from tests.simulation.shrinking import case_of, run

Planted = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Bug:
    """One planted defect: what it does, how it is planted, and which checkers are to catch it."""

    name: str
    plant: Planted
    caught_by: tuple[str, ...]
    options: Callable[[int], Options] = drawn


@contextmanager
def _in_place_of(*replacements: tuple[object, str, object]) -> Iterator[None]:
    patches = [mock.patch.object(owner, name, new) for owner, name, new in replacements]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.stop()


# ---- the put ------------------------------------------------------------------------------------------------------


class BadObjects(MemoryObjects):
    """Objects that know where they are kept."""

    def __init__(self, buckets: MemoryBuckets, region: str) -> None:
        super().__init__(buckets, region)
        self._here = (buckets, region)


class UnconditionalObjects(BadObjects):
    """A put that takes no notice of what is there."""

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> None:
        buckets, here = self._here
        buckets.put(region or here, StoredObject(key, body, dict(metadata), len(body)), only_if_absent=False)


class NeverThere(sync_replica.SyncReplica):
    """Leaves the second region to replication."""

    def take(self, slots: conditional_put.ConditionalPut, store: StoreRow, entry: Entry, body: bytes) -> Put:
        return slots.take(entry, body)


class AsIfAllBelow(sync_replica.SyncReplica):
    """Puts its own entry there, whatever it builds on."""

    def _secure_below(self, store: StoreRow, second: str, key: LogKey) -> None:
        return


class NeverMine(conditional_put.ConditionalPut):
    """A slot that is taken is taken by somebody else, whatever stands in it."""

    def take(self, entry: Entry, body: bytes) -> Put:
        try:
            self._region.objects.put_if_absent(str(entry.key), body, entry.to_metadata(), entry.content_sha256)
        except port_errors.ObjectExists:
            return Put.TAKEN
        except port_errors.OutcomeUnknown:
            return Put.TAKEN if self._logs.entry(entry.key) else self.take(entry, body)
        except port_errors.PortError as error:
            raise OutcomeUnknown("undecided") from error
        return Put.MINE


class EagerSlots(conditional_put.ConditionalPut):
    """Answers, and puts afterwards."""

    def take(self, entry: Entry, body: bytes) -> Put:
        clock = self._region.clock
        assert isinstance(clock, SkewedClock)
        clock.scheduler.spawn("put after the answer", lambda: super(EagerSlots, self).take(entry, body), 0.05)
        return Put.MINE


# ---- the writer ---------------------------------------------------------------------------------------------------


class TrustingSteps(log_steps.LogSteps):
    """After a 412 the writer believes the index, and puts behind what it finds taken without looking at it."""

    def catch_up(self, attempt: Any, hash: str, slot: Slot, paths_too: bool = False) -> int:
        return 0

    def slot_after(self, attempt: Any, head: MemoryRow) -> Slot | None:
        slot = super().slot_after(attempt, head)
        while slot is not None and self.logs.entry(LogKey(head.store_id, head.path_hash, slot)) is not None:
            slot = slot.following
        return slot


class AmnesiacSteps(log_steps.LogSteps):
    """The writer does not fold its own void entries."""

    def project_own(self, attempt: Any, settled: Any, known: Any) -> None:
        if not any(one.void for one in settled):
            super().project_own(attempt, settled, known)


class UnhelpfulLogs(log_reader.LogReader):
    """Leaves a rename half done for whoever comes next, who leaves it too; and takes its first half for the whole."""

    def settle(
        self, entry: Entry, help_with: Any = None, region: str | None = None, store: StoreRow | None = None
    ) -> tuple[ResolvedEntry, ...]:
        settled = super().settle(entry, None, region, store)
        if not settled and entry.operation is Operation.MOVED_IN and help_with is not None:
            return (ResolvedEntry(entry, void=True),)
        return settled


def _one_id(version_id: str, attempt: int) -> str:
    return version_id


def _same_id(self: Entry, other: Entry) -> bool:
    return self.version_id == other.version_id


class NoClaims(path_claims.Claims):
    """Looks, but tells nobody that it is there."""

    def make(self, view: Any, claim: path_claims.Claim, before: PathRow | None) -> PathRow:
        return before or PathRow(store_id=claim.store_id, path=claim.path)


# ---- the fold -----------------------------------------------------------------------------------------------------

_join_memory = fold.join_memory


def _without_tombstones(before: MemoryRow | None, entry: Entry) -> MemoryRow:
    """A deletion leaves nothing behind that would keep an older version from coming back."""
    row = _join_memory(before, entry)
    return replace(row, generation=0) if row.gone else row


def _by_arrival(before: MemoryRow | None, entry: Entry) -> MemoryRow:
    return _join_memory(None, entry)


class JoinedPaths(projector.Projector):
    """Rows of the listing are put and removed as entries come, as if they were facts of their own."""

    def _join_occupancy(self, rows: Any, occupancy: Sequence[ResolvedEntry], paths: dict[str, str]) -> Any:
        read_also = super()._join_occupancy(rows, occupancy, paths)
        for one in occupancy:
            store_id, path = one.entry.key.store_id, one.entry.path
            if not one.is_version or path is None:
                continue
            memory = rows.memory(MemoryRow.key(store_id, one.entry.memory_id))
            if memory is None or memory.generation != one.entry.generation:
                continue
            for old, _ in paths.items():
                key = PathRow.key(store_id, old)
                row = rows.path(key)
                if row is not None and row.memory_id == one.entry.memory_id:
                    rows.after[key] = None
            if not memory.gone:
                rows.after[PathRow.key(store_id, path)] = PathRow(
                    store_id=store_id, path=path, memory_id=one.entry.memory_id
                )
        return read_also


def _stale_path_row(
    before: PathRow | None, store_id: str, path: str, log: LogRow | None, occupant: MemoryRow | None
) -> PathRow | None:
    return before


# ---- erasing ------------------------------------------------------------------------------------------------------


class ForgetfulEraser(eraser.Eraser):
    """Erases everywhere but in one region."""

    def erase(self, key: str) -> bool:
        return True if self._region.name == "eu-west-1" else super().erase(key)


class ForgetfulStoreErasing(store_purge.StorePurge):
    """Erases deleted stores everywhere but in one region."""

    def begin(self, store_id: str, again: bool = False) -> bool:
        return False if self._region.name == "eu-west-1" else super().begin(store_id, again)


class EarlyIndexing(indexer.Indexer):
    """What comes after the end of its store is kept."""

    def _is_deleted(self, view: Any, store_id: str) -> bool:
        return False

    def _erase_all(self, view: Any, settled: Sequence[ResolvedEntry]) -> None:
        super()._erase_all(view, [one for one in settled if one.void])


class VoidKeepingIndexing(indexer.Indexer):
    """What a rename that never came to be has left behind stays."""

    def _erase_all(self, view: Any, settled: Sequence[ResolvedEntry]) -> None:
        super()._erase_all(view, [one for one in settled if not one.void])


class ReusedSlots(BadObjects):
    """A slot is free again once its entry is blank: nothing of any worth stands there."""

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> None:
        buckets, here = self._here
        name, found = parse_key(key), buckets.current(region or here, key)
        if found is not None and isinstance(name, LogKey) and Entry.from_metadata(name, found.metadata).blank:
            buckets.put(region or here, StoredObject(key, body, dict(metadata), len(body)), only_if_absent=False)
        else:
            super().put_if_absent(key, body, metadata, content_sha256, region)


def _without_blank_tombstones(before: MemoryRow | None, entry: Entry) -> MemoryRow:
    """A deletion whose text is erased says nothing any more, so that what came before it is the memory."""
    row = _join_memory(before, entry)
    if not (row.gone and entry.blank and entry.operation is Operation.DELETED):
        return row
    return before if before is not None and not before.gone else replace(row, generation=0)


_outlived = retention.Retention.outlived


def _head_too(self: retention.Retention, version: VersionRow, head: MemoryRow) -> bool:
    return (version.generation or 0) > 0


def _created_long_ago(version: VersionRow, head: MemoryRow) -> int | None:
    return version.created_at


def _all_but_the_head(self: retention.Retention, version: VersionRow, head: MemoryRow) -> bool:
    return _outlived(replace(self, versions=1), version, head)


class OldRedactionsOnly(retaining.RetentionPass):
    """What comes after it was blanked is erased only if somebody ordered it."""

    def is_over(self, entry: Entry) -> bool:
        return False


# ---- reading the past ---------------------------------------------------------------------------------------------


class HastyPast(snapshots.Snapshots):
    """A snapshot is given as soon as the instant is over."""

    def _require(self, access: access.StoreAccess, as_of: int) -> None:
        access.view.require_complete()


# ---- completeness -------------------------------------------------------------------------------------------------


class HolesAllowed(watermarks.Watermark):
    """What a checkpoint names and this region lacks will come sooner or later."""

    def _fold_names(self, view: View, names: tuple[Named, ...], home: str, late: bool) -> bool:
        super()._fold_names(view, names, home, late)
        return True


class JournalLater(journal.AckJournal):
    """The caller is answered first, and what it was told is journaled when there is time."""

    def changes(self, names: Sequence[Named]) -> list[Change]:
        clock, index = self._region.clock, self._region.index
        assert isinstance(clock, SkewedClock)
        later = [change for change in super().changes(names) if change.unconditional]
        if later:
            clock.scheduler.spawn("late journal", lambda: index.commit(later), 5.0)
        return []


class PeriodUnchecked(journal.AckJournal):
    """A row may be put in any period."""

    def changes(self, names: Sequence[Named]) -> list[Change]:
        return [change for change in super().changes(names) if change.unconditional]


class WholeWithoutLooking(checkpoints.Checkpoints):
    """A journal is taken for whole, whatever became of its table."""

    def _close(self, state: JournalStateRow) -> bool:
        super()._close(state)
        return True

    def _begin(self) -> JournalStateRow:
        state = super()._begin()
        whole = replace(state, listed=False)
        self._set(state, whole)
        return whole


def abandoned(seed: int) -> Options:
    """Stores that ask for two regions, whose writers often die between two calls, and whose copies travel for long."""
    del seed
    return Options(
        clients=4,
        operations=30,
        paths=("/a", "/d"),
        weights=Weights(create=2, write=12, rename=2, delete=0, read=2, list=0, redact=0, history=0),
        rates=FaultRates(crash_before=0.02, crash_after=0.02),
        links=Links(delay_s=20.0, slow=0.5, slow_s=60.0),
        think_s=0.5,
        two_regions=True,
    )


def hurried(seed: int) -> Options:
    """A world whose writers stand still for longer than a period lasts, and whose copies come late or not at all."""
    return replace(
        drawn(seed), tick_s=0.5, stall=0.02, stall_s=8.0, torn=0.5, links=Links(delay_s=3.0, slow=0.3, dropped=0.2)
    )


def losing_journals(seed: int) -> Options:
    """A world whose journals vanish."""
    return replace(hurried(seed), journals_lost=3)


# ---- verdicts -----------------------------------------------------------------------------------------------------


def _released_for_good(before: VerdictRow | None, record: VerdictRecord) -> VerdictRow | None:
    """A release lifts whatever is known, and forgets it."""
    row = join_verdict(before, record)
    if row is not None and record.outcome is VerdictOutcome.RELEASE:
        return replace(row, withheld=None, released=None)
    return row


def _nothing_withheld(row: VerdictRow | None) -> None:
    """A read that does not ask."""


def _one_released(row: VerdictRow | None) -> tuple[Mark, ...]:
    """Whoever is released once stays so."""
    return () if row is not None and row.released else withholdings(row)


class NoVerdicts(indexer.Indexer):
    """Verdicts that arrive are passed over."""

    def _fold_verdict(self, view: View, key: VerdictKey, verdict: VerdictRecord, journal: bool) -> None:
        return None


class TrustingConfirming(linearizable_reads.LinearizableReads):
    """The home's answer is what its index says, and its log is not looked at."""

    def memory(
        self, store: StoreRow, row: MemoryRow | None, memory_id: str, known: str | None = None
    ) -> MemoryRow | None:
        return row


class SecretiveConfirming(linearizable_reads.LinearizableReads):
    """The home's answer is what its log says, and its index never hears of it."""

    def memory(
        self, store: StoreRow, row: MemoryRow | None, memory_id: str, known: str | None = None
    ) -> MemoryRow | None:
        slot = None if row is None or row.gone else Slot.parse(row.slot).following
        while row is not None and slot is not None:
            entry = self._logs.entry(LogKey(store.store_id, row.path_hash, slot))
            if entry is None or entry.memory_id != memory_id or entry.operation is Operation.MOVED_OUT:
                break
            row, slot = fold.join_memory(row, entry), slot.following
        return row


class ImpatientDoor(access.Authorizer):
    """A version that was demanded is waited for, and then done without."""

    def _await(self, call: RequestContext, store: StoreRow, view: View, key: RowKey) -> None:
        with contextlib.suppress(access.AskHome):
            super()._await(call, store, view, key)


# ---- homes that move ----------------------------------------------------------------------------------------------


def _for_ever(self: fence.Fence, view: View, store: StoreRow) -> bool:
    """A lease that does not run out."""
    return True


def _never_late(self: epoch_snapshot.EpochSnapshots, store: StoreRow, path_hash: str, slot: Slot) -> bool:
    """Whatever came counts."""
    return False


class SurveyedByIndex(snapshot_builder.EpochSnapshotBuilder):
    """A new epoch begins with what the index knows, not with what the bucket lists."""

    def _keys(self, store: StoreRow) -> Iterator[LogKey]:
        listed = list(super()._keys(store))
        entries = {key: self._logs.entry(key) for key in listed}
        rows = {key: VersionRow.key(key.store_id, entry.version_id) for key, entry in entries.items() if entry}
        found = self._region.view(list(rows.values())).rows
        return iter([key for key in listed if key in rows and rows[key] in found])


class AdoptingAgain(adoption.Adoption):
    """A late version is taken up each time it is met, whatever it would follow."""

    def _take_up(self, store: StoreRow, entry: Entry) -> bool:
        view = self._region.view([StoreRow.key(store.store_id), MemoryRow.key(store.store_id, entry.memory_id)])
        attempt = Attempt(view, store, Outcome(), entry.flags)
        head = self._writer._steps.head(attempt, entry.memory_id)
        if head is None or head.gone or entry.operation is not Operation.MODIFIED:
            return super()._take_up(store, entry)
        command = AdoptVersion(entry, self._text(entry))
        commit = decide.Commit(entry.operation, head.path or "", command.content)
        return self._writer._append(attempt, command, head, commit) is Step.DECIDED


def wavering(seed: int) -> Options:
    """Homes that move, and whose writers and readers stand still for longer than a lease; much is asked and refused."""
    weights = Weights(create=2, write=8, rename=4, delete=2, read=12, list=0, redact=0, history=0)
    return replace(frozen(seed), weights=weights, paths=("/a", "/d"))


def listing_much(seed: int) -> Options:
    """Renames among a few paths, and pages in the middle of which they happen."""
    weights = Weights(create=6, write=2, rename=12, delete=1, read=1, list=12, redact=0, history=0)
    return replace(crowded(seed), weights=weights, torn=0.6, page=20)


def stalling(seed: int) -> Options:
    """Creators of a path and of what is above it, who stand still for longer than a claim lasts."""
    weights = Weights(create=14, write=1, rename=2, delete=4, read=2, list=0, redact=0, history=0)
    chance = random.Random(f"stalling {seed}")
    stall, late = chance.choice([0.03, 0.08]), chance.choice([0.0, 0.05])
    return Options(clients=5, operations=30, paths=PATHS[:3], weights=weights, stall=stall, late=late)


def refusing(seed: int) -> Options:
    """Renames above all, whose puts are refused, or lose their replies."""
    del seed
    weights = Weights(create=6, write=6, rename=12, delete=2, read=2, list=2, redact=0, history=0)
    rates = FaultRates(refused=0.08, lost_reply=0.08)
    paths = ("/a", "/d", "/e")
    return Options(clients=4, operations=26, paths=paths, weights=weights, rates=rates, late=0.05, stall_s=4.0)


def rebuilding_often(seed: int) -> Options:
    """The world of a seed, which is written without pause while its indexes are rebuilt."""
    options = drawn(seed)
    return replace(options, rebuilds=3, wipes=0, think_s=8.0, operations=30, moves=0, failovers=0, stall=0.02)


def vanishing(seed: int) -> Options:
    """The world of a seed that reads without pause while its tables vanish and copies come twice, in any order."""
    return replace(
        drawn(seed),
        regions=("us-east-1", "eu-west-1"),
        clients=5,
        operations=40,
        stores=1,
        paths=PATHS[:2],
        weights=Weights(create=2, write=10, rename=1, delete=0, read=14, list=0, redact=0, history=0),
        links=Links(delay_s=3.0, slow=0.4, duplicated=0.6),
        wipes=2,
        rebuilds=0,
        think_s=0.5,
        tick_s=30.0,
        day_s=0.0,
        moves=0,
        failovers=0,
    )


def awakening(seed: int) -> Options:
    """A world whose reconcilers are woken all the time, and read in the middle of what others write."""
    regions = ("us-east-1", "eu-west-1", "ap-south-1")
    return Options(regions=regions, clients=3, operations=6, torn=1.0, tick_s=0.02, stall=0.1, stall_s=1.0)


def three_hurried(seed: int) -> Options:
    """A hurried world of three regions with homes in two of them."""
    return replace(hurried(seed), regions=("us-east-1", "eu-west-1", "ap-south-1"), stores=2)


# ---- what no draw of the ordinary worlds gives away ---------------------------------------------------------------


class ClaimBreaker(reservation.Reservation):
    """An expired claim is taken away, and the slot that it names is left to whoever claimed it."""

    def _break(self, attempt: Any, claimed: PathRow) -> None:
        self._claims.remove_broken(attempt.view, claimed)


class UndoneHalves(rename.Rename):
    """A rename whose second put is refused is told as what that put was: nothing was done."""

    def _depart(self, attempt: Any, departure: Entry) -> Put:
        return self._steps.put(attempt, departure)


class UndoubtingSlots(conditional_put.ConditionalPut):
    """A put that is refused after one in doubt has done nothing."""

    def take(self, entry: Entry, body: bytes) -> Put:
        try:
            return super().take(entry, body)
        except OutcomeUnknown as error:
            raise Unavailable("the bucket refuses writes now; try again") from error


class Overtaking(indexer.Indexer):
    """An erasure does not look for what followed."""

    def _overtaken(self, view: View, key: LogKey, memory_id: str, generation: int) -> None:
        return


class ListedByPath(memories.Memories):
    """A listing trusts its own rows, and does not ask the memory's where it is."""

    def _lines(self, view: View, prefix: str, depth: int, paths: list[PathRow]) -> Any:
        keys = {row.path: MemoryRow.key(row.store_id, row.memory_id) for row in paths if row.memory_id is not None}
        rows = self._region.read(view.index, list(keys.values())) if keys else {}
        for path, key in keys.items():
            row = MemoryRow.from_attributes(rows[key]) if key in rows else None
            if row is not None and fold.is_live(row):
                yield memories._Listed(replace(memories.to_memory(row), path=path), path, row)


class IndexedRefusals(log_steps.LogSteps):
    """What is refused, and what changes nothing, is decided by the index, whatever the log holds beyond."""

    def has_more(self, attempt: Any, head: MemoryRow) -> bool:
        return False


def _emptied_at_once(self: watermarks.Watermark, tables: Any, row: Any) -> None:
    """Marks that were not in the batch are gone, whenever their row was read."""
    incomplete = replace(ControlRow.from_attributes(tables.control), complete=False).to_attributes()
    self._commit([Change(ControlRow.KEY, tables.control, incomplete)])


def _greatest(watermarks: Mapping[str, int], homes: Iterable[str]) -> int | None:
    return max((watermarks[home] for home in homes if home in watermarks), default=None)


def _by_generation(after: Entry, entry: Entry) -> bool:
    """The next generation in the next slot was built on this."""
    return (after.memory_id, after.generation) == (entry.memory_id, entry.generation + 1)


BUGS: tuple[Bug, ...] = (
    Bug(
        "reads do not ask for verdicts",
        lambda: _in_place_of((text_access, "withheld_by", _nothing_withheld)),
        ("withheld_texts_are_shown_nowhere",),
        judging,
    ),
    Bug(
        "a release is for ever",
        lambda: _in_place_of((text_access, "withholdings", _one_released)),
        ("withheld_texts_are_shown_nowhere",),
        judging,
    ),
    Bug(
        "a verdict that arrives is passed over",
        lambda: _in_place_of((indexer, "Indexer", NoVerdicts)),
        ("withheld_texts_are_shown_nowhere", "replicas_converge"),
        judging,
    ),
    Bug(
        "a release forgets what it lifted",
        lambda: _in_place_of((core_verdicts, "join_verdict", _released_for_good)),
        ("replicas_converge", "released_texts_are_shown_everywhere", "events_that_come_again_change_nothing"),
        judging,
    ),
    Bug(
        "the home trusts its index",
        lambda: _in_place_of((memories, "LinearizableReads", TrustingConfirming)),
        ("operations_are_linearizable", "a_demanded_read_is_no_older"),
        dying,
    ),
    Bug(
        "the home shows what its index does not hold",
        lambda: _in_place_of((memories, "LinearizableReads", SecretiveConfirming)),
        ("operations_are_linearizable", "a_region_never_goes_back"),
        dying,
    ),
    Bug(
        "a version that was demanded is done without",
        lambda: _in_place_of((facade, "Authorizer", ImpatientDoor)),
        ("a_demanded_read_is_no_older",),
    ),
    Bug(
        "drop the condition on a put",
        lambda: _in_place_of((sites, "MemoryObjects", UnconditionalObjects)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
    ),
    Bug(
        "trust the index after a 412",
        lambda: _in_place_of((writer, "LogSteps", TrustingSteps)),
        ("operations_are_linearizable", "history_has_no_gaps"),
    ),
    Bug(
        "drop a tombstone in the fold",
        lambda: _in_place_of((fold, "join_memory", _without_tombstones)),
        ("what_is_shown_is_what_the_history_ends_with", "operations_are_linearizable"),
    ),
    Bug(
        "fold by arrival",
        lambda: _in_place_of((fold, "join_memory", _by_arrival)),
        ("replicas_converge", "a_region_never_goes_back", "operations_are_linearizable"),
    ),
    Bug(
        "acknowledge before the put",
        lambda: _in_place_of((log_steps, "ConditionalPut", EagerSlots)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
    ),
    Bug(
        "no helping in a rename",
        lambda: _in_place_of((log_steps, "LogReader", UnhelpfulLogs)),
        ("operations_are_linearizable", "one_memory_one_path"),
        crowded,
    ),
    Bug(
        "a 412 that was mine is another's",
        lambda: _in_place_of((log_steps, "ConditionalPut", NeverMine)),
        ("operations_are_linearizable", "nothing_refused_is_visible"),
        unheard,
    ),
    Bug(
        "one version_id for every attempt of a rename",
        lambda: _in_place_of(
            (rename, "derived_version_id", _one_id),
            (Entry, "same_write", _same_id),
            (writer, "LogSteps", AmnesiacSteps),
        ),
        ("operations_are_linearizable", "nothing_acknowledged_is_lost"),
        crowded,
    ),
    Bug(
        "rows of the listing are joined instead of recomputed",
        lambda: _in_place_of((fold, "path_row", _stale_path_row), (log_steps, "Projector", JoinedPaths)),
        ("one_memory_one_path", "replicas_converge"),
    ),
    Bug(
        "no claim",
        lambda: _in_place_of((reservation, "Claims", NoClaims)),
        ("one_memory_one_path", "operations_are_linearizable"),
    ),
    Bug(
        "forget one region in a redaction",
        lambda: _in_place_of((erasure_service, "Eraser", ForgetfulEraser)),
        ("redacted_text_is_nowhere",),
    ),
    Bug(
        "reuse a blanked slot",
        lambda: _in_place_of((sites, "MemoryObjects", ReusedSlots)),
        ("history_has_no_gaps", "nothing_acknowledged_is_lost", "operations_are_linearizable"),
        overtaken,
    ),
    Bug(
        "a blank tombstone ends nothing",
        lambda: _in_place_of((fold, "join_memory", _without_blank_tombstones)),
        ("a_rebuild_gives_the_same_rows", "what_is_shown_is_what_the_history_ends_with", "replicas_converge"),
        keeping_little,
    ),
    Bug(
        "retention takes heads too",
        lambda: _in_place_of(
            (retention.Retention, "outlived", _head_too), (retaining, "retired_at", _created_long_ago)
        ),
        ("a_head_is_never_blanked",),
        keeping_little,
    ),
    Bug(
        "retention keeps the head alone",
        lambda: _in_place_of((retention.Retention, "outlived", _all_but_the_head)),
        ("the_last_versions_are_kept",),
        keeping_little,
    ),
    Bug(
        "keep what comes after retention took it",
        lambda: _in_place_of((erasure_service, "RetentionPass", OldRedactionsOnly)),
        ("retired_text_is_nowhere",),
        keeping_little,
    ),
    Bug(
        "two regions: acknowledge before the second put",
        lambda: _in_place_of((log_steps, "SyncReplica", NeverThere)),
        ("what_is_acknowledged_is_in_two_regions",),
        doubled,
    ),
    Bug(
        "two regions: leave behind what a dead writer left undone",
        lambda: _in_place_of((log_steps, "SyncReplica", AsIfAllBelow)),
        ("what_is_acknowledged_is_in_two_regions",),
        abandoned,
    ),
    Bug(
        "a snapshot waits for nothing",
        lambda: _in_place_of((facade, "Snapshots", HastyPast)),
        ("a_snapshot_is_what_the_history_says", "a_snapshot_does_not_change"),
        remembering,
    ),
    Bug(
        "advance the watermark on a checkpoint with a hole",
        lambda: _in_place_of((reconciler, "Watermark", HolesAllowed)),
        ("the_watermark_never_claims_what_is_missing",),
        hurried,
    ),
    Bug(
        "journal row after the acknowledgement",
        lambda: _in_place_of((projector, "AckJournal", JournalLater)),
        ("the_watermark_never_claims_what_is_missing", "what_is_acknowledged_is_in_a_checkpoint"),
        hurried,
    ),
    Bug(
        "period not checked",
        lambda: _in_place_of((projector, "AckJournal", PeriodUnchecked)),
        ("the_watermark_never_claims_what_is_missing", "what_is_acknowledged_is_in_a_checkpoint"),
        hurried,
    ),
    Bug(
        "a lost journal is taken for an empty one",
        lambda: _in_place_of((reconciler, "Checkpoints", WholeWithoutLooking)),
        ("the_watermark_never_claims_what_is_missing", "what_is_acknowledged_is_in_a_checkpoint"),
        losing_journals,
    ),
    Bug(
        "forget one region in the deletion of a store",
        lambda: _in_place_of((erasure_service, "StorePurge", ForgetfulStoreErasing)),
        ("a_deleted_store_is_nowhere",),
        eroding,
    ),
    Bug(
        "keep what comes after its store was erased",
        lambda: _in_place_of((indexer, "Indexer", EarlyIndexing)),
        ("a_deleted_store_is_nowhere",),
        eroding,
    ),
    Bug(
        "keep a void moved_in",
        lambda: _in_place_of((indexer, "Indexer", VoidKeepingIndexing)),
        ("text_of_no_version_is_nowhere", "redacted_text_is_nowhere"),
        crowded,
    ),
    Bug(
        "skip the lease",
        lambda: _in_place_of((fence.Fence, "stands", _for_ever)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
        frozen,
    ),
    Bug(
        "start the epoch before the drain",
        lambda: _in_place_of((handoff, "DRAIN_S", 0.0)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
        frozen,
    ),
    Bug(
        "write without listing in a new epoch",
        lambda: _in_place_of(
            (app_moving, "EpochSnapshotBuilder", SurveyedByIndex),
            (app_failing_over, "EpochSnapshotBuilder", SurveyedByIndex),
        ),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
        saved,
    ),
    Bug(
        "a divergent moved_out commits",
        lambda: _in_place_of((log_reader.LogReader, "_accepted", lambda self, store, entry, settled: settled)),
        ("nothing_acknowledged_is_lost", "replicas_converge", "a_rebuild_gives_the_same_rows"),
        tearing,
    ),
    Bug(
        "a late entry is head without adoption",
        lambda: _in_place_of((epoch_snapshot.EpochSnapshots, "is_late", _never_late)),
        ("replicas_converge", "operations_are_linearizable"),
        failing_over,
    ),
    Bug(
        "adopt the same entry twice",
        lambda: _in_place_of((facade, "Adoption", AdoptingAgain)),
        ("history_has_no_gaps", "what_is_shown_is_what_the_history_ends_with", "operations_are_linearizable"),
        failing_over,
    ),
    Bug(
        "the home reads without its lease",
        lambda: _in_place_of((linearizable_reads.LinearizableReads, "require_home", lambda *_: None)),
        ("operations_are_linearizable",),
        wavering,
    ),
    Bug(
        "an expired claim is broken without its slot",
        lambda: _in_place_of((writer, "Reservation", ClaimBreaker)),
        ("operations_are_linearizable", "one_memory_one_path"),
        stalling,
    ),
    Bug(
        "half a rename is told as undone",
        lambda: _in_place_of((writer, "Rename", UndoneHalves)),
        ("operations_are_linearizable", "nothing_refused_is_visible"),
        refusing,
    ),
    Bug(
        "a put that is refused after one in doubt is told as undone",
        lambda: _in_place_of((log_steps, "ConditionalPut", UndoubtingSlots)),
        ("operations_are_linearizable", "nothing_refused_is_visible"),
        refusing,
    ),
    Bug(
        "an erasure overtakes what followed",
        lambda: _in_place_of((indexer, "Indexer", Overtaking)),
        ("a_head_is_never_blanked", "a_region_never_goes_back", "a_listing_shows_each_path_once"),
        overtaken,
    ),
    Bug(
        "marks that a torn batch missed are gone",
        lambda: _in_place_of((watermarks.Watermark, "_declare_emptied", _emptied_at_once)),
        ("no_error_but_the_apis", "watermarks_do_not_stick", "every_path_can_be_written"),
        awakening,
    ),
    Bug(
        "a refusal is decided by the index",
        lambda: _in_place_of((writer, "LogSteps", IndexedRefusals)),
        ("operations_are_linearizable", "one_memory_one_path"),
        vanishing,
    ),
    Bug(
        "complete up to the latest of all homes",
        lambda: _in_place_of((core_watermark, "least", _greatest)),
        ("the_watermark_never_claims_what_is_missing",),
        three_hurried,
    ),
    Bug(
        "folds go to the tables that serve alone",
        lambda: _in_place_of((View, "indexes", property(lambda self: (self.index,)))),
        ("replicas_converge", "own_writes_are_in_the_history", "a_region_never_goes_back"),
        rebuilding_often,
    ),
    Bug(
        "a listing trusts its own rows",
        lambda: _in_place_of((facade, "Memories", ListedByPath)),
        ("a_replica_is_never_ahead", "a_listing_shows_each_path_once"),
        listing_much,
    ),
    Bug(
        "a follower is known by its generation",
        lambda: _in_place_of((snapshot_builder, "_follows", _by_generation)),
        ("history_has_no_gaps", "operations_are_linearizable", "nothing_acknowledged_is_lost"),
        tearing,
    ),
)


def hunt(bug: Bug, seeds: Iterable[int]) -> tuple[int, frozenset[str]] | None:
    """The first seed at which one of the expected checkers catches it, and every checker that does."""
    for seed in seeds:
        with bug.plant():
            failure = run(case_of(seed, bug.options(seed)))
        if failure is not None and failure.checkers & set(bug.caught_by):
            return seed, failure.checkers
    return None


def caught_by(bug: Bug, caught: tuple[int, frozenset[str]]) -> str:
    """The checkers that were to catch it, and did."""
    return ", ".join(f"`{name}`" for name in bug.caught_by if name in caught[1])
