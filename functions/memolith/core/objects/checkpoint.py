"""Checkpoints: what a home acknowledged in one period, as an object that replicates like any other.

A checkpoint names objects of its home, each by its key and, for a version of a memory, by the version's id too, so that
a check need not read the object. A short one holds the names itself; a long one is in parts, each an object
of its own, so that neither who writes it nor who checks it ever holds more than one part.

A sealed one also says what the named objects were: each name has a digest (`memolith.core.sealing`), the checkpoint has
the root of a Merkle tree over its names, the hash of the checkpoint before it, and mostly a signature. So whoever knows
one checkpoint can check all that came before. One of an earlier release has none of this: it is unsealed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from memolith.core.merkle import Frontier
from memolith.core.object_keys import CheckpointKey, CheckpointPartKey
from memolith.core.objects.schema import SCHEMA, check_schema

NAMES_PER_PART = 5_000
"""About 1 MB."""


class Named(NamedTuple):
    """One object that was acknowledged. `version_id`: the version that stands in the index once it is folded.

    That is the object's own version, or the one whose rename it completed; None for anything but an entry of a log, and
    for an entry that came from a listing. `digest`: what the object was when it was acknowledged; None where that is
    not known, as of objects of an earlier release and of those that come from a listing. `object_version`: the id of
    the object's version, where the caller has put it; no checkpoint has it.
    """

    key: str
    version_id: str | None = None
    digest: str | None = None
    object_version: str | None = None

    @property
    def leaf(self) -> bytes:
        """The leaf of the Merkle tree that stands for it."""
        return json.dumps(name_to_json(self), separators=(",", ":")).encode()


class Seal(NamedTuple):
    """A signature under a checkpoint's statement: the id of the key, and the signature in base64url."""

    key_id: str
    signature: str


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
        count: how many names it has, with all its parts.
        previous: the SHA-256 of the checkpoint of the period before, as it stands in the bucket; None for the first.
        previous_statement: the SHA-256 of the statement of the period before, where that one `needs_cover`; else None.
        root: of the Merkle tree over its names, in hex; None for a checkpoint that is not sealed.
        seal: the home's signature under `statement`; None where no key answered, or nothing was named: a later
            checkpoint's signature covers it.
    """

    home: str
    period: int
    until: int
    run: str
    names: tuple[Named, ...] = ()
    parts: int = 0
    listed: bool = False
    count: int = 0
    previous: str | None = None
    previous_statement: str | None = None
    root: str | None = None
    seal: Seal | None = None

    @property
    def key(self) -> CheckpointKey:
        """The key that it is to stand at."""
        return CheckpointKey(self.home, self.period)

    @property
    def needs_cover(self) -> bool:
        """Whether what it names, or what it covers, has no signature yet: then the next one states its statement.

        `previous` covers it as well; but who checks that has to have all names of all workspaces.
        """
        open_behind = self.count > 0 or self.previous_statement is not None
        return self.root is not None and self.seal is None and open_behind

    @property
    def statement(self) -> bytes:
        """What is signed: all that the checkpoint says, its names by their root."""
        return json.dumps({"memolith": "checkpoint", **self._facts}, separators=(",", ":"), sort_keys=True).encode()

    @property
    def _facts(self) -> dict[str, object]:
        facts = {"schema": SCHEMA, "home": self.home, "period": self.period, "until": self.until, "run": self.run}
        facts |= {"parts": self.parts, "listed": self.listed}
        if self.root is not None:
            facts |= {"count": self.count, "previous": self.previous, "root": self.root}
        if self.previous_statement is not None:
            facts["previous_statement"] = self.previous_statement
        return facts

    def part_key(self, number: int) -> CheckpointPartKey:
        """Return the key of part `number`, from 0."""
        return CheckpointPartKey(self.home, self.period, self.run, number)

    def to_json(self) -> bytes:
        fields = {**self._facts, "names": _to_lists(self.names)}
        if self.seal is not None:
            fields["seal"] = list(self.seal)
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
                count=int(fields.get("count", 0)),
                previous=_text_or_none(fields.get("previous")),
                previous_statement=_text_or_none(fields.get("previous_statement")),
                root=_text_or_none(fields.get("root")),
                seal=None if fields.get("seal") is None else Seal(*map(str, fields["seal"][:2])),
            )
        except (KeyError, TypeError, OverflowError) as error:  # the last for a number such as 1e400
            raise ValueError(f"not a checkpoint: {error}") from error


def part_to_json(names: tuple[Named, ...]) -> bytes:
    """Return the body of one part."""
    return json.dumps(_to_lists(names), separators=(",", ":")).encode()


def part_from_json(body: bytes) -> tuple[Named, ...]:
    """Parse what `part_to_json` made; more than three values of a name are of a newer release. Raises ValueError."""
    return _from_lists(_load(body, list))


def sha256_of(body: bytes) -> str:
    """Return what the next checkpoint says of one whose object has this body, or which has this statement."""
    return hashlib.sha256(body).hexdigest()


def grown(frontier: Frontier, names: Iterable[Named]) -> Frontier:
    """Return the Merkle tree with these names behind those that it has."""
    return frontier.grown(name.leaf for name in names)


def name_to_json(name: Named) -> list[str]:
    """Write a name; without what it does not have, so that an earlier release's reads as it always did."""
    if name.digest is not None:
        return [name.key, name.version_id or "", name.digest]
    return [name.key] if name.version_id is None else [name.key, name.version_id]


def _to_lists(names: tuple[Named, ...]) -> list[list[str]]:
    return [name_to_json(name) for name in names]


def _from_lists(lists: Any) -> tuple[Named, ...]:
    try:
        return tuple(_named(*map(str, one[:3])) for one in lists)
    except TypeError as error:
        raise ValueError(f"not a list of names: {error}") from error


def _named(key: str, version_id: str = "", digest: str = "") -> Named:
    return Named(key, version_id or None, digest or None)


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _load(body: bytes, kind: type) -> Any:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(found, kind):
        raise ValueError(f"not a JSON {kind.__name__}")
    return found
