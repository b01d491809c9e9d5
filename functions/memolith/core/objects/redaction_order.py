"""The order that erases one version: an object like any other, so that it replicates and is never lost."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from memolith.core.log_position import LogRef
from memolith.core.objects.schema import SCHEMA, _load, known


@dataclass(frozen=True, slots=True)
class Redaction:
    """The order to erase one version everywhere: which object holds it, who asked, when."""

    store_id: str
    version_id: str
    position: str
    redacted_at: int
    redacted_by: str

    @property
    def ref(self) -> LogRef:
        return LogRef.parse(self.position)

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> Redaction:
        """Parse an order. Raises ValueError for a body that no writer of this schema made."""
        try:
            return cls(**known(cls, _load(body)))
        except TypeError as error:
            raise ValueError(f"an order of redaction cannot be read ({error})") from error
