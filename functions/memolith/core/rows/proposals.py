"""Rows of proposals. They stand in the table of stores, in their store's partition, and hold no text and no path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memolith.core.rows.base import Row, RowKey

DUE_PARTITION = "proposals"
"""Where the rows stand that say when something is to be done about a proposal, in the order of these instants."""


PROPOSED_PREFIX = "proposed#"
"""What the sort keys begin with of the rows that lead from planned versions to proposals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRow(Row):
    """What the records of a proposal say that are here, joined (`memolith.core.proposals.join`).

    `opened`, `decided`, `applied`, `reverting`, `reverted`, `erased` and `endorsed` name the epoch, as text, of the
    record of that step that holds: its home is where the object is. `records` has the epoch of every record that is
    joined, by its home and number. A copy of the row stands in the listing of its
    status. `redacted` says that a version which the proposal planned is redacted, until the proposal's texts are
    ordered to be erased. `unerased` says that the order is known here otherwise than by its object's arrival, until
    that has had the texts erased.
    """

    store_id: str
    proposal_id: str
    opened: str | None = None
    proposed_at: int | None = None
    proposed_by: str | None = None
    edits: int | None = None
    expires_at: int | None = None
    decided: str | None = None
    outcome: str | None = None
    decided_at: int | None = None
    decided_by: str | None = None
    applied: str | None = None
    reverting: str | None = None
    reverting_at: int | None = None
    reverted: str | None = None
    erased: str | None = None
    endorsed: str | None = None
    endorsed_by: str | None = None
    redacted: bool | None = None
    unerased: bool | None = None
    records: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def key(store_id: str, proposal_id: str) -> RowKey:
        return RowKey("stores", store_id, f"proposal#{proposal_id}")

    @staticmethod
    def listing_prefix(is_open: bool) -> str:
        """Return what the sort keys of a listing begin with: of open proposals, or of those that were decided."""
        return f"proposals#{'open' if is_open else 'closed'}#"

    @property
    def position(self) -> str:
        """Return the place in its listing: by the time at which it was opened."""
        return f"{self.proposed_at or 0:020d}#{self.proposal_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DueProposalRow(Row):
    """That something is to be done about a proposal at an instant. It decides nothing: the proposal's own row does."""

    store_id: str
    proposal_id: str

    @staticmethod
    def key(due_at: int, store_id: str, proposal_id: str) -> RowKey:
        return RowKey("stores", DUE_PARTITION, f"{due_at:020d}#{store_id}#{proposal_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedVersionRow(Row):
    """Which proposal planned a version: redacting the version erases the proposal's copy of its text."""

    proposal_id: str

    @staticmethod
    def key(store_id: str, version_id: str) -> RowKey:
        """Return where it stands. `version_id` is the planned one; a rename's later attempts have others."""
        return RowKey("stores", store_id, f"{PROPOSED_PREFIX}{version_id}")
