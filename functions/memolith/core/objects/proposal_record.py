"""A proposal: edits that are not in the store yet, what was decided of them, and what came of that.

Each record is one object, put once. Its number says what it is, so that of two decisions on one proposal, one is put:

    1 opened -> 2 decided -> 3 applied -> 4 reverting -> 5 reverted

2 and 4 have the plan of what is then written, 3 and 5 what that came to. And 6, at any time after the decision, orders
that the texts be erased in every region. Where two people have to approve, 7 is what the first of them approved; it
comes before 2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from typing import Any

from memolith.core.object_keys import ProposalKey
from memolith.core.objects.schema import SCHEMA, _load, known

NUMBERS_PER_TURN = 100
"""A home that has lost the store and has it again may find the number of a step taken by a record of a former term
that says nothing of the decision which holds: it puts the step again under a number that is greater by this."""


class ProposalStep(IntEnum):
    """What a record of a proposal is; its number in the key, but for the hundreds."""

    OPENED = 1
    DECIDED = 2
    APPLIED = 3
    REVERTING = 4
    REVERTED = 5
    ERASED = 6
    ENDORSED = 7


@dataclass(frozen=True, slots=True)
class ProposedEdit:
    """One edit of a proposal, as it was resolved when the proposal was opened.

    Attributes:
        op: ``create``, ``replace``, ``delete`` or ``rename``.
        path: where the memory is; `to` where a rename takes it.
        content: the whole new text; None for a deletion and a rename, and once it was erased.
        memory_id, expected_content_sha256: which memory, and what its text was for the author; None for a creation.
        sources: versions of the same store that the edit was made of; `trust` is the letter of the least class of them
            and of its author.
    """

    op: str
    path: str | None
    to: str | None = None
    content: str | None = None
    content_sha256: str | None = None
    memory_id: str | None = None
    expected_content_sha256: str | None = None
    why: str = ""
    sources: tuple[str, ...] = ()
    trust: str | None = None

    def blanked(self) -> ProposedEdit:
        """Return what stays of it once the proposal's texts are erased: no path, no text, no hash, no reason."""
        return replace(
            self, path=None, to=None, content=None, content_sha256=None, expected_content_sha256=None, why=""
        )


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """What one edit is to write: the ids were made when it was decided, so that a repetition writes nothing twice."""

    number: int
    memory_id: str
    version_id: str


@dataclass(frozen=True, slots=True)
class EditResult:
    """What became of one edit, by its number: an `outcome` of `memolith.core.proposals`, and the version, if any."""

    number: int
    outcome: str
    version_id: str | None = None
    memory_id: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ProposalRecord:
    """One record of a proposal; the JSON body of its object.

    Attributes:
        step: which one (`ProposalStep`).
        epoch: the store's, as text, when it was put; of two records of one step, the one of the greater epoch holds.
        at, by: when, and who.
        why, edits, expires_at, request_hmac: of an opened one; the last identifies the request.
        outcome, reason: of a decision: ``approved``, ``rejected``, ``withdrawn`` or ``expired``.
        chosen: the numbers of the edits that an endorsement is about.
        plan: what an approval, or a reversal, writes.
        results: what it came to.
        turn: how many records of the step this home has put before that do not count.
    """

    store_id: str
    proposal_id: str
    step: int
    epoch: str
    at: int
    by: str
    why: str = ""
    edits: tuple[ProposedEdit, ...] = ()
    expires_at: int | None = None
    request_hmac: str | None = None
    outcome: str | None = None
    reason: str = ""
    plan: tuple[PlannedWrite, ...] = ()
    results: tuple[EditResult, ...] = ()
    chosen: tuple[int, ...] = ()
    turn: int = 0

    def key(self, home: str) -> ProposalKey:
        """Return the key under which `home` puts it."""
        return ProposalKey(home, self.store_id, self.proposal_id, self.step + NUMBERS_PER_TURN * self.turn)

    @property
    def has_text(self) -> bool:
        """Whether it holds anything that an erasure takes away."""
        details = any(one.detail for one in self.results)
        return bool(self.why or self.reason or details) or any(edit != edit.blanked() for edit in self.edits)

    def blanked(self) -> ProposalRecord:
        """Return what stays of it: ids, times, actors, classes and outcomes."""
        return replace(
            self,
            why="",
            reason="",
            request_hmac=None,
            edits=tuple(edit.blanked() for edit in self.edits),
            results=tuple(replace(one, detail="") for one in self.results),
        )

    def to_json(self) -> bytes:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, body: bytes) -> ProposalRecord:
        """Parse a record. Raises ValueError for a body that no writer of this schema made."""
        fields = _load(body)
        try:
            lists = {
                "chosen": tuple(fields.get("chosen", ())),
                "edits": tuple(_edit(one) for one in fields.get("edits", ())),
                "plan": tuple(PlannedWrite(**known(PlannedWrite, one)) for one in fields.get("plan", ())),
                "results": tuple(EditResult(**known(EditResult, one)) for one in fields.get("results", ())),
            }
            return cls(**{**known(cls, fields), **lists})
        except (TypeError, KeyError) as error:
            raise ValueError(f"a proposal's record cannot be read ({error})") from error


def _edit(fields: Mapping[str, Any]) -> ProposedEdit:
    return ProposedEdit(**{**known(ProposedEdit, fields), "sources": tuple(fields.get("sources", ()))})
