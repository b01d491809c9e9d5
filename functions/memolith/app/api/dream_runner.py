"""Doing dreams: one at a time for a store, as the dream's own session, and conditional on what was read.

A run is: claim, copy the input where the output is a new store, read, ask, plan, apply, end. Killed at any step, it is
taken up again after its lease: what was copied is found, no question is asked twice, and the plan that was kept before
any of it was carried out is carried out to its end. An edit whose memory changed since it was read is left out, so no
one's write is lost. Where a text of the store is erased meanwhile, the dream forgets what it kept, and asks again. The
end is a conditional put after the record that the run began with: a dream that was canceled meanwhile stays canceled.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from memolith.app.api.dream_edits import DreamEdits
from memolith.app.api.dream_memories import DreamMemories
from memolith.app.api.dream_plan import (
    answer_to_keep,
    is_counted,
    kept_answer,
    kept_plan,
    question_name,
    resumed,
)
from memolith.app.api.dream_run import (
    DreamFailedError,
    DreamPausedError,
    DreamStoppedError,
    Run,
    Taken,
    asked_of,
    end_job,
    end_left,
    failed,
    failure_type,
    job_of,
    opened_at_first,
    run_of,
    used,
)
from memolith.app.api.dream_sessions import DreamSessions
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.auth.session_trust import SessionTrust
from memolith.app.epochs.fence import Fence
from memolith.app.kernel.region import Region, View
from memolith.app.pipelines.dream_steps import DreamSteps
from memolith.app.pipelines.job_log import JobLog, LostJobError, epoch_number
from memolith.app.pipelines.prompts import Prompt, load_prompt
from memolith.app.pipelines.questions import CONSOLIDATION, EXTRACTION, Question
from memolith.app.pipelines.run_log import RunLog
from memolith.app.pipelines.token_budgets import TokenBudgets
from memolith.core.errors import NotFound, PermissionDenied, Unauthenticated
from memolith.core.objects.dream_step import PLAN
from memolith.core.objects.run_record import CREATE_NEW, UPDATE_EXISTING, DreamStatus, RunRecord
from memolith.core.objects.store_record import StoreState
from memolith.core.pipelines import dreams, jobs
from memolith.core.pipelines.dreams import DreamedMemory
from memolith.core.pipelines.policy import ALLOW
from memolith.core.remarks import REMARKS_AGAIN_US, is_log, notes_of, taken_until
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import SessionRow, StoreRow
from memolith.core.times import is_due, not_ahead, rfc3339
from memolith.core.trust import AGENT, least, rank
from memolith.ports.model import Answer, Model, ModelFailure, Models, OutOfTime

OUT_OF_TIME = "out_of_time"
STOPPED = "stopped"
TRIES_MAX = 3
REMARKS_UNTIL = "remarks_until"
"""In a plan that is kept: since when remarks are the next dream's."""

NO_ANSWER = f"the model gave no answer in time, in {TRIES_MAX} tries; dream over fewer sessions, or name a faster model"
ARRIVES_WITHIN_US = 900_000_000
"""How long a dream that was asked for in another region waits for its session and its output to arrive."""

_log = logging.getLogger(__name__)


class DreamRunner:
    """Does the dreams of the stores whose home this region is."""

    def __init__(
        self,
        region: Region,
        authorizer: Authorizer,
        memories: DreamMemories,
        edits: DreamEdits,
        steps: DreamSteps,
        sessions: DreamSessions,
        trust: SessionTrust,
        runs: RunLog,
        jobs: JobLog,
        models: Models,
        fence: Fence,
        budgets: TokenBudgets,
    ) -> None:
        self._region = region
        self._authorizer = authorizer
        self._memories = memories
        self._edits = edits
        self._steps = steps
        self._sessions = sessions
        self._trust = trust
        self._runs = runs
        self._jobs = jobs
        self._models = models
        self._fence = fence
        self._budgets = budgets

    def tick(self, workspace_id: str) -> int:
        """Do the dreams of a workspace that wait, the oldest first; return how many were taken up. Repeatable.

        One index read and a query where none waits.

        Raises:
            Unavailable: the region does not answer.
        """
        done = 0
        for record in self._runs.open_runs(self._region.view(), workspace_id):
            done += self.run(record) is not Taken.NOT_HAD
        return done

    def take_up(self, run_id: str, until_us: int | None = None) -> Taken:
        """Do a dream by its id, or go on with it, until an instant at most. Repeatable, safe beside another.

        Four index reads, two LISTs and two GETs where it is over, or another worker has it.

        Raises:
            Unavailable, OutcomeUnknown, Busy: it is taken up again after its lease.
        """
        record = self._runs.read(self._region.view(), run_id)
        if record is None:
            return Taken.WAITS
        if record.status.is_open:
            return self.run(record, until_us)
        key = StoreRow.key(record.store_id)
        view = self._region.view([key])
        if key in view.rows and (store := StoreRow.from_attributes(view.rows[key])).home == self._region.name:
            end_left(self._jobs, self._runs, view, store)
        self._steps.forget(record)  # its worker may have died between the two
        return Taken.ENDED

    def run(self, record: RunRecord, until_us: int | None = None) -> Taken:
        """Do one dream, or go on with it. Raises as `take_up`."""
        key, session_key = StoreRow.key(record.store_id), SessionRow.key(record.workspace_id, record.session_id)
        output_key = StoreRow.key(record.output_store_id)
        view = self._region.view([key, output_key, session_key])
        if key not in view.rows:
            return Taken.NOT_HAD
        store = StoreRow.from_attributes(view.rows[key])
        if store.home != self._region.name:
            return Taken.NOT_HAD
        arrived = session_key in view.rows and output_key in view.rows
        if not arrived and self._region.clock.now_us() < record.created_at + ARRIVES_WITHIN_US:
            return Taken.WAITS
        record = self._runs.caught_up(view, store, record)
        end_left(self._jobs, self._runs, view, store)
        if not record.status.is_open:
            self._steps.forget(record)
            return Taken.ENDED
        until_now = min(record.created_at, self._region.clock.now_us())
        claim = self._jobs.claim(store, job_of(record.store_id), record.run_id, until_now, requested=True)
        if claim.record is None:
            return Taken.NOT_HAD
        run = run_of(view, store, record, claim.record, until_us)
        try:
            return self._carry_out(run)
        except DreamStoppedError:
            with suppress(LostJobError):  # the store's next dream does not wait for the lease
                self._jobs.failed(run.held, run_id=run.record.run_id, error=STOPPED)
            newest = self._runs.read(self._region.view(), record.run_id)
            if newest is not None and not newest.status.is_open:  # else another worker has it, and needs its steps
                self._steps.forget(record)
        except LostJobError:
            now = self._region.view([key]).rows.get(key)
            if now is None or StoreRow.from_attributes(now).home != self._region.name:
                self._steps.forget(run.record)
        return Taken.ENDED

    def _carry_out(self, run: Run) -> Taken:
        try:
            if not run.policy.may_dream:
                raise DreamFailedError("input_memory_store_unavailable", "the store's policy allows no dreams")
            if run.record.status is DreamStatus.PENDING:
                now_us = self._region.clock.now_us()
                self._put(run, replace(run.record, status=DreamStatus.RUNNING, started_at=now_us))
            self._steps.begin(run.record, run.held.token)
            if run.record.behavior == CREATE_NEW and not run.record.copied:
                self._memories.copy(run, lambda: self._go_on(run))
                self._put(run, replace(run.record, copied=True, dropped=tuple(run.dropped)))
            self._consolidate(run)
            ended = replace(run.record, status=DreamStatus.COMPLETED)
        except DreamFailedError as failure:
            ended = failed(run, failure.type, str(failure))
        except (NotFound, Unauthenticated, PermissionDenied) as error:
            ended = failed(run, "input_memory_store_unavailable", error.message)
        except (DreamPausedError, OutOfTime):
            return self._pause(run)
        except ModelFailure as failure:
            _log.warning("a dream's model failed", extra={"reason": type(failure).__name__, "run": run.record.run_id})
            ended = failed(run, failure_type(failure), str(failure))
        self._end(run, replace(ended, ended_at=self._region.clock.now_us(), dropped=tuple(run.dropped)))
        return Taken.ENDED

    def _end(self, run: Run, record: RunRecord) -> None:
        """End a dream, then its job. What `_put` costs, which raises too, and a put more."""
        self._put(run, record)
        self._region.metrics.count("dream.runs", outcome=record.status.value)
        end_job(self._jobs, run.held, record)
        self._steps.forget(record)

    def _pause(self, run: Run) -> Taken:
        """Leave a dream to its next worker. What was paid for, and done, is put down before: an erasure may take the
        answers, and the plan.

        A put; where there is anything to put down, another, which makes sure that this worker has the dream, and what
        `_put` costs. Raises as `_put`.
        """
        if run.so_far != run.last:
            run.held = self._jobs.beat(run.held)
            self._put(run, run.so_far)
        self._jobs.failed(run.held, run_id=run.record.run_id, error=OUT_OF_TIME)
        return Taken.PAUSED

    def _at_home(self, view: View, run: Run) -> StoreRow:
        """Return the store as it is in `view`: at home here, to stay, in the epoch in which the dream was taken up.

        Raises:
            LostJobError: it has moved, or moves. What was written meanwhile was conditional, and stays.
        """
        attributes = view.rows.get(StoreRow.key(run.record.store_id))
        store = None if attributes is None else StoreRow.from_attributes(attributes)
        here = store is not None and (store.home, epoch_number(store)) == (self._region.name, run.held.epoch)
        if store is None or not here or store.state in (StoreState.MOVING, StoreState.MOVED):
            raise LostJobError(f"{run.record.store_id} has another home")
        return store

    def _put(self, run: Run, record: RunRecord) -> None:
        """Put the next record of a dream, with what no row has, in the epoch in which the dream was taken up.

        An index read, a GET, and what `RunLog.put` costs. Raises LostJobError, as `_at_home`; DreamStoppedError.
        """
        last = self._runs.whole(run.last)
        view = self._region.view([StoreRow.key(record.store_id)])
        store = self._at_home(view, run)
        sources = {**last.sources, **record.sources}
        following = replace(record, sequence=last.sequence + 1, claim=run.held.token)
        changed = replace(following, instructions=last.instructions, sources=sources)
        if not self._runs.put(run.view, store, changed):
            raise DreamStoppedError
        run.record = run.last = changed
        if not self._fence.may_put(view, store):
            raise LostJobError(f"{record.store_id} may have another home")

    def _go_on(self, run: Run) -> None:
        """Check the time, the dream's key and session, its record, its store's home, and that no text was erased; renew
        a claim that is due.

        An index read and a HEAD. Raises DreamPausedError, DreamStoppedError, LostJobError, Unauthenticated.
        """
        if run.until_us is not None and self._region.clock.now_us() > run.until_us:
            raise DreamPausedError
        key = DreamRow.key(run.record.run_id)
        view = self._authorizer.enter_any(run.call, Scope.read, [StoreRow.key(run.record.store_id), key]).view
        newest = DreamRow.from_attributes(view.rows[key]).parsed if key in view.rows else None
        if newest is None or not newest.status.is_open or newest.sequence > run.record.sequence:
            raise DreamStoppedError
        self._at_home(view, run)
        if not self._steps.is_begun(run.record, run.held.token):
            self._forget_and_pause(run)
        if is_due(run.held.at, self._region.clock.now_us(), jobs.BEAT_US):
            run.held = self._jobs.beat(run.held)

    # ---- asking -------------------------------------------------------------------------------------------------

    def _consolidate(self, run: Run) -> None:
        """Carry out the plan that is kept; or ask, in a few rounds without tools, keep the plan, and carry it out."""
        kept = self._steps.find(run.record, PLAN)
        if kept is not None:
            run.record, plan = resumed(run.record, kept)
            self._pass_remarks(run, kept.get(REMARKS_UNTIL))
            run.dropped = list(plan.dropped)
            self._edits.carry_out(run, plan, lambda: self._go_on(run))
            return
        model = self._models.named(run.record.model)
        notes = self._notes(run, model)
        memories = self._memories.read(run, lambda: self._go_on(run))
        notes += self._remarks(run, memories)
        if not memories and not notes:
            return
        sources = {one.version_id for one in memories.values()} | {str(note["id"]) for note in notes}
        instructions = self._runs.instructions(run.record)

        def ask(number: int, opened: Collection[str] | None) -> Mapping[str, Any]:
            self._go_on(run)
            self._lower(run, [one.trust for one in memories.values() if opened is None or one.path in opened])
            now = rfc3339(self._region.clock.now_us())
            asked = dreams.document(list(memories.values()), opened, notes, instructions, now, run.least)
            data: Mapping[str, Any] = self._ask(run, model, CONSOLIDATION, f"{run.record.run_id}.{number}", asked).data
            if data["edits"] and not data["done"]:
                self._pass_remarks(run, taken_until(data, notes) or self._since(run))
            return data

        edits = dreams.edits_of(memories, opened_at_first(model, memories), ask)
        if edits is None:
            raise DreamFailedError("internal_error", f"the model only opened memories in {dreams.ROUNDS_MAX} rounds")
        bounded = run.record.behavior == UPDATE_EXISTING and run.policy.dreams == ALLOW
        most = run.policy.deletes(len(memories)) if bounded else None
        chosen = dreams.selected(edits, memories, sources, deletes_max=most)
        run.dropped += chosen.dropped
        plan = self._edits.planned(run, chosen.edits, memories)
        if plan.edits:
            until_us = run.held.input_watermark - REMARKS_AGAIN_US
            self._keep(run, PLAN, {**kept_plan(run.record, plan), REMARKS_UNTIL: until_us})
        self._edits.carry_out(run, plan, lambda: self._go_on(run))

    def _notes(self, run: Run, model: Model) -> list[dict[str, object]]:
        """Ask what of each session is worth keeping. One question a session that says anything."""
        notes: list[dict[str, object]] = []
        for session_id in run.record.session_ids:
            one = self._sessions.of_run(run, session_id, model.window_tokens, lambda: self._go_on(run))
            if one is None:
                continue
            self._lower(run, one.classes)
            answer = self._ask(run, model, EXTRACTION, f"{run.record.run_id}.{session_id}", one.document)
            kept = one.notes(answer.data)
            run.dropped += ["unsupported"] * (len(answer.data["notes"]) - len(kept))
            notes += kept
        return notes

    def _remarks(self, run: Run, memories: dict[str, DreamedMemory]) -> list[dict[str, object]]:
        """Take the logs out of what the dream may edit; return what they say since the last dream, as notes."""
        logs = {path: memories.pop(path) for path in [*memories] if is_log(path)}
        since_us = self._since(run)

        def before(path: str) -> str:
            return self._memories.before(run, logs[path], since_us, lambda: self._go_on(run))

        notes, left_us = notes_of({path: log.text for path, log in logs.items()}, since_us, before)
        self._lower(run, [logs[path].trust for path in {str(note["session"]) for note in notes}])
        self._pass_remarks(run, left_us)
        return notes

    def _pass_remarks(self, run: Run, until_us: int | None) -> None:
        """Have the next dream be handed the remarks since an instant, where this one does not come as far as it may.

        A PUT then: whichever worker ends the job goes by that. Raises as `JobLog.beat`.
        """
        if until_us is not None and until_us + REMARKS_AGAIN_US < run.held.input_watermark:
            run.held = self._jobs.beat(replace(run.held, input_watermark=until_us + REMARKS_AGAIN_US))

    def _lower(self, run: Run, classes: Iterable[str | None]) -> None:
        """Lower the class of all that the dream writes from now on to the least that its model is shown."""
        shown = least(classes, AGENT)
        if rank(shown) < rank(run.least):
            self._trust.lower(run.record.workspace_id, run.record.session_id, shown)
            run.least = shown

    def _ask(self, run: Run, model: Model, question: Question, key: str, document: Mapping[str, object]) -> Answer:
        prompt = load_prompt(question.prompt)
        ask = asked_of(run, question, prompt, key, document)
        name = question_name(run.record.model, prompt.sha256, document)
        kept = self._steps.find(run.record, name)
        if kept is not None:
            return self._answered(run, kept_answer(kept), prompt, is_counted=is_counted(kept, run.last))
        if self._steps.count_asked(run.record, run.held.token) >= TRIES_MAX:
            raise DreamFailedError("internal_error", NO_ANSWER)
        number = run.record.asks
        try:
            answer = self._budgets.ask(run.record.store_id, run.policy.max_tokens_per_day, model, ask)
        except ModelFailure as failure:
            run.record = used(run.record, failure.usage, failure.cost_micro_usd)
            if isinstance(failure, OutOfTime):  # the question is asked again, as the same one
                run.record = replace(run.record, asks=number)
            raise
        self._answered(run, answer, prompt)
        self._keep(run, name, answer_to_keep(answer, number))
        return answer

    def _answered(self, run: Run, answer: Answer, prompt: Prompt, *, is_counted: bool = False) -> Answer:
        """Note an answer in the record, and what it took unless that is counted already; return the answer."""
        record = run.record if is_counted else used(run.record, answer.usage, answer.cost_micro_usd)
        run.record = replace(record, model_answered=answer.model, prompt_sha256=prompt.sha256)
        return answer

    def _keep(self, run: Run, name: str, step: Mapping[str, Any]) -> None:
        """Keep a step. Raises DreamPausedError, without any step: a text was erased meanwhile that it may rest on."""
        if not self._steps.keep(run.record, run.held.token, name, step):
            self._forget_and_pause(run)

    def _forget_and_pause(self, run: Run) -> NoReturn:
        self._steps.forget(run.record)
        raise DreamPausedError

    def _since(self, run: Run) -> int:
        """Return since when a dream is handed remarks."""
        return not_ahead(max(0, run.held.watermark - REMARKS_AGAIN_US), self._region.clock.now_us())
