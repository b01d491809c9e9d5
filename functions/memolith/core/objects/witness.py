"""Witnesses: what one region saw of another home's checkpoint, kept in the bucket of the region that saw it.

They stand outside replication (`LOCAL_PREFIX`): a home whose bucket is rewritten or put back cannot reach them, and no
other region has to read them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from memolith.core.object_keys import LOCAL_PREFIX
from memolith.core.objects.schema import SCHEMA, _load, known

WITNESS_PREFIX = f"{LOCAL_PREFIX}witness/"


def witness_prefix(home: str) -> str:
    """Return what the keys of all witnesses of a home begin with."""
    return f"{WITNESS_PREFIX}{home}/"


def witness_key(home: str, period: int) -> str:
    """Return the key of what this region saw of one checkpoint."""
    return f"{witness_prefix(home)}{period:012d}"


@dataclass(frozen=True, slots=True)
class Witness:
    """One checkpoint as it was seen: the SHA-256 of its object, and when that was (microseconds since 1970).

    Attributes:
        signed: whether its signature was checked and holds; None where it had none, or the key did not answer.
    """

    home: str
    period: int
    sha256: str
    seen_at: int
    signed: bool | None = None

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, body: bytes) -> Witness:
        """Parse what `to_json` made. Raises ValueError."""
        try:
            return cls(**known(cls, _load(body)))
        except TypeError as error:
            raise ValueError(f"a witness cannot be read ({error})") from error
