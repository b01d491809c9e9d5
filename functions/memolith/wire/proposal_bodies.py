"""The bodies of requests about proposals. Memolith's own."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from memolith.core import limits
from memolith.core.proposed_edits import EditRequest
from memolith.wire.request_bodies import Body, Content, Path, Sha256, Sources, _form, _unicode

Why = Annotated[str, Field(max_length=limits.PROPOSAL_WHY_MAX_CHARS), AfterValidator(_unicode)]


class Edit(Body):
    """One edit of a proposal. Which fields it needs beside its path is its operation's to say."""

    op: Literal["create", "replace", "str_replace", "delete", "rename"]
    path: Path
    content: Content | None = None
    old: Content | None = None
    new: Content | None = None
    to: Path | None = None
    expected_content_sha256: Sha256 | None = None
    why: Why = ""
    sources: Sources | None = None

    def asked(self) -> EditRequest:
        """Return it as the use case takes it."""
        return EditRequest(
            self.op,
            self.path,
            content=self.content,
            old=self.old,
            new=self.new,
            to=self.to,
            expected_content_sha256=self.expected_content_sha256,
            why=self.why,
            sources=tuple(self.sources or ()),
        )


class ProposalOpen(Body):
    """POST …/proposals."""

    edits: Annotated[list[Edit], Field(min_length=1, max_length=limits.PROPOSAL_EDITS_MAX, fail_fast=True)]
    why: Why = ""
    key: (
        Annotated[
            str,
            Field(min_length=1, max_length=limits.PROPOSAL_KEY_MAX_CHARS),
            _form(re.compile(r"[A-Za-z0-9_.:-]+"), "must be letters, digits, and . _ : -"),
        ]
        | None
    ) = None


class ProposalApprove(Body):
    """POST …/proposals/{id}/approve; may be empty. `edits` are numbers, from 1."""

    edits: (
        Annotated[
            list[Annotated[int, Field(ge=1, le=limits.PROPOSAL_EDITS_MAX)]],
            Field(min_length=1, max_length=limits.PROPOSAL_EDITS_MAX, fail_fast=True),
        ]
        | None
    ) = None


class ProposalReject(Body):
    """POST …/proposals/{id}/reject."""

    reason: Annotated[str, Field(min_length=1, max_length=limits.PROPOSAL_WHY_MAX_CHARS), AfterValidator(_unicode)]
