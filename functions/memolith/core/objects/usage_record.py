"""How often which memories of a store were used: one record with all counts, put where the store's jobs stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from memolith.core.object_keys import JobKey
from memolith.core.objects.schema import SCHEMA, _load, known

KIND, JOB_KEY = "usage", "all"


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """How often a memory was cited and read, and the last day of each, counted from 1970; -1 for never."""

    cited: int = 0
    read: int = 0
    cited_day: int = -1
    read_day: int = -1

    @property
    def last_day(self) -> int:
        """The last day on which it was used in either way."""
        return max(self.cited_day, self.read_day)


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """The counts of a store, as of one look at its transcripts. It holds ids and days, and no text of anyone's.

    Attributes:
        store_id: the store.
        epoch: the number of the store's epoch in which it was put; a later epoch's records outrank all earlier ones.
        sequence: counted from 1 in each region that puts records, through all epochs.
        at: when it was put.
        began_at: when the first was: before that nothing was counted.
        cursors: of each session and region the last part of the transcript that is counted.
        memories: the counts, by the memory's id.
    """

    store_id: str
    epoch: int
    sequence: int
    at: int
    began_at: int
    cursors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    memories: Mapping[str, MemoryUse] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[int, int]:
        """Which of a store's records is the newest: the greatest."""
        return self.epoch, self.sequence

    def key(self, home: str) -> JobKey:
        """Return the key under which `home` puts it."""
        return JobKey(home, self.store_id, KIND, JOB_KEY, self.sequence)

    @property
    def has_counts(self) -> bool:
        """Whether it holds anything that an erasure takes away."""
        return bool(self.memories or self.cursors)

    def blanked(self) -> UsageRecord:
        """Return what is put over it to erase it."""
        return replace(self, cursors={}, memories={})

    def to_json(self) -> bytes:
        fields = {name: value for name, value in asdict(self).items() if name != "memories"}
        counts = {id: [one.cited, one.read, one.cited_day, one.read_day] for id, one in self.memories.items()}
        return json.dumps({"schema": SCHEMA, **fields, "memories": counts}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> UsageRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = known(cls, _load(body))
        try:
            counts = {id: MemoryUse(*one[:4]) for id, one in fields["memories"].items()}
            return cls(**{**fields, "memories": counts})
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"a record of uses cannot be read ({error})") from error
