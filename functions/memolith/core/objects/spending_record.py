"""How many tokens pipelines took of a store on one day in one region, put where the store's jobs stand."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from memolith.core.object_keys import JobKey
from memolith.core.objects.schema import SCHEMA, _load, known

KIND = "spending"


@dataclass(frozen=True, slots=True)
class SpendingRecord:
    """The sum of one region's questions about a store on one day, UTC; the newest record of the day has it.

    It holds no text, and the id of nothing but the store.

    Attributes:
        store_id: the store.
        day: as ``2026-11-23``.
        sequence: counted from 1 on each day.
        at: when it was put.
        tokens: that were used, and that a question under way may use; one whose process died keeps what it might have.
        asks: how many questions were begun.
        token: unpredictable, so that no process takes another's record of the same instant for its own.
    """

    store_id: str
    day: str
    sequence: int
    at: int
    tokens: int
    asks: int = 0
    token: str = ""

    def key(self, region: str) -> JobKey:
        """Return the key under which `region` puts it."""
        return JobKey(region, self.store_id, KIND, self.day, self.sequence)

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> SpendingRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        try:
            return cls(**known(cls, _load(body)))
        except TypeError as error:
            raise ValueError(f"a record of spending cannot be read ({error})") from error
