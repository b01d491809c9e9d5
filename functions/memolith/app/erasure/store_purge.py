"""What is left of a store that was deleted: nothing but that it was, in every region, each by itself.

    the packs -> the log's objects -> proposals -> the rows -> the records, and with them the name and the salt
    -> the transcripts of sessions that had the store

Of the store's own the salt goes last: while a copy of it exists, its holder can try paths against the hashes in the
keys. The work is driven by the deletion's own record, which is an object like any other and replicates. Its event
begins the work here, a schedule goes on with it until everything is blank, and what arrives later is erased on arrival.
A day after that the store is gone through once more: a put or a copy that was under way behind the first time has
landed by then, whether or not an event told of it. What lands even later is found by the daily comparison
(`memolith.app.replication.missed_erasures`), and of transcripts by their daily pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memolith.app.erasure.eraser import Eraser
from memolith.app.erasure.pack_removal import PackRemoval
from memolith.app.erasure.proposal_erasure import ProposalErasure
from memolith.app.erasure.transcript_purge import TranscriptPurge
from memolith.app.index.parts import IndexParts
from memolith.app.kernel.listing import row_pages
from memolith.app.kernel.port_calls import commit_as_owner, require
from memolith.app.kernel.region import Region, View
from memolith.core.errors import Unavailable
from memolith.core.log_position import LogKey
from memolith.core.object_keys import JobKey, ProposalKey, RunKey, StoreKey, parse_key
from memolith.core.objects.run_record import RunRecord
from memolith.core.objects.store_record import StoreRecord, parse_epoch
from memolith.core.objects.usage_record import JOB_KEY, KIND, UsageRecord
from memolith.core.rows.base import Row, RowKey
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Found, Query
from memolith.ports.objects import ErasableObjects, ObjectVersion

VERSIONS_PER_PAGE = 200
ROWS_PER_PAGE = 200
LONGEST_LIFE_US = 60_000_000
"""How long a call may go on that read the store's record before its end: rows are looked at when none can."""

AGAIN_AFTER_US = 24 * 3600 * 1_000_000
"""After how long a store that is done is gone through again: far longer than a call lives or a copy is under way."""

BEGIN_ATTEMPTS = 10

TEXT_TABLES = ("paths", "memories", "versions")
PENDING = "erasure#pending"
DONE = "erasure#done"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRow(Row):
    """How far the erasure of one store is in this region; it stands under `PENDING`, and at the end under `DONE`.

    `stage` counts the places of `StorePurge.places`, and `place` names the one that is next: where the two do not
    agree, the places are others than before, and the work begins again. `after` and `after_version` are the last S3
    version looked at in it. `erased` objects were blanked so far; `left` could not be on this way through, which is
    gone again then. `again` marks the second time, a day after the first was done.
    Stands in the control table, where a rebuild leaves it alone.
    """

    started_at: int
    stage: int = 0
    after: str | None = None
    after_version: str | None = None
    erased: int = 0
    left: int = 0
    again: bool = False
    done_at: int | None = None
    place: str | None = None

    @staticmethod
    def key(partition: str, store_id: str) -> RowKey:
        return RowKey("control", partition, store_id)


@dataclass(frozen=True, slots=True)
class _Held:
    """One key as a page of its versions shows it."""

    key: str
    has_older: bool


class StorePurge:
    """Erases whole stores in this region."""

    def __init__(
        self,
        region: Region,
        erasable: ErasableObjects,
        eraser: Eraser,
        packs: PackRemoval,
        parts: IndexParts,
        proposals: ProposalErasure,
        transcripts: TranscriptPurge,
    ) -> None:
        self._region = region
        self._transcripts = transcripts
        self._proposals = proposals
        self._packs = packs
        self._erasable = erasable
        self._eraser = eraser
        self._logs = parts.logs
        self._records = parts.store_log
        self._folder = parts.projector

    # ---- which stores ---------------------------------------------------------------------------------------------

    def begin(self, store_id: str, again: bool = False) -> bool:
        """Note that the store is to be erased here, if its deletion is in this bucket; return whether it is.

        A store that was done already is scanned once more: a straggler came. One that is being worked on is scanned
        again at its end, since the straggler may be behind the place that the work has reached. Repeatable.
        """
        if self._records.deletion(store_id) is None:
            return False
        key = WorkRow.key(PENDING, store_id)
        for _ in range(BEGIN_ATTEMPTS):
            before = self._region.read(self._region.index, [key]).get(key)
            if before is None:
                work = WorkRow(started_at=self._region.clock.now_us(), again=again)
            else:
                known = WorkRow.from_attributes(before)
                work = replace(known, left=known.left + 1)
            if self._commit([Change(key, before, work.to_attributes())]):
                return True
        raise Unavailable("the note of the erasure is contended; try again")

    def take_up(self, store_id: str) -> None:
        """Begin with a deleted store of which nothing is noted: the note was lost, or its event never came.

        Begin again, once, with one that was done a day ago or longer.
        """
        work = self.progress(store_id)
        if work is None:
            self.begin(store_id)
            return
        is_once_done = work.done_at is not None and not work.again
        if is_once_done and (work.done_at or 0) + AGAIN_AFTER_US <= self._region.clock.now_us():
            self.begin(store_id, again=True)

    def pending(self) -> dict[str, int]:
        """Return the stores that are not done yet, each with the instant at which its erasure began. One query."""
        found = self._query(Query("control", PENDING, limit=1_000))
        return {one.key.sk: WorkRow.from_attributes(one.attributes).started_at for one in found}

    def progress(self, store_id: str) -> WorkRow | None:
        """Return the progress of a store; None where nothing of it is known here."""
        keys = [WorkRow.key(PENDING, store_id), WorkRow.key(DONE, store_id)]
        rows = self._region.read(self._region.index, keys)
        found = [rows[key] for key in keys if key in rows]
        return WorkRow.from_attributes(found[0]) if found else None

    # ---- the work -------------------------------------------------------------------------------------------------

    def work(self, store_id: str, is_time_up: Callable[[], bool]) -> bool:
        """Go on with one store, a page at a time, until it is done or the time is up; return whether it is done.

        What is blank already costs one HEAD an object; what is not, what `ErasableObjects.erase` costs, and a HEAD.

        Raises:
            Unavailable: a port does not answer; the next call goes on.
        """
        record = self._records.deletion(store_id)
        key = WorkRow.key(PENDING, store_id)
        before = self._region.read(self._region.index, [key]).get(key)
        if record is None or before is None:
            return False
        work = WorkRow.from_attributes(before)
        for next_work in self._steps(record, work):
            work, after = next_work, next_work.to_attributes()
            if not self._commit([Change(key, before, after)]):
                return False
            before = after
            if is_time_up():
                break
        if work.stage < len(self.places(record)):
            return False
        return self._end(store_id, before, work)

    def _end(self, store_id: str, before: Mapping[str, object], work: WorkRow) -> bool:
        """End it, if a whole pass left nothing; otherwise let the schedule start it once more."""
        key, done_key = WorkRow.key(PENDING, store_id), WorkRow.key(DONE, store_id)
        if work.left:
            self._commit([Change(key, before, replace(work, stage=0, left=0).to_attributes())])
            return False
        done = replace(work, done_at=self._region.clock.now_us()).to_attributes()
        return self._commit([Change(key, before, None), Change(done_key, None, done, unconditional=True)])

    def places(self, record: StoreRecord) -> list[str]:
        """List where a store's text is, in the order of its erasure: ``packs``, prefixes of keys, and ``rows``.

        They are the same, in the same order, before and after a region is removed.
        """
        homes = sorted({*self._region.origins, *(parse_epoch(epoch).home for epoch in record.epochs)})
        logs = [f"{home}/log/{record.store_id}/" for home in homes]
        proposals = [f"{home}/proposal/{record.store_id}/" for home in homes]
        records = [f"{home}/{kind}/{record.store_id}/" for kind in ("store", "run") for home in homes]
        transcripts = [f"{region}/transcript/{record.workspace_id}/" for region in sorted(self._region.origins)]
        counts = [JobKey.prefix(home, record.store_id, KIND, JOB_KEY) for home in homes]
        return ["packs", *logs, *proposals, "rows", *records, *transcripts, *counts]

    def _steps(self, record: StoreRecord, work: WorkRow) -> Iterator[WorkRow]:
        places = self.places(record)
        if work.stage and work.place != _named(places, work.stage):
            work = replace(work, stage=0, after=None, after_version=None)
        while work.stage < len(places):
            place = places[work.stage]
            if place == "rows":
                now_us = self._region.clock.now_us()
                if work.started_at > now_us:  # by a clock that was ahead: a call of before may be under way still
                    work = replace(work, started_at=now_us)
                elif now_us < work.started_at + LONGEST_LIFE_US:
                    return
                else:
                    self._erase_rows(record.store_id)
                    work = replace(work, stage=work.stage + 1)
            elif place == "packs":
                self._packs.erase(record.store_id)
                work = replace(work, stage=work.stage + 1)
            else:
                work = self._page(record.store_id, place, work)
            work = replace(work, place=_named(places, work.stage))
            yield work

    def _page(self, store_id: str, prefix: str, work: WorkRow) -> WorkRow:
        """Erase one page of S3 versions."""
        mark = None if work.after is None else (work.after, work.after_version or "")
        page = self._erasable.versions(prefix, mark, VERSIONS_PER_PAGE)
        if prefix.split("/")[1] == "transcript":
            keys = [held.key for held in _held(page.versions)]
            work = replace(work, erased=work.erased + self._transcripts.erase_of_store(store_id, keys))
        else:
            results = self._region.parallel.run([partial(self._erase, held) for held in _held(page.versions)])
            work = replace(work, erased=work.erased + results.count("erased"), left=work.left + results.count("left"))
        if page.next_after is None:
            return replace(work, stage=work.stage + 1, after=None, after_version=None)
        return replace(work, after=page.next_after[0], after_version=page.next_after[1])

    def _erase(self, held: _Held) -> str:
        """Erase one key: ``erased`` now, ``blank`` before, or ``left`` because it cannot be read or blanked."""
        try:
            name = parse_key(held.key)
            if isinstance(name, LogKey):
                return self._erase_entry(name, held)
            if isinstance(name, ProposalKey):
                return "erased" if self._proposals.blank(held.key) else "blank"
            if isinstance(name, RunKey):
                return self._erase_run(held.key)
            if isinstance(name, JobKey):
                return self._erase_counts(held.key)
            return self._erase_record(held.key)
        except (ValueError, *port_errors.PORT_FAILURES):
            return "left"

    def _erase_entry(self, key: LogKey, held: _Held) -> str:
        entry = self._logs.entry(key)
        if entry is None:
            return "left"
        if entry.blank and not held.has_older:
            return "blank"
        self._eraser.blank(entry)
        return "erased"

    def _erase_counts(self, key: str) -> str:
        """Blank which memories were used, and in which sessions."""
        record = UsageRecord.from_json(require(self._region.objects, key).body)
        if record.has_counts:
            self._erasable.erase(key, record.blanked().to_json(), {})
            self._region.metrics.count("erased_objects")
            return "erased"
        return "erased" if self._erasable.delete_older(key) else "blank"

    def _erase_run(self, key: str) -> str:
        """Blank what the caller of a dream wrote."""
        record = RunRecord.from_json(require(self._region.objects, key).body)
        if record.has_text:
            self._erasable.erase(key, record.blanked().to_json(), {})
            self._region.metrics.count("erased_objects")
            return "erased"
        return "erased" if self._erasable.delete_older(key) else "blank"

    def _erase_record(self, key: str) -> str:
        """Its blank may have come from its home since the page was listed, over a text; no event tells of that."""
        record = StoreRecord.from_json(require(self._region.objects, key).body)
        if record.has_text:
            self._erasable.erase(key, record.blanked().to_json(), {})
            self._region.metrics.count("erased_objects")
            return "erased"
        return "erased" if self._erasable.delete_older(key) else "blank"

    def mend_record(self, key: StoreKey) -> bool:
        """Erase what came to a record of a store that is done here; whether there was anything. A read, if it is not.

        Raises:
            Unavailable: it may be there still.
        """
        work = self.progress(key.store_id)
        if work is None or work.done_at is None:
            return False
        return self._erase_record(str(key)) == "erased"

    def mend_proposal(self, key: ProposalKey) -> bool:
        """Erase what came to a proposal whose texts are to be gone; whether they are. As `ProposalErasure.erase`."""
        return self._proposals.erase(str(key))

    # ---- rows -----------------------------------------------------------------------------------------------------

    def _erase_rows(self, store_id: str) -> None:
        """Erase rows that no blank's event reaches: write intents, and rows projected ahead of their objects."""
        view = self._region.view()
        for table in TEXT_TABLES:
            for keys in rows_with_text(self._region, view, table, store_id):
                self._folder.fold_erasure(view, keys)

    def _query(self, query: Query) -> Sequence[Found]:
        return self._region.index.query(query)

    def _commit(self, changes: Sequence[Change]) -> bool:
        """Return False where another call is at the same store, which then goes on alone."""
        return commit_as_owner(self._region.index, changes)


def rows_with_text(region: Region, view: View, table: str, store_id: str) -> Iterator[list[RowKey]]:
    """Yield the keys of a store's rows that have a path or a hash, a page at a time, in every written generation."""
    for index in view.indexes:
        for found in row_pages(index, Query(table, store_id, limit=ROWS_PER_PAGE)):
            yield [one.key for one in found if "path" in one.attributes or "content_sha256" in one.attributes]


def _named(places: Sequence[str], stage: int) -> str:
    """Return the place of this number; ``end`` after the last one."""
    return places[stage] if stage < len(places) else "end"


def _held(versions: Sequence[ObjectVersion]) -> list[_Held]:
    older = {one.key for one in versions if not one.current}
    return [_Held(key, key in older) for key in dict.fromkeys(one.key for one in versions)]
