"""Defects of jobs: claims, leases, watermarks, and what a dream applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memolith.adapters.memory import MemoryObjects
from memolith.app.api import dream_edits, dream_runner
from memolith.app.api.dream_run import Run
from memolith.app.kernel.region import View
from memolith.core.objects.job_record import JobRecord
from memolith.core.objects.proposal_record import PlannedWrite
from memolith.core.objects.run_record import RunRecord
from memolith.core.pipelines import jobs
from memolith.core.pipelines.dreams import DreamedMemory, Edit
from memolith.core.pipelines.jobs import Claim, Claimant, JobName
from memolith.core.rows.identity import StoreRow
from tests.simulation import sites
from tests.simulation.bugs.commits import UnconditionalObjects
from tests.simulation.bugs.planting import Bug, in_place_of
from tests.simulation.bugs.worlds import working_and_moved
from tests.simulation.kinds import working

_claim = jobs.claim


class UnconditionalJobs(UnconditionalObjects):
    """A record of a job is put whatever stands there; anything else is put as it should."""

    part = "/job/"

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        if self.part in key:
            return super().put_if_absent(key, body, metadata, content_sha256, region)
        return MemoryObjects.put_if_absent(self, key, body, metadata, content_sha256, region)


def claim_without_lease(
    state: JobRecord | None, name: JobName, who: Claimant, input_watermark: int, **others: Any
) -> Claim:
    """Claims as if the lease of whoever has the job were over."""
    held = None if state is None else replace(state, lease_until=who.now_us)
    return _claim(held, name, who, input_watermark, **others)


class EarlyEnds(dream_runner.DreamRunner):
    """Ends the job before anything is asked or applied."""

    def _consolidate(self, run: Run) -> None:
        self._jobs.done(run.held, run_id=run.record.run_id, outcome="completed")
        super()._consolidate(run)

    def _end(self, run: Run, record: RunRecord) -> None:
        self._put(run, record)


class UnfencedWorkers(dream_runner.DreamRunner):
    """Goes on with a dream, and puts what it came to, also where the store is not at home any more."""

    def _at_home(self, view: View, run: Run) -> StoreRow:
        return StoreRow.from_attributes(view.rows[StoreRow.key(run.record.store_id)])


class HeedlessEdits(dream_edits.DreamEdits):
    """Writes over whatever is there."""

    def _write(self, run: Run, edit: Edit, planned: PlannedWrite, memories: Mapping[str, DreamedMemory]) -> None:
        anything: Any = {"sha256": None, "version_id": None}
        super()._write(run, edit, planned, {path: replace(one, **anything) for path, one in memories.items()})


class EditsOfTexts(dream_edits.DreamEdits):
    """Looks at the text alone of what it writes over: it may have been renamed."""

    def _write(self, run: Run, edit: Edit, planned: PlannedWrite, memories: Mapping[str, DreamedMemory]) -> None:
        any_version: Any = {"version_id": None}
        super()._write(run, edit, planned, {path: replace(one, **any_version) for path, one in memories.items()})


BUGS = (
    Bug(
        "a job is claimed without a condition",
        lambda: in_place_of((sites, "MemoryObjects", UnconditionalJobs)),
        ("a_record_of_a_job_is_put_once",),
        working,
    ),
    Bug(
        "a job's lease is ignored",
        lambda: in_place_of((jobs, "claim", claim_without_lease)),
        ("a_claim_holds_for_its_lease",),
        working,
    ),
    Bug(
        "a job is done before its edits are applied",
        lambda: in_place_of((dream_runner, "DreamRunner", EarlyEnds)),
        ("a_job_is_done_once_its_run_is_over", "one_run_of_a_watermark_counts"),
        working,
    ),
    Bug(
        "a dream is ended where its store was at home before",
        lambda: in_place_of((dream_runner, "DreamRunner", UnfencedWorkers)),
        ("one_run_of_a_watermark_counts",),
        working_and_moved,
    ),
    Bug(
        "a dream writes over what it has not read",
        lambda: in_place_of((dream_edits, "DreamEdits", HeedlessEdits)),
        ("a_dream_changes_only_what_it_read",),
        working,
    ),
    Bug(
        "a dream writes over what was renamed since it read it",
        lambda: in_place_of((dream_edits, "DreamEdits", EditsOfTexts)),
        ("a_dream_changes_only_what_it_read",),
        working,
    ),
)
