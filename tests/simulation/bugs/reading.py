"""Defects of reads: verdicts, demands, listings and snapshots of the past."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from memolith.app.api import linearizable_reads, snapshots
from memolith.app.api import service as facade
from memolith.app.api.sessions import Sessions
from memolith.app.auth import authorizer as access
from memolith.app.commit import log_steps
from memolith.app.commit import parts as commit_parts
from memolith.app.commit.attempt import Attempt
from memolith.app.index import path_listing
from memolith.app.indexer import indexer
from memolith.app.indexer import service as indexer_service
from memolith.app.kernel.region import View
from memolith.app.kernel.results import RequestContext, Session
from memolith.app.log import verified_reads
from memolith.app.operations import audit, named_objects
from memolith.app.replication import witnesses
from memolith.app.safety import text_access
from memolith.app.safety.verdicts import Verdicts
from memolith.core import fold, integrity
from memolith.core import verdicts as core_verdicts
from memolith.core.audit import State, Stored, state_of
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import CheckpointKey, VerdictKey
from memolith.core.objects.checkpoint import Checkpoint, Named
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.verdicts import Mark, join_verdict, withholdings
from tests.simulation import tampering
from tests.simulation.bugs.planting import Bug, in_place_of
from tests.simulation.bugs.worlds import attended_and_emptied, judged_and_emptied, listing_much, rejudged
from tests.simulation.kinds import damaging
from tests.simulation.options import dying, judging, remembering


class HastyPast(snapshots.Snapshots):
    """A snapshot is given as soon as the instant is over."""

    def require(self, access: access.StoreAccess, as_of: int) -> None:
        access.view.require_complete()


def _released_for_good(before: VerdictRow | None, record: VerdictRecord) -> VerdictRow | None:
    """A release lifts whatever is known, and forgets it."""
    row = join_verdict(before, record)
    if row is not None and record.outcome is VerdictOutcome.RELEASE:
        return replace(row, withheld=None, released=None)
    return row


def _verdicts_of_an_emptied_table(
    verdicts: Verdicts, view: View, store: StoreRow, content_sha256s: Iterable[str]
) -> dict[str, VerdictRow]:
    """Where there is no row, there is no verdict."""
    keys = {sha256: verdicts.key(store, sha256) for sha256 in content_sha256s}
    rows = view.index.read(list(keys.values()))
    return {sha256: VerdictRow.from_attributes(rows[key]) for sha256, key in keys.items() if key in rows}


def _ended_elsewhere(sessions: Sessions, access: access.Access, record: SessionRecord) -> Session:
    """An end that another region put is answered, and not projected."""
    return Session(record) if record.archived_at is not None else _archive(sessions, access, record)


def _nothing_withheld(row: VerdictRow | None) -> None:
    """A read that does not ask."""


def _nothing_damaged(key: LogKey, metadata: object, body: bytes, acknowledged: object) -> None:
    """A read that does not compare."""


def _nothing_contradicts(version: object, head: object, joined: object) -> bool:
    """A region that takes an object over what it knows of its slot."""
    return False


def _no_witness(self: audit.Audit, run: object, home: str, seen: object) -> None:
    """An audit that asks no other region what it saw."""


def _anything_follows(self: witnesses.Witnesses, at: CheckpointKey, checkpoint: Checkpoint, before: str | None) -> bool:
    """A region that folds what is signed, whatever came before it."""
    return self._is_signed(checkpoint) is not False


class ForgetfulWitnesses(witnesses.Witnesses):
    """A region that keeps what it sees, and does not look at it when it sees the same period again."""

    def keep(self, checkpoint: Checkpoint, sha256: str) -> bool:
        super().keep(checkpoint, sha256)
        return True


def _none_witnessed(self: witnesses.Witnesses, home: str, period: int) -> bool:
    """A region that compares with what it saw only what it would keep itself."""
    return False


def _as_it_says(name: Named, key: LogKey | None, stored: Stored | None, salt: str) -> State:
    """An audit that compares a version with its own metadata alone."""
    return state_of(name._replace(digest=None), key, stored, salt)


class DraftedSteps(log_steps.LogSteps):
    """What is projected, and so sealed, is what was decided, and not what was put."""

    def put(self, attempt: Attempt, entry: Entry, content: str | None = None) -> Entry | None:
        return None if super().put(attempt, entry, content) is None else entry


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


class ListedByPath(path_listing.PathListing):
    """A listing trusts its own rows, and does not ask the memory's where it is."""

    def _lines(self, view: View, prefix: str, depth: int, paths: list[PathRow]) -> Any:
        keys = {row.path: MemoryRow.key(row.store_id, row.memory_id) for row in paths if row.memory_id is not None}
        rows = self._region.read(view.index, list(keys.values())) if keys else {}
        for path, key in keys.items():
            row = MemoryRow.from_attributes(rows[key]) if key in rows else None
            if row is not None and fold.is_live(row):
                yield path_listing.ListedPath(path, path, replace(row, path=path))


_archive = Sessions._archive

BUGS = (
    Bug(
        "an end of a session that the bucket alone has is not projected",
        lambda: in_place_of((Sessions, "_archive", _ended_elsewhere)),
        ("an_ended_session_stays_ended",),
        attended_and_emptied,
    ),
    Bug(
        "reads do not ask for verdicts",
        lambda: in_place_of((text_access, "withheld_by", _nothing_withheld)),
        ("withheld_texts_are_shown_nowhere",),
        judging,
    ),
    Bug(
        "an emptied table of verdicts says that nothing is withheld",
        lambda: in_place_of((Verdicts, "of", _verdicts_of_an_emptied_table)),
        ("a_text_is_shown_no_more_where_it_was_withheld",),
        judged_and_emptied,
    ),
    Bug(
        "a read believes what is in the bucket",
        lambda: in_place_of((verified_reads, "damage_of", _nothing_damaged)),
        ("no_read_shows_a_text_that_was_never_written", "operations_are_linearizable"),
        damaging,
    ),
    Bug(
        "an event lets an object change what its slot was taken with",
        lambda: in_place_of((integrity, "contradicts", _nothing_contradicts)),
        ("no_read_shows_a_text_that_was_never_written", "replicas_converge"),
        damaging,
    ),
    Bug(
        "an audit asks no other region what it saw",
        lambda: in_place_of((audit.Audit, "_check_witnesses", _no_witness)),
        ("an_audit_names_what_was_done",),
        damaging,
    ),
    Bug(
        "a region does not compare a foreign checkpoint with the one before it",
        lambda: in_place_of((witnesses.Witnesses, "accept", _anything_follows)),
        ("a_region_folds_no_checkpoint_out_of_the_chain",),
        damaging,
    ),
    Bug(
        "a rebuilt region does not look at what it saw before",
        lambda: in_place_of((tampering, "Witnesses", ForgetfulWitnesses)),
        ("a_region_folds_no_checkpoint_out_of_the_chain",),
        damaging,
    ),
    Bug(
        "a rebuilt region takes what names nothing for what it never saw",
        lambda: in_place_of((witnesses.Witnesses, "_was_witnessed", _none_witnessed)),
        ("a_region_folds_no_checkpoint_out_of_the_chain",),
        damaging,
    ),
    Bug(
        "an audit believes what an object says of itself",
        lambda: in_place_of((named_objects, "state_of", _as_it_says)),
        ("an_audit_names_what_was_done",),
        damaging,
    ),
    Bug(
        "what was decided is sealed, and not what was put",
        lambda: in_place_of((commit_parts, "LogSteps", DraftedSteps)),
        ("an_audit_names_nothing_else",),
        damaging,
    ),
    Bug(
        "a release is for ever",
        lambda: in_place_of((text_access, "withholdings", _one_released)),
        ("withheld_texts_are_shown_nowhere",),
        rejudged,
    ),
    Bug(
        "a verdict that arrives is passed over",
        lambda: in_place_of((indexer_service, "Indexer", NoVerdicts)),
        ("withheld_texts_are_shown_nowhere", "replicas_converge"),
        judging,
    ),
    Bug(
        "a release forgets what it lifted",
        lambda: in_place_of((core_verdicts, "join_verdict", _released_for_good)),
        ("replicas_converge", "released_texts_are_shown_everywhere", "events_that_come_again_change_nothing"),
        judging,
    ),
    Bug(
        "the home trusts its index",
        lambda: in_place_of((facade, "LinearizableReads", TrustingConfirming)),
        ("operations_are_linearizable", "a_demanded_read_is_no_older"),
        dying,
    ),
    Bug(
        "the home shows what its index does not hold",
        lambda: in_place_of((facade, "LinearizableReads", SecretiveConfirming)),
        ("operations_are_linearizable", "a_region_never_goes_back"),
        dying,
    ),
    Bug(
        "a version that was demanded is done without",
        lambda: in_place_of((facade, "Authorizer", ImpatientDoor)),
        ("a_demanded_read_is_no_older",),
    ),
    Bug(
        "a snapshot waits for nothing",
        lambda: in_place_of((facade, "Snapshots", HastyPast)),
        ("a_snapshot_is_what_the_history_says", "a_snapshot_does_not_change"),
        remembering,
    ),
    Bug(
        "a listing trusts its own rows",
        lambda: in_place_of((facade, "PathListing", ListedByPath)),
        ("a_replica_is_never_ahead", "a_listing_shows_each_path_once"),
        listing_much,
    ),
)
