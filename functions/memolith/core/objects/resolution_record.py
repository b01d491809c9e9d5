"""A person's decision about two statements that contradict each other: the JSON body of its object, put once."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from memolith.core.log_position import Epoch
from memolith.core.object_keys import ResolutionKey
from memolith.core.objects.schema import SCHEMA, _load, known


@dataclass(frozen=True, slots=True)
class ResolutionRecord:
    """One decision. It outlives the statements, and so holds nothing of what they say.

    Attributes:
        conflict_id, statement_ids: as `core.graph.disputes` makes them: hashes that nobody makes without the store's
            salt.
        memory_ids: whose the statements are, in the order of these.
        kept: the statement that was chosen; None: both stand.
        epoch: the store's, as text, in which it was put; a later epoch's outranks all earlier ones.
        at, by: when it was decided, and by whom: ``api_key:…``.
    """

    store_id: str
    conflict_id: str
    epoch: str
    statement_ids: tuple[str, str]
    memory_ids: tuple[str, str]
    kept: str | None
    at: int
    by: str

    @property
    def key(self) -> ResolutionKey:
        return ResolutionKey(Epoch.parse(self.epoch).home, self.store_id, self.conflict_id)

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> ResolutionRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            (first, second), (one, other) = fields["statement_ids"], fields["memory_ids"]
            return cls(**{**known(cls, fields), "statement_ids": (first, second), "memory_ids": (one, other)})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a resolution cannot be read ({error})") from error
