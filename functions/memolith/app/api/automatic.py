"""Pipelines that run by themselves, where a store's policy says so: extraction after a session, and regular dreams.

    a store of this home -> sessions in which something new was said -> the due ones are extracted -> perhaps a dream

The gates are in the order of what they cost, and nothing is asked of a model before the last of them. What is done is
recorded as jobs (`memolith.app.pipelines.job_log`), so that two processes, and a message that comes twice, do it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile

from memolith.app.api.dreams import Dreams
from memolith.app.api.extraction import OVER_BUDGET, Extractions
from memolith.app.api.usage import Heard, UsageCounts
from memolith.app.auth.authorizer import Authorizer, Scope, StoreAccess
from memolith.app.auth.session_log import SessionLog, record_of
from memolith.app.auth.session_tokens import READ_WRITE
from memolith.app.index.transcript_log import TranscriptLog, is_ordered
from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.recent import Recent
from memolith.app.kernel.region import Region, View
from memolith.app.pipelines.job_log import JobLog, LostJobError
from memolith.app.pipelines.run_log import RunLog
from memolith.core import session_order
from memolith.core.api_keys import why_ended
from memolith.core.errors import BudgetExhausted, Damaged, MemolithError
from memolith.core.limits import (
    AUTO_AGE_DAYS,
    AUTO_SESSIONS_PER_RUN,
    AUTO_SESSIONS_SCANNED,
    DREAM_SESSIONS_MAX,
    LIST_MAX,
)
from memolith.core.objects.job_record import JobRecord
from memolith.core.objects.run_record import PROPOSE, UPDATE_EXISTING, DreamStatus, RunRecord
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.store_record import StoreState
from memolith.core.pipelines import policy as policies
from memolith.core.pipelines.jobs import JobName
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.remarks import FOLDER, is_log, log_path
from memolith.core.retention import DAY_US
from memolith.core.rows.content import MemoryRow, PathRow
from memolith.core.rows.identity import SessionRow, StoreRow
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.times import is_due, not_ahead
from memolith.core.trust import USER, of_session
from memolith.ports.index import Query

HOUR_US = 3_600_000_000
SCHEDULE = "schedule"
"""The kind of the job that begins a store's dreams; its watermark is up to when sessions have been handed to one."""

FINISHED_FOR_US = 6 * HOUR_US
FINISHED_MAX = 10_000
"""For how long a process remembers that a session is done with, and of how many."""


@dataclass(slots=True)
class AutomaticRun:
    """What came of a look at a store: how many sessions were extracted, by outcome, the dream that was begun, and how
    many uses of memories were counted.
    """

    extracted: dict[str, int] = field(default_factory=dict)
    dream_id: str | None = None
    uses: int | None = None
    failure: MemolithError | None = None


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A session of the store, when something was last said in it, and recorded of it, and the rows of that."""

    record: SessionRecord
    row: SessionRow
    said_at: int
    recorded_at: int
    parts: Sequence[TranscriptRow]


class AutomaticPipelines:
    """Does what is due for a store whose home this region is."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        sessions: SessionLog,
        transcripts: TranscriptLog,
        extractions: Extractions,
        dreams: Dreams,
        runs: RunLog,
        jobs: JobLog,
        usage: UsageCounts,
    ) -> None:
        self._region = region
        self._usage = usage
        self._authorizer = authorizer
        self._sessions = sessions
        self._transcripts = transcripts
        self._extractions = extractions
        self._dreams = dreams
        self._runs = runs
        self._jobs = jobs
        self._finished = Recent(region.clock, FINISHED_FOR_US, FINISHED_MAX)

    def run(self, store_id: str, until_us: int | None = None) -> AutomaticRun:
        """Do what is due, until an instant at most. Repeatable, safe beside another; it begins a dream, and does none.

        An index read where nothing may happen by itself. Else a LIST and a GET of the dreams' job, a query for a
        hundred sessions of the last `AUTO_AGE_DAYS` days, and one for each of the store's, and an index read; what an
        extraction costs for each that is due; a LIST and a GET for each of which this process does not know that it is
        done; for a dream what a session costs, four PUTs and a transaction. Where uses are counted, a LIST and a GET
        once a minute, and each `memolith.app.api.usage.EVERY_US` what `UsageCounts.count` costs. Nothing is done while
        the index is incomplete, or once a table of it was emptied.

        Raises:
            Unavailable, Busy, OutcomeUnknown: the rest is done at the next look.
        """
        done = AutomaticRun()
        key = StoreRow.key(store_id)
        view = self._region.view([key])
        store = StoreRow.from_attributes(view.rows[key]) if key in view.rows else None
        if store is None or store.is_deleted or store.archived_at is not None or not self._is_home(store):
            return done
        policy = PipelinesPolicy.of(store.pipelines)
        may_dream = policy.dreams_by_itself and self._is_rested(store, policy)
        may_count = policy.counts_uses and self._usage.is_due(store)
        if not policy.extracts_by_itself and not may_dream and not may_count:
            return done
        heard = list(self._with_transcript(view, store, all=may_count))
        # In a table that was emptied sessions are missing: how far their parts are counted would be forgotten, and the
        # next dreams would pass them over. The store's own row may be one from before its policy was changed.
        if not self._region.is_whole(view, "keys", "stores"):
            return done
        if may_count:
            done.uses = self._usage.count(view, store, [Heard(one.record.session_id, one.parts) for one in heard])
        sessions = [one for one in heard if _writes_to(one.record, store.store_id)]
        if policy.extracts_by_itself:
            self._extract(view, store, policy, sessions, until_us, done)
        if may_dream:
            done.dream_id = self._begin_dream(view, store, policy, sessions)
        return done

    def _is_home(self, store: StoreRow) -> bool:
        return store.home == self._region.name and store.state == StoreState.ACTIVE

    def _with_transcript(self, view: View, store: StoreRow, *, all: bool) -> Iterator[_Recorded]:
        """Find the sessions of which something is recorded, the newest first: those that may write to the store, or
        `all` that have it.
        """
        since = self._region.clock.now_us() - AUTO_AGE_DAYS * DAY_US
        after: str | None = None
        for _ in range(AUTO_SESSIONS_SCANNED // LIST_MAX):
            rows = self._sessions.newest(view, store.workspace_id, after, LIST_MAX)
            for row in rows:
                if session_order.is_before(row.session_id, since):
                    return
                record = record_of(row)
                if _writes_to(record, store.store_id) or (all and record.has_store(store.store_id)):
                    yield from self._heard(view, record, row)
            if len(rows) < LIST_MAX:
                return
            after = rows[-1].session_id

    def _heard(self, view: View, record: SessionRecord, row: SessionRow) -> Iterator[_Recorded]:
        parts = self._transcripts.rows(view, record.workspace_id, record.session_id)
        live = [part for part in parts if part.erased_at is None and part.last_at is not None]
        if live and not is_ordered(parts):
            said_at, recorded_at = max(part.last_at or 0 for part in live), max(part.recorded_at for part in live)
            yield _Recorded(record, row, said_at, recorded_at, parts)

    # ---- extraction ---------------------------------------------------------------------------------------------

    def _extract(
        self,
        view: View,
        store: StoreRow,
        policy: PipelinesPolicy,
        sessions: Sequence[_Recorded],
        until_us: int | None,
        done: AutomaticRun,
    ) -> None:
        """Extract the sessions that are due, the oldest first; a failure leaves the others to the next look, unless it
        is that this one cannot be read.

        At most `AUTO_SESSIONS_PER_RUN` are asked about. Those of which there is nothing to ask are not among them: a
        process that has just started knows of none that it is done, and would never come to those after them.
        Where the store's tokens of the day are used up, all are left to the next day, or to a greater budget. A session
        that takes more than those of a whole day is left to a greater budget alone, and holds up no other.
        """
        day = self._region.clock.now_us() // DAY_US
        exhausted = f"{store.store_id}/{day}/{policy.max_tokens_per_day}"
        for one in reversed(sessions):
            now_us = self._region.clock.now_us()
            asked = sum(count for outcome, count in done.extracted.items() if outcome in _ASKED)
            over = asked >= AUTO_SESSIONS_PER_RUN or (until_us is not None and now_us > until_us)
            if over or exhausted in self._finished:
                return
            name = f"{store.store_id}/{one.record.session_id}/{one.recorded_at}"
            idle = one.record.archived_at is not None or is_due(one.said_at, now_us, policy.idle_hours * HOUR_US)
            too_dear = f"{name}/{policy.max_tokens_per_day}"
            if not idle or name in self._finished or too_dear in self._finished:
                continue
            access = self._as_session(view, store, one)
            if access is None:
                self._finished.note(name)
                continue
            try:
                outcome = self._extractions.extract_unasked(access, one.record, one.recorded_at, policy.model, until_us)
            except BudgetExhausted:
                self._finished.note(exhausted)
                return
            except MemolithError as error:
                done.failure = error
                self._region.metrics.count("pipelines.failed")
                if isinstance(error, Damaged):
                    continue
                return
            done.extracted[outcome] = done.extracted.get(outcome, 0) + 1
            if outcome in _FINISHED:
                self._finished.note(name)
            elif outcome == OVER_BUDGET:
                self._finished.note(too_dear)

    def _as_session(self, view: View, store: StoreRow, one: _Recorded) -> StoreAccess | None:
        """Return what the session itself may, also one that has ended; None where the key that began it has ended.

        Where that key has not arrived, nobody here knows who holds it: what the session taught is of unknown class.
        """
        key_id = one.record.key_id
        key = None if key_id is None else self._authorizer.find_key(view, store.workspace_id, key_id)
        if key is not None and why_ended(key, self._region.clock.now_us()) is not None:
            return None
        read = None if key is None and key_id is not None else one.row.trust or USER
        trust = of_session([] if key is None else [key.holder], read)
        actor = f"session:{one.record.session_id}"
        return StoreAccess(view, store.workspace_id, actor, Scope.write, trust=trust, store=store, asks_withheld=False)

    # ---- dreams -------------------------------------------------------------------------------------------------

    def _job(self, store: StoreRow) -> JobName:
        return JobName(store.store_id, SCHEDULE, "dream")

    def _is_rested(self, store: StoreRow, policy: PipelinesPolicy) -> bool:
        """Tell whether it is long enough since a dream was begun."""
        state = self._jobs.state(store, self._job(store))
        begun_at = None if state is None else state.done_at
        return is_due(begun_at, self._region.clock.now_us(), policy.dream_every_hours * HOUR_US)

    def _begin_dream(
        self, view: View, store: StoreRow, policy: PipelinesPolicy, sessions: Sequence[_Recorded]
    ) -> str | None:
        """Begin a dream about the sessions in which something was said since the last one, if they are enough, or if
        the store has remarks since then.

        Those of a dream that failed are among them again. Where sessions are extracted by themselves, what they taught
        comes to the store without the dream, which is then about the store alone.

        What was recorded with a clock that was ahead is handed over until that instant has passed.
        """
        now_us = self._region.clock.now_us()
        state = self._jobs.state(store, self._job(store))
        last = None if state is None or not state.run_id else self._runs.read(view, state.run_id)
        failed = last is not None and last.status is DreamStatus.FAILED
        again = set(last.session_ids) if last is not None and failed else set()
        since = not_ahead(None if state is None else state.watermark, now_us)
        fresh = [one for one in sessions if one.recorded_at > since]
        if len(fresh) < policy.dream_min_sessions and not failed:
            begun_at = not_ahead(None if state is None else state.done_at, now_us)
            if not self._has_remarks(view, store, begun_at):
                return None
        chosen = [one for one in sessions if one.recorded_at > since or one.record.session_id in again]
        chosen = sorted(chosen, key=lambda one: one.recorded_at)[:DREAM_SESSIONS_MAX]
        if any(run.store_id == store.store_id for run in self._runs.open_runs(view, store.workspace_id)):
            return None
        watermark = max([since + 1, *(min(one.recorded_at, now_us) for one in chosen)])
        claim = self._jobs.claim(
            store,
            self._job(store),
            self._region.name,
            watermark,
            cooldown_us=policy.dream_every_hours * HOUR_US,
        )
        if claim.record is None:
            return None
        run = self._dreams.begin_unasked(
            view,
            store,
            session_ids=[] if policy.extracts_by_itself else [one.record.session_id for one in chosen],
            model=policy.model,
            behavior=UPDATE_EXISTING if policy.auto_dream == policies.WRITE else PROPOSE,
        )
        return self._begun(claim.record, run)

    def _has_remarks(self, view: View, store: StoreRow, since_us: int) -> bool:
        """Tell whether a log of the last days was written since. A query for a hundred logs, and an index read."""
        now_us = self._region.clock.now_us()
        before = log_path(now_us - (AUTO_AGE_DAYS - 1) * DAY_US).removesuffix(
            ".md"
        )  # each part of a day has it, and more
        query = Query("paths", store.store_id, prefix=FOLDER, after=before, limit=LIST_MAX)
        logs = takewhile(lambda row: row.path <= log_path(now_us), rows_of(view.index, query, PathRow))
        found = [row.memory_id for row in logs if is_log(row.path)]
        heads = [MemoryRow.key(store.store_id, one) for one in found if one is not None]
        rows = self._region.read(view.index, heads).values() if heads else []
        return any(MemoryRow.from_attributes(row).updated_at > since_us for row in rows)

    def _begun(self, held: JobRecord, run: RunRecord) -> str:
        with suppress(LostJobError):  # another process begins one too; one dream at a time works on a store
            self._jobs.done(held, run_id=run.run_id, outcome="begun")
        return run.run_id


_ASKED = frozenset(("proposed", "no_output"))
"""What comes of a session about which a model was asked."""

_FINISHED = frozenset(("proposed", "no_output", "nothing_said", "up_to_date", "retry_exhausted"))
"""What comes of a session that is not looked at again before something was said in it."""


def _writes_to(record: SessionRecord, store_id: str) -> bool:
    return any(one.memory_store_id == store_id and one.access == READ_WRITE for one in record.attachments)
