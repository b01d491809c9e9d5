"""One record of a job: work that one worker at a time does for a store. The newest record has the job's whole state."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from memolith.core.object_keys import JobKey
from memolith.core.objects.schema import SCHEMA, _load, known


class JobEvent(StrEnum):
    """What happened."""

    CLAIMED = "claimed"
    BEAT = "beat"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One record, and with it the whole state of its job; the JSON body of its object. It holds no text of anyone's.

    Attributes:
        store_id, kind, job_key: which job.
        epoch: the number of the store's epoch in which it was put; a later epoch's records outrank all earlier ones.
        sequence: counted from 1 by the region that puts it, through all epochs.
        event, at: what happened, and when.
        worker: who did it, for people.
        token: the claim's own; empty where no one works on it.
        lease_until: until when the claim holds, unless it is renewed.
        input_watermark: up to where the input of the run goes, or of the last one.
        watermark: up to where everything was done; it goes back only from an instant that is still to come.
        done_at: when the last run was done.
        run_id, outcome: of the last run.
        error: what kind of failure the last one was.
        retry_at, retries_left: of the input that failed.
        input_sha256: a hash of the run's input, where jobs of this kind go by that; None where they do not.
    """

    store_id: str
    kind: str
    job_key: str
    epoch: int
    sequence: int
    event: JobEvent
    at: int
    worker: str
    token: str
    lease_until: int
    input_watermark: int
    watermark: int = 0
    done_at: int | None = None
    run_id: str | None = None
    outcome: str | None = None
    error: str | None = None
    retry_at: int | None = None
    retries_left: int | None = None
    input_sha256: str | None = None

    @property
    def rank(self) -> tuple[int, int]:
        """Which of a job's records is the newest: the greatest."""
        return self.epoch, self.sequence

    @property
    def is_held(self) -> bool:
        """Whether a worker has it, or had it and was not heard of again."""
        return self.event in (JobEvent.CLAIMED, JobEvent.BEAT)

    def key(self, home: str) -> JobKey:
        """Return the key under which `home` puts it."""
        return JobKey(home, self.store_id, self.kind, self.job_key, self.sequence)

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> JobRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = known(cls, _load(body))
        try:
            return cls(**{**fields, "event": JobEvent(fields["event"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a job's record cannot be read ({error})") from error
