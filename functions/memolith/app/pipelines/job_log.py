"""Logs of jobs: objects at the store's home, of which the newest holds the job's state.

A record is put once, at the sequence after the newest; so a claim, a heartbeat and an end are each one conditional put.
There are no rows of jobs: whoever works on a store lists the few keys of its job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from memolith.app.kernel.listing import keys_under
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core.errors import Unavailable
from memolith.core.object_keys import JobKey
from memolith.core.objects.job_record import JobRecord
from memolith.core.objects.store_record import parse_epoch
from memolith.core.objects.usage_record import UsageRecord
from memolith.core.pipelines import jobs
from memolith.core.pipelines.jobs import LEASE_US, Claim, ClaimAnswer, Claimant, JobName
from memolith.core.rows.identity import StoreRow


class LostJobError(Exception):
    """Another worker has the job: this one's lease ran out. What it was about to do must not be done."""


class JobLog:
    """Claims, renews and ends jobs: those of a store at its home; one that a caller asks for where the call landed."""

    def __init__(self, region: Region, lease_us: int = LEASE_US) -> None:
        """Put it together. `lease_us`: for how long a claim holds if its worker is not heard of."""
        self._region = region
        self._lease_us = lease_us

    def state(self, store: StoreRow, name: JobName) -> JobRecord | None:
        """Return the newest record of a job, in this bucket. One LIST for a thousand records, one GET.

        A store that has moved has records of each of its homes: one LIST and one GET for each.

        Raises:
            Unavailable: the bucket does not answer, or a record cannot be read.
        """
        return max(self._last_records(store, name).values(), key=lambda record: record.rank, default=None)

    def _last_records(self, store: StoreRow, name: JobName) -> dict[str, JobRecord]:
        """Return the last record that each home, and this region, wrote: its newest, as epochs only rise."""
        found = {}
        for home, last in last_keys(self._region, store, name):
            record = self._read(last)
            if record is not None and str(record.key(home)) != last:
                raise Unavailable("a job's record says that it is elsewhere", object=last)
            if record is not None:
                found[home] = record
        return found

    def would_claim(self, store: StoreRow, name: JobName, worker: str, input_watermark: int) -> ClaimAnswer:
        """Return what a claim would be answered now, and claim nothing. Costs and raises as `state`."""
        who = Claimant(worker, "", epoch_number(store), self._region.clock.now_us())
        return jobs.claim(self.state(store, name), name, who, input_watermark, lease_us=self._lease_us).answer

    def claim(
        self,
        store: StoreRow,
        name: JobName,
        worker: str,
        input_watermark: int,
        *,
        cooldown_us: int = 0,
        requested: bool = False,
        input_sha256: str | None = None,
    ) -> Claim:
        """Claim a job here. As `state`, and one PUT where it is to be had. Never waits.

        `requested`, `input_sha256`: see `core.pipelines.jobs.claim`.

        Raises:
            Unavailable, Busy: nothing was claimed. OutcomeUnknown: the claim may be there; its lease will end it.
        """
        who = Claimant(
            worker, self._region.randomness.bytes(12).hex(), epoch_number(store), self._region.clock.now_us()
        )
        records = self._last_records(store, name)
        state = max(records.values(), key=lambda record: record.rank, default=None)
        decided = jobs.claim(
            state,
            name,
            who,
            input_watermark,
            cooldown_us=cooldown_us,
            lease_us=self._lease_us,
            requested=requested,
            input_sha256=input_sha256,
        )
        if decided.record is None:
            return decided
        sequence = next_sequence(records, self._region.name, who.epoch)
        record = replace(decided.record, sequence=sequence, input_sha256=input_sha256)
        return Claim(ClaimAnswer.CLAIMED, record) if self._put(record) else Claim(ClaimAnswer.RUNNING)

    def beat(self, held: JobRecord) -> JobRecord:
        """Renew a claim; one PUT. Return what is held now.

        Raises:
            LostJobError: another worker has the job. Unavailable, Busy, OutcomeUnknown: unknown; look before going on.
        """
        return self._next(jobs.beat(held, self._region.clock.now_us(), self._lease_us))

    def done(self, held: JobRecord, *, run_id: str, outcome: str) -> JobRecord:
        """End a run whose work is done; one PUT. Raises as `beat`: then this run does not count."""
        return self._next(jobs.done(held, self._region.clock.now_us(), run_id=run_id, outcome=outcome))

    def failed(self, held: JobRecord, *, run_id: str, error: str) -> JobRecord:
        """End a run that failed; one PUT. Raises as `beat`."""
        return self._next(jobs.failed(held, self._region.clock.now_us(), run_id=run_id, error=error))

    def _next(self, record: JobRecord) -> JobRecord:
        if not self._put(record):
            raise LostJobError(f"{record.kind} of {record.store_id}: record {record.sequence} is another worker's")
        return record

    def _put(self, record: JobRecord) -> bool:
        """Put a record at its sequence; False where another stands there."""
        key = str(record.key(self._region.name))
        is_mine = partial(self._is, key, record)
        return put_if_absent(self._region, key, record.to_json(), {}, is_mine=is_mine) is Put.MINE

    def _is(self, key: str, record: JobRecord) -> bool | None:
        found = self._read(key)
        return None if found is None else found == record

    def _read(self, key: str) -> JobRecord | None:
        found = find(self._region.objects, key)
        if found is None:
            return None
        try:
            return JobRecord.from_json(found.body)
        except ValueError as error:
            raise Unavailable("a job's record cannot be read", object=key, cause=str(error)) from error


def last_keys(region: Region, store: StoreRow, name: JobName) -> list[tuple[str, str]]:
    """Return the key of the last record that each home, and this region, wrote, in this bucket. A LIST for each."""
    found = []
    homes = [*(parse_epoch(epoch).home for epoch in store.epochs), store.home, region.name]
    for home in dict.fromkeys(homes):
        last: str | None = None
        for key in keys_under(region.objects, JobKey.prefix(home, name.store_id, name.kind, name.job_key)):
            last = key
        found += [] if last is None else [(home, last)]
    return found


def next_sequence(last: Mapping[str, JobRecord | UsageRecord], region: str, epoch: int) -> int:
    """Return where a region puts its next record, by the last one of each home: after its own, and those of the epoch.

    Not after those of an earlier home, which outrank nothing here: where one of them arrives late, a worker that has
    seen it and one that has not would put their records at two places, and both would think that theirs counts.
    """
    counted = (one.sequence for home, one in last.items() if home == region or one.epoch == epoch)
    return max(counted, default=0) + 1


def epoch_number(store: StoreRow) -> int:
    """Return the number of the store's epoch."""
    return max((parse_epoch(epoch).number for epoch in store.epochs), default=1)
