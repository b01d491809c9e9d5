"""The snapshot that an epoch begins with: the tail of every path and the place of every live memory, in shards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from memolith.core.objects.schema import SCHEMA, _load


@dataclass(frozen=True, slots=True)
class Cut:
    """One shard of the tails that an epoch began with.

    Attributes:
        tails: by path hash, the tail slot of the path's log; older entries above it are late.
        residents: by path hash, the live memory that was there.
        occupants: by memory_id, the position of the head of each live memory: one place for each.
    """

    tails: Mapping[str, str] = field(default_factory=dict)
    residents: Mapping[str, str] = field(default_factory=dict)
    occupants: Mapping[str, str] = field(default_factory=dict)

    SHARDS: ClassVar[int] = 16

    @property
    def size(self) -> int:
        """How many paths and memories it names."""
        return len(self.tails) + len(self.residents) + len(self.occupants)

    @staticmethod
    def shard_of(path_hash: str) -> int:
        """Return the shard that has a path's tail."""
        return int(path_hash[0], 16)

    @staticmethod
    def shard_of_memory(memory_id: str) -> int:
        """Return the shard that has a memory's place."""
        return int(hashlib.sha256(memory_id.encode()).hexdigest()[0], 16)

    def to_json(self) -> bytes:
        fields = {"tails": self.tails, "residents": self.residents, "occupants": self.occupants}
        return json.dumps({"schema": SCHEMA} | {name: dict(value) for name, value in fields.items()}).encode()

    @classmethod
    def from_json(cls, body: bytes) -> Cut:
        """Parse a shard. Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        return cls(fields.get("tails", {}), fields.get("residents", {}), fields.get("occupants", {}))
