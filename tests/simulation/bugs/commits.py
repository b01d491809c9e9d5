"""Defects of the write path: the put, the claims of a path, renames, and stores that ask for two regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.app.api import service as facade
from memolith.app.commit import log_steps, parts, rename, reservation, sync_replica, writer
from memolith.app.commit.attempt import Outcome, Step
from memolith.app.index import parts as index_parts
from memolith.app.index import path_claims
from memolith.app.kernel.region import View
from memolith.app.log import conditional_put, log_reader
from memolith.core import decide
from memolith.core.commands import Command
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.log_position import LogKey, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.core.rows.identity import StoreRow
from memolith.ports import errors as port_errors
from memolith.ports.objects import StoredObject
from tests.simulation import sites
from tests.simulation.bugs.planting import BadObjects, Bug, in_place_of
from tests.simulation.bugs.worlds import abandoned, insisting, refusing, stalling, taken_by_the_second, vanishing
from tests.simulation.options import crowded, doubled, unheard
from tests.simulation.ports import SkewedClock


class UnconditionalObjects(BadObjects):
    """A put that takes no notice of what is there."""

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        buckets, here = self._here
        return buckets.put(region or here, StoredObject(key, body, dict(metadata), len(body)), only_if_absent=False)


class NeverThere(sync_replica.SyncReplica):
    """Leaves the second region to replication."""

    def take(self, slots: conditional_put.ConditionalPut, store: StoreRow, entry: Entry, body: bytes) -> Entry | None:
        return slots.take(entry, body)


class AsIfAllBelow(sync_replica.SyncReplica):
    """Puts its own entry there, whatever it builds on."""

    def _secure_below(self, store: StoreRow, second: str, key: LogKey, seen: set[LogKey] | None = None) -> None:
        return


class NeverMine(conditional_put.ConditionalPut):
    """A slot that is taken is taken by somebody else, whatever stands in it."""

    def take(self, entry: Entry, body: bytes) -> Entry | None:
        try:
            self._region.objects.put_if_absent(str(entry.key), body, entry.to_metadata(), entry.content_sha256)
        except port_errors.ObjectExists:
            return None
        except port_errors.OutcomeUnknown:
            return None if self._logs.entry(entry.key) else self.take(entry, body)
        except port_errors.PORT_FAILURES as error:
            raise OutcomeUnknown("undecided") from error
        return entry


class EagerSlots(conditional_put.ConditionalPut):
    """Answers, and puts afterwards."""

    def take(self, entry: Entry, body: bytes) -> Entry | None:
        clock = self._region.clock
        assert isinstance(clock, SkewedClock)
        clock.scheduler.spawn("put after the answer", lambda: super(EagerSlots, self).take(entry, body), 0.05)
        return entry


class TrustingSteps(log_steps.LogSteps):
    """After a 412 the writer believes the index, and puts behind what it finds taken without looking at it."""

    def catch_up(self, attempt: Any, hash: str, slot: Slot, paths_too: bool = False) -> int:
        return 0

    def slot_after(self, attempt: Any, head: MemoryRow) -> Slot | None:
        slot = super().slot_after(attempt, head)
        while slot is not None and self.logs.entry(LogKey(head.store_id, head.path_hash, slot)) is not None:
            slot = slot.following
        return slot


class UnhelpfulLogs(log_reader.LogReader):
    """Leaves a rename half done for whoever comes next, who leaves it too; and takes its first half for the whole."""

    def resolve(
        self, entry: Entry, help_with: Any = None, region: str | None = None, store: StoreRow | None = None
    ) -> tuple[ResolvedEntry, ...]:
        resolved = super().resolve(entry, None, region, store)
        if not resolved and entry.operation is Operation.MOVED_IN and help_with is not None:
            return (ResolvedEntry(entry, void=True),)
        return resolved


class DoneTwice(writer.Writer):
    """A passed-on call that comes again is a call like any other."""

    def done(self, view: View, store: StoreRow, command: Any) -> Any:
        return None

    def write(self, view: View, store: StoreRow, command: Command, passed_on_us: int | None = None) -> Outcome:
        return super().write(view, store, command)


class LookingOnce(writer.Writer):
    """What a passed-on call has done already is looked up as it begins, and not while it runs."""

    def write(self, view: View, store: StoreRow, command: Command, passed_on_us: int | None = None) -> Outcome:
        return super().write(view, store, command)


class NoClaims(path_claims.Claims):
    """Looks, but tells nobody that it is there."""

    def make(self, view: Any, claim: path_claims.Claim, before: PathRow | None) -> PathRow:
        return before or PathRow(store_id=claim.store_id, path=claim.path)


class ClaimBreaker(reservation.Reservation):
    """An expired claim is taken away, and the slot that it names is left to whoever claimed it."""

    def end_expired(self, attempt: Any, claimed: PathRow) -> None:
        self._claims.remove_broken(attempt.view, claimed)


class UndoneHalves(rename.Rename):
    """A rename whose second put is refused is told as what that put was: nothing was done."""

    def _depart(self, attempt: Any, departure: Entry) -> Entry | None:
        return self._steps.put(attempt, departure)


class UndoubtingSlots(conditional_put.ConditionalPut):
    """A put that is refused after one in doubt has done nothing."""

    def take(self, entry: Entry, body: bytes) -> Entry | None:
        try:
            return super().take(entry, body)
        except OutcomeUnknown as error:
            raise Unavailable("the bucket refuses writes now; try again") from error


_confirm = writer.Writer._confirm


def confirmed_by_the_index(kind: type[decide.NoChange] | type[decide.Refused]) -> Any:
    """Return a `Writer._confirm` that lets one kind of decision hold whatever the log has beyond the index."""

    def confirm(self: Any, attempt: Any, head: MemoryRow | None, decision: Any) -> Step:
        if not isinstance(decision, kind):
            return _confirm(self, attempt, head, decision)
        attempt.outcome.memory = head
        if isinstance(decision, decide.Refused):
            attempt.outcome.error = decision.error
        return Step.DECIDED

    return confirm


BUGS = (
    Bug(
        "drop the condition on a put",
        lambda: in_place_of((sites, "MemoryObjects", UnconditionalObjects)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
    ),
    Bug(
        "trust the index after a 412",
        lambda: in_place_of((parts, "LogSteps", TrustingSteps)),
        ("operations_are_linearizable", "history_has_no_gaps"),
    ),
    Bug(
        "acknowledge before the put",
        lambda: in_place_of((parts, "ConditionalPut", EagerSlots)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
    ),
    Bug(
        "no helping in a rename",
        lambda: in_place_of((index_parts, "LogReader", UnhelpfulLogs)),
        ("operations_are_linearizable", "one_memory_one_path"),
        crowded,
    ),
    Bug(
        "a 412 that was mine is another's",
        lambda: in_place_of((parts, "ConditionalPut", NeverMine)),
        ("operations_are_linearizable", "nothing_refused_is_visible"),
        unheard,
    ),
    Bug(
        "no claim",
        lambda: in_place_of((parts, "Claims", NoClaims)),
        ("one_memory_one_path", "operations_are_linearizable"),
    ),
    Bug(
        "an expired claim is broken without its slot",
        lambda: in_place_of((parts, "Reservation", ClaimBreaker)),
        ("operations_are_linearizable", "one_memory_one_path"),
        stalling,
    ),
    Bug(
        "half a rename is told as undone",
        lambda: in_place_of((parts, "Rename", UndoneHalves)),
        ("operations_are_linearizable", "nothing_refused_is_visible"),
        refusing,
    ),
    Bug(
        "a put that is refused after one in doubt is told as undone",
        lambda: in_place_of((parts, "ConditionalPut", UndoubtingSlots)),
        ("operations_are_linearizable", "nothing_refused_is_visible"),
        refusing,
    ),
    Bug(
        "a refusal is decided by the index",
        lambda: in_place_of((writer.Writer, "_confirm", confirmed_by_the_index(decide.Refused))),
        ("operations_are_linearizable", "one_memory_one_path"),
        vanishing,
    ),
    Bug(
        "what changes nothing is decided by the index",
        lambda: in_place_of((writer.Writer, "_confirm", confirmed_by_the_index(decide.NoChange))),
        ("a_demanded_read_is_no_older", "operations_are_linearizable"),
        vanishing,
    ),
    Bug(
        "two regions: acknowledge before the second put",
        lambda: in_place_of((facade, "SyncReplica", NeverThere)),
        ("what_is_acknowledged_is_in_two_regions",),
        doubled,
    ),
    Bug(
        "two regions: leave behind what a dead writer left undone",
        lambda: in_place_of((facade, "SyncReplica", AsIfAllBelow)),
        ("what_is_acknowledged_is_in_two_regions",),
        abandoned,
    ),
    Bug(
        "a passed-on call that comes again is done again",
        lambda: in_place_of((facade, "Writer", DoneTwice)),
        ("operations_are_linearizable", "nothing_refused_is_visible", "history_has_no_gaps"),
        insisting,
    ),
    Bug(
        "a passed-on call that comes again meanwhile is done again",
        lambda: in_place_of((facade, "Writer", LookingOnce)),
        ("operations_are_linearizable", "nothing_refused_is_visible", "history_has_no_gaps"),
        insisting,
    ),
    Bug(
        "two regions: do not look for a new home after the second put",
        lambda: in_place_of((sync_replica.SyncReplica, "confirm", lambda *_: None)),
        ("nothing_acknowledged_is_lost", "operations_are_linearizable"),
        taken_by_the_second,
    ),
)
