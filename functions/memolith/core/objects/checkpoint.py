"""Checkpoints: what a home acknowledged in one period, as an object that replicates like any other.

A checkpoint names objects of its home, each by its key and, for a version of a memory, by the version's id too, so that
a check need not read the object. A short one holds the names itself; a long one is in parts, each an object
of its own, so that neither who writes it nor who checks it ever holds more than one part.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from memolith.core.object_keys import CheckpointPartKey
from memolith.core.objects.schema import SCHEMA, check_schema

NAMES_PER_PART = 5_000
"""About 1 MB."""


class Named(NamedTuple):
    """One object that was acknowledged. `version_id`: the version that stands in the index once it is folded.

    That is the object's own version, or the one whose rename it completed; None for anything but an entry of a log, and
    for an entry that came from a listing.
    """

    key: str
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a home acknowledged in one period.

    Attributes:
        until: everything that the home acknowledged before this instant (microseconds, its clock) stands in this
            checkpoint or in an earlier one.
        run: the journal that it was made from; a journal that was lost and begun anew is another.
        names: all of them, unless it is in parts.
        parts: how many there are; 0 for a short one.
        listed: made from a listing of the bucket, because the journal had been lost.
    """

    home: str
    period: int
    until: int
    run: str
    names: tuple[Named, ...] = ()
    parts: int = 0
    listed: bool = False

    def part_key(self, number: int) -> CheckpointPartKey:
        """Return the key of part `number`, from 0."""
        return CheckpointPartKey(self.home, self.period, self.run, number)

    def to_json(self) -> bytes:
        fields = {"schema": SCHEMA, "home": self.home, "period": self.period, "until": self.until, "run": self.run}
        fields |= {"parts": self.parts, "listed": self.listed, "names": _to_lists(self.names)}
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, body: bytes) -> Checkpoint:
        """Parse what `to_json` made. Raises ValueError."""
        fields = _load(body, dict)
        check_schema(fields.get("schema"))
        try:
            return cls(
                home=str(fields["home"]),
                period=int(fields["period"]),
                until=int(fields["until"]),
                run=str(fields["run"]),
                names=_from_lists(fields["names"]),
                parts=int(fields["parts"]),
                listed=bool(fields["listed"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a checkpoint: {error}") from error


def part_to_json(names: tuple[Named, ...]) -> bytes:
    """Return the body of one part."""
    return json.dumps(_to_lists(names), separators=(",", ":")).encode()


def part_from_json(body: bytes) -> tuple[Named, ...]:
    """Parse what `part_to_json` made; more than two values of a name are of a newer release. Raises ValueError."""
    return _from_lists(_load(body, list))


def _to_lists(names: tuple[Named, ...]) -> list[list[str]]:
    return [[name.key] if name.version_id is None else [name.key, name.version_id] for name in names]


def _from_lists(lists: Any) -> tuple[Named, ...]:
    try:
        return tuple(Named(*map(str, one[:2])) for one in lists)
    except TypeError as error:
        raise ValueError(f"not a list of names: {error}") from error


def _load(body: bytes, kind: type) -> Any:
    try:
        found = json.loads(body)
    except ValueError as error:
        raise ValueError("not JSON") from error
    if not isinstance(found, kind):
        raise ValueError(f"not a JSON {kind.__name__}")
    return found
