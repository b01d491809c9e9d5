"""The tools for proposals, on one store: what waits for a person, and asking for a change that will.

No tool decides one. A model calls tools, and a proposal is decided by a person: with the command line, or over HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memolith.app.kernel.answer_size import Room
from memolith.core.limits import PROPOSAL_EDITS_MAX, PROPOSAL_KEY_MAX_CHARS, PROPOSAL_WHY_MAX_CHARS
from memolith.core.sent_size import sent_size
from memolith.wire.mcp import texts
from memolith.wire.mcp.answers import TRUST
from memolith.wire.mcp.schemas import ROWS_DEFAULT, Limit, NoteArguments, PathText, Sha256, Text
from memolith.wire.memory_tool.places import ROOT, note_place
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tree import Changed, Gone, Occupied, Tree
from memolith.wire.requests import ID_MAX_CHARS

DIFFS_MAX_BYTES = 1_000_000
"""What the lines of a proposal may take in one copy of the answer. A tool's answer has two, as text and as fields, and
the first is quoted once more: together they may take three times as much.
"""

Why = Annotated[str, Field(max_length=PROPOSAL_WHY_MAX_CHARS, description="Why, in a sentence, for who decides")]


class ProposalsArguments(NoteArguments):
    """Of `list_proposals`."""

    status: Annotated[
        Literal["open", "approved", "rejected", "withdrawn", "expired", "reverted"],
        Field(description="Which: open ones wait for a person"),
    ] = "open"
    limit: Limit = ROWS_DEFAULT


class ProposalArguments(NoteArguments):
    """Of `read_proposal`."""

    proposal_id: Annotated[
        str | None, Field(max_length=ID_MAX_CHARS, description="prop_…; left out: the newest that is open")
    ] = None


class ProposedEdit(BaseModel):
    """One edit that is asked for."""

    model_config = ConfigDict(extra="forbid", strict=True)

    op: Annotated[
        Literal["create", "replace", "str_replace", "delete", "rename"],
        Field(description="create and replace need content, str_replace old and new, rename to"),
    ]
    path: Annotated[PathText, Field(description="A path under /memories")]
    content: Text | None = None
    old: Annotated[Text | None, Field(description="A text that is in the note once")] = None
    new: Text | None = None
    to: PathText | None = None
    expected_content_sha256: Sha256 | None = None
    why: Why = ""


class ProposeArguments(NoteArguments):
    """Of `propose_edits`."""

    edits: Annotated[
        list[ProposedEdit],
        Field(min_length=1, max_length=PROPOSAL_EDITS_MAX, fail_fast=True, description="Each path once"),
    ]
    why: Why
    key: Annotated[
        str | None,
        Field(max_length=PROPOSAL_KEY_MAX_CHARS, description="The same key opens the same proposal once"),
    ] = None


class Summary(BaseModel):
    """A proposal, without its edits."""

    proposal_id: str
    status: str
    edit_count: int
    proposed_at: str
    expires_at: str | None
    why: str | None


class Proposals(BaseModel):
    """Proposals, the newest first."""

    proposals: list[Summary]


class EditShown(BaseModel):
    """One edit of a proposal: the lines that it changes, what stands against it now, and what became of it.

    `left_out` says how to read the edit where one answer has no room for its lines; `diff_trust` how far the least
    trusted of them may be believed.
    """

    number: int
    op: str
    path: str | None
    to: str | None
    why: str
    conflict: str | None
    outcome: str | None
    trust: str = TRUST
    diff: str | None
    diff_trust: str | None = Field(default=None, description="As `trust`, of the lines")
    left_out: str | None = None


class Proposal(Summary):
    """A proposal with its edits."""

    reason: str | None
    edits: list[EditShown]


def listed(tree: Tree, asked: ProposalsArguments) -> Proposals:
    """List proposals that the caller sees: a session its own, an API key all. One listing. Raises ToolFailure."""
    body = tree.proposals("GET", query={"status": asked.status, "limit": str(asked.limit)})
    return Proposals(proposals=[Summary.model_validate(_summary(row)) for row in body["data"]])


def read(tree: Tree, proposal_id: str | None) -> Proposal:
    """Read a proposal with the lines that it changes. One read; a listing more for the newest. Raises ToolFailure."""
    if proposal_id is None:
        newest = tree.proposals("GET", query={"limit": "1"})["data"]
        if not newest:
            raise ToolFailure(texts.NO_OPEN_PROPOSAL)
        proposal_id = str(newest[0]["id"])
    try:
        return _shown(tree.proposals("GET", proposal_id, query={"diff": "unified"}))
    except Gone:
        raise ToolFailure(texts.NO_PROPOSAL.format(id=proposal_id)) from None


def propose(tree: Tree, asked: ProposeArguments) -> Proposal:
    """Open a proposal. Repeatable with a key. Raises ToolFailure."""
    edits = [
        {
            **edit.model_dump(exclude_none=True),
            "path": note_place(edit.path),
            **({} if edit.to is None else {"to": note_place(edit.to)}),
        }
        for edit in asked.edits
    ]
    body = {"why": asked.why, "edits": edits, **({} if asked.key is None else {"key": asked.key})}
    try:
        return _shown(tree.proposals("POST", body=body))
    except Occupied as occupied:
        raise ToolFailure(texts.PATH_HELD.format(path=f"{ROOT}{occupied.path}")) from None
    except Changed:
        raise ToolFailure(texts.PROPOSED_ON_OLD) from None


def _shown(row: Mapping[str, Any]) -> Proposal:
    room = Room(DIFFS_MAX_BYTES)
    edits = [EditShown.model_validate(_edit(edit, room)) for edit in row["edits"] or ()]
    return Proposal(**_summary(row), reason=row["reason"], edits=edits)


def _summary(row: Mapping[str, Any]) -> dict[str, Any]:
    same = {name: row[name] for name in ("status", "edit_count", "proposed_at", "expires_at", "why")}
    return {"proposal_id": row["id"], **same}


def _edit(row: Mapping[str, Any], room: Room) -> dict[str, Any]:
    lines = row["diff"] or {}
    diff = lines.get("text")
    fits = not row["diff_left_out"] and (diff is None or room.fits(sent_size(diff)))
    return {
        **{name: row[name] for name in ("number", "op", "why", "conflict", "trust")},
        **{name: None if row[name] is None else f"{ROOT}{row[name]}" for name in ("path", "to")},
        "outcome": (row["result"] or {}).get("outcome"),
        "diff": diff if fits else None,
        "diff_trust": lines.get("trust") if fits else None,
        "left_out": None if fits else texts.LINES_LEFT_OUT[row["op"]],
    }
