"""Auditing a home: everything that its checkpoints name, beside what stands in a bucket now, and the other way round.

    each checkpoint's own chain, root and signature -> each object that it names -> what was remembered of the last one
    -> objects that no checkpoint names -> what a flaw is, told by where else the text in its place was acknowledged

Nothing is changed. What is acknowledged and not sealed yet is looked up in the journal and counts as named. A writer
may be between its put and its projection: what nothing names is looked at once more, some seconds later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memolith.app.kernel.listing import keys_under, rows_of
from memolith.app.kernel.port_calls import find, require
from memolith.app.kernel.region import Region, View
from memolith.app.log.sealed_history import SealedHistory, StoredCheckpoint
from memolith.app.operations.audit_report import AuditReport
from memolith.app.operations.flaws import classify
from memolith.app.operations.named_objects import Compared, NamedObjects, RawObject
from memolith.core.audit import Finding, Flaw
from memolith.core.log_position import LogKey
from memolith.core.object_keys import (
    ApiKeyKey,
    CheckpointKey,
    RedactionKey,
    SessionKey,
    StoreKey,
    VerdictKey,
    parsed_key,
)
from memolith.core.objects.checkpoint import sha256_of
from memolith.core.objects.entry import Entry, Operation
from memolith.core.objects.witness import Witness, witness_prefix
from memolith.core.rows.content import VersionRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.journal import SHARDS_MIN, JournalRow, JournalStateRow
from memolith.core.sealing import SIGNED_EVERY, SealRecord
from memolith.ports.index import Query
from memolith.ports.sealing import Sealing, SealMemory

KEPT = 1_000
"""Findings of one audit; it ends with the last of them."""
LOOKED_AGAIN_S = 3.0
"""When what nothing names is looked at once more: by then a writer that lives has projected it."""
ROWS_PER_QUERY = 1_000


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment, in microseconds since 1970: an audit from there on begins with the period that can name it."""

    us: int


Since = int | Instant
"""A period, or an instant."""


@dataclass(slots=True)
class _Run:
    """What one audit knows so far. `named` and `listed` are hashes of keys, so that a large home fits."""

    report: AuditReport
    store_id: str | None
    named: set[bytes] = field(default_factory=set)
    listed: set[bytes] = field(default_factory=set)
    first_sealed: int | None = None
    seen: Compared = field(default_factory=Compared)
    hashes: dict[int, str] = field(default_factory=dict)


class Audit:
    """Audits what one home acknowledged, in the bucket of one region.

    Args:
        region: its index tells which stores are deleted and what is not sealed yet.
        history: the checkpoints, and the keys that they were signed with.
        objects: compares what a checkpoint names.
        memory: what was remembered of the last checkpoint outside the data; None where nothing is.
    """

    def __init__(
        self, region: Region, history: SealedHistory, objects: NamedObjects, memory: SealMemory | None = None
    ) -> None:
        self._region = region
        self._history = history
        self._memory = memory
        self._objects = objects

    def run(self, home: str, store_id: str | None = None, since: Since = 1, against: Sequence[str] = ()) -> AuditReport:
        """Audit a home from a period or an instant on, all of it or what belongs to one store. Changes nothing.

        A GET of each checkpoint and of each object that it names, and of each checkpoint in each region that it is
        compared `against`; a LIST of what there is, where it begins with the first period.

        Raises:
            Unavailable: a port does not answer; repeat it.
        """
        since = self._history.first_since(home, since.us) if isinstance(since, Instant) else since
        run = _Run(AuditReport(home, since), store_id)
        record = None if self._memory is None else self._memory.record()
        witnesses = self._witnesses(home)  # before the history, which goes on meanwhile: what was seen by now stands
        run.report.until = self._history.last(home, since)
        view = self._region.view()
        for read in self._history.read(home, since, run.report.until):
            if isinstance(read, Finding):
                run.report.findings.append(read)
            else:
                self._check(view, run, read)
            if len(run.report.findings) + len(run.seen.findings) + len(run.seen.broken) >= KEPT:
                break
        run.report.add(run.seen)
        self._check_signatures(run, home)
        self._check_end(run, home, record)
        self._check_witnesses(run, home, witnesses)
        for other in against:
            self._check_copies(run, home, other)
        pending = self._pending(home)
        run.report.pending = len(pending - run.named)
        if since == 1 and len(run.report.findings) < KEPT:
            self._find_unnamed(view, run, home, pending)
        run.report.findings += classify(self._region, home, run.seen.broken)
        run.report.findings.sort(key=lambda finding: finding.period)
        return run.report

    # ---- one checkpoint -----------------------------------------------------------------------------------------

    def _check(self, view: View, run: _Run, read: StoredCheckpoint) -> None:
        checkpoint, report = read.checkpoint, run.report
        report.findings += read.findings
        if read.unknown_key is not None:
            what = f"it is signed by {read.unknown_key}, no known key of its home; --keys has those that were replaced"
            report.findings.append(Finding(Flaw.CHECKPOINT_ALTERED, str(checkpoint.key), checkpoint.period, what))
        run.hashes[checkpoint.period] = read.sha256
        if checkpoint.seal is not None:
            report.signed_until, report.sealed_until_us, report.unsigned = checkpoint.period, checkpoint.until, 0
        else:
            report.unsigned += bool(read.names)
        proves = not checkpoint.listed or run.first_sealed is None
        for name in read.names:
            told = _hash(name.key)
            if proves or name.digest is not None:
                run.named.add(told)
            elif told not in run.named:
                run.listed.add(told)
        if read.is_sealed and run.first_sealed is None:
            run.first_sealed = checkpoint.period
        wanted = [name for name in read.names if _is_of(name.key, run.store_id)]
        self._objects.compare(view, run.seen, checkpoint.period, wanted)

    # ---- the end of the history ---------------------------------------------------------------------------------

    def _check_signatures(self, run: _Run, home: str) -> None:
        """Find the checkpoints at the end that no signature covers. Whoever has no key can write them, also unsealed.

        A key that does not answer leaves some, too, and an hour may pass without one where nothing is written.
        """
        if run.first_sealed is None:
            return
        first = run.first_sealed if run.report.signed_until is None else run.report.signed_until + 1
        if (count := max(run.hashes) - first + 1) > SIGNED_EVERY:
            what = f"no signature covers this checkpoint and the {count - 1} that follow it"
            key = str(CheckpointKey(home, first))
            run.report.findings.append(Finding(Flaw.CHECKPOINT_UNSIGNED, key, first, what))

    def _check_end(self, run: _Run, home: str, record: SealRecord | None) -> None:
        """Compare the last checkpoints with what was remembered of them outside the data."""
        if record is None:
            return
        for lost in record.lost:
            key = str(CheckpointKey(home, lost.period))
            run.report.findings.append(
                Finding(
                    Flaw.ROLLED_BACK,
                    key,
                    lost.period,
                    "it was sealed on this machine, and the history goes on without it",
                )
            )
        stands = run.hashes.get(record.last.period)
        if record.last.period >= run.report.since and stands != record.last.sha256:
            key = str(CheckpointKey(home, record.last.period))
            what = "is gone" if stands is None else "is another one"
            run.report.findings.append(
                Finding(
                    Flaw.ROLLED_BACK, key, record.last.period, f"the last checkpoint that this machine sealed {what}"
                )
            )

    def _witnesses(self, home: str) -> list[tuple[str, Witness, set[int]]]:
        """Return, of each other region that keeps any, the last checkpoint that it saw and the periods of all of them.

        A LIST and a GET for each.
        """
        found = []
        for other in self._region.regions:
            prefix = witness_prefix(home)
            keys = [] if other == home else list(keys_under(self._region.objects, prefix, region=other))
            if keys:
                last = Witness.from_json(require(self._region.objects, keys[-1], other).body)
                found.append((other, last, {int(key.rpartition("/")[2]) for key in keys}))
        return found

    def _check_witnesses(self, run: _Run, home: str, witnesses: Sequence[tuple[str, Witness, set[int]]]) -> None:
        """Compare the history with what each other region saw of it last. Each names the one before, so that is all.

        What is gone may have been seen as well, though the history goes on behind it.
        """
        gone = {one.period for one in run.report.findings if one.flaw is Flaw.CHECKPOINT_MISSING} - run.hashes.keys()
        for other, seen, periods in witnesses:
            stands = run.hashes.get(seen.period)
            lost = gone & periods
            if stands is None and seen.period >= run.report.since:
                lost.add(seen.period)
            for period in sorted(lost):
                what = f"{other} saw this checkpoint, and it is gone"
                run.report.findings.append(Finding(Flaw.ROLLED_BACK, str(CheckpointKey(home, period)), period, what))
            if seen.period >= run.report.since and stands not in (None, seen.sha256):
                what = f"{other} saw another checkpoint of this period"
                run.report.findings.append(
                    Finding(Flaw.FORKED, str(CheckpointKey(home, seen.period)), seen.period, what)
                )

    def _check_copies(self, run: _Run, home: str, other: str) -> None:
        """Compare every checkpoint with its copy in another region. One that has not arrived there is no flaw, nor
        one that was put since this audit began.
        """
        for key in keys_under(self._region.objects, f"{home}/checkpoint/", region=other):
            named = parsed_key(key)
            if not isinstance(named, CheckpointKey) or named.period < run.report.since:
                continue
            stands = run.hashes.get(named.period)
            if stands is None and named.period > run.report.until and find(self._region.objects, key) is None:
                detail = f"{other} has this checkpoint, and it is gone"
                run.report.findings.append(Finding(Flaw.ROLLED_BACK, key, named.period, detail))
            elif stands is not None and stands != sha256_of(require(self._region.objects, key, other).body):
                detail = f"{other} has another checkpoint of this period"
                run.report.findings.append(Finding(Flaw.FORKED, key, named.period, detail))
            if len(run.report.findings) >= KEPT:
                return

    def _pending(self, home: str) -> set[bytes]:
        """Return what the journal of this region names in the periods that have no checkpoint yet."""
        if home != self._region.name:
            return set()
        key = JournalStateRow.key(home)
        attributes = self._region.read(self._region.index, [key]).get(key)
        if attributes is None:
            return set()
        state = JournalStateRow.from_attributes(attributes)
        found: set[bytes] = set()
        periods = {state.open: state.open_period.shards}
        if state.closing is not None:
            periods[state.closing] = state.closing_shards or SHARDS_MIN
        for period, shards in periods.items():
            for shard in range(shards):
                partition = JournalRow.partition(home, period, shard)
                query = Query("journal", partition, prefix=f"{home}/", limit=ROWS_PER_QUERY)
                found |= {_hash(row.object_key) for row in rows_of(self._region.index, query, JournalRow)}
        return found

    # ---- what nothing names -------------------------------------------------------------------------------------

    def _find_unnamed(self, view: View, run: _Run, home: str, pending: set[bytes]) -> None:
        """Find the objects that no checkpoint names. One made from a listing names what it found, which proves nothing.

        Half a rename, and what only keeps a slot taken, are never named.
        """
        if not run.hashes:
            return
        known = run.named | pending
        unnamed = [key for key in self._keys(home, run.store_id) if _hash(key) not in known]
        if not unnamed:
            return
        self._region.clock.pause(LOOKED_AGAIN_S)
        known |= self._pending(home) | self._published_since(home, run.report.until)
        for key in unnamed:
            if _hash(key) not in known and self._should_be_named(view, key):
                listed = _hash(key) in run.listed
                detail = "only a listing names it, made after the journal was lost" if listed else "nothing names it"
                run.report.findings.append(Finding(Flaw.UNACKNOWLEDGED, key, run.report.until, detail))
                if len(run.report.findings) >= KEPT:
                    return

    def _published_since(self, home: str, period: int) -> set[bytes]:
        read = self._history.read(home, period + 1, self._history.last(home, period + 1))
        found = [one for one in read if isinstance(one, StoredCheckpoint) and not one.checkpoint.listed]
        return {_hash(name.key) for one in found for name in one.names}

    def _keys(self, home: str, store_id: str | None) -> Iterator[str]:
        prefixes = [f"{home}/"] if store_id is None else [f"{home}/log/{store_id}/", f"{home}/store/{store_id}/"]
        for prefix in prefixes:
            for key in keys_under(self._region.objects, prefix):
                if isinstance(parsed_key(key), LogKey | StoreKey | ApiKeyKey | RedactionKey | SessionKey | VerdictKey):
                    yield key

    def _should_be_named(self, view: View, key: str) -> bool:
        """Tell whether an object would be named if it had been acknowledged, or is served though it was not."""
        parsed = parsed_key(key)
        if not isinstance(parsed, LogKey):
            return True
        stored = self._objects.stored(key)
        if stored is None:
            return False
        try:
            entry = Entry.from_metadata(parsed, stored.metadata)
        except ValueError:
            return True
        if entry.operation is Operation.VOID:
            return False
        keys = [VersionRow.key(parsed.store_id, entry.version_id), StoreRow.key(parsed.store_id)]
        rows = self._region.read(view.index, keys)
        row = VersionRow.from_attributes(rows[keys[0]]) if keys[0] in rows else None
        if row is not None and row.position is not None and row.ref == entry.ref:
            return True
        store = StoreRow.from_attributes(rows[keys[1]]) if keys[1] in rows else None
        halves = (Operation.MOVED_IN, Operation.MOVED_OUT)
        return entry.operation not in halves and (store is None or len(store.epochs) == 1)


def make_audit(
    region: Region, sealing: Sealing, memory: SealMemory | None = None, raw: RawObject | None = None
) -> Audit:
    """Put an audit together: what it is handed, `Audit` and `NamedObjects` say; `sealing` has the keys. No call."""
    return Audit(region, SealedHistory(region, sealing), NamedObjects(region, raw), memory)


def _is_of(key: str, store_id: str | None) -> bool:
    if store_id is None:
        return True
    return getattr(parsed_key(key), "store_id", None) == store_id


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()[:16]
