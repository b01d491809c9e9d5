"""What the use cases of proposals answer with. Instants are microseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memolith.core.objects.proposal_record import EditResult
from memolith.core.sent_size import sent_size


class Staged(Exception):
    """A write was not done: the store's policy has it wait for a person, as the proposal that it has become."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(proposal.id)
        self.proposal = proposal


@dataclass(frozen=True, slots=True)
class EditView:
    """One edit of a proposal as a caller sees it.

    Attributes:
        number: from 1.
        path, content: None once the proposal's texts were erased; content also where it is withheld.
        conflict: why it cannot be applied to what the store holds now; None where it can, or is decided.
        result: what became of it; None until the proposal was decided and carried out.
        reversal: what became of taking it back.
        diff: the lines that it changes, where they were asked for; `diff_trust` is the letter of the least class in it.
        content_left_out: whether it is None because one answer has no room for it, or has only what its caller sent.
        diff_left_out: whether it is None because one answer has no room for it.
    """

    number: int
    op: str
    path: str | None
    to: str | None
    content: str | None
    content_sha256: str | None
    expected_content_sha256: str | None
    memory_id: str | None
    why: str
    sources: tuple[str, ...]
    trust: str | None
    withheld: bool = False
    conflict: str | None = None
    result: EditResult | None = None
    reversal: EditResult | None = None
    diff: str | None = None
    diff_trust: str | None = None
    content_left_out: bool = False
    diff_left_out: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal. A listing has it without `why`, `reason` and `edits`, which are None there.

    Attributes:
        status: one of `memolith.core.proposals.STATUSES`.
        complete: whether what was decided is carried out to its end.
        erased: whether its texts were erased.
        endorsed_by: who approved it first, where two people have to.
    """

    id: str
    store_id: str
    status: str
    edit_count: int
    proposed_at: int
    proposed_by: str
    expires_at: int | None
    decided_at: int | None
    decided_by: str | None
    complete: bool
    erased: bool
    why: str | None = None
    reason: str | None = None
    edits: tuple[EditView, ...] | None = None
    endorsed_by: str | None = None

    def without_contents(self) -> Proposal:
        """Return it with the content of each of its edits left out."""
        if self.edits is None:
            return self
        edits = (
            edit if edit.content is None else replace(edit, content=None, content_left_out=True) for edit in self.edits
        )
        return replace(self, edits=tuple(edits))

    @property
    def sent_bytes(self) -> int:
        """What the texts and the diffs of its edits take in an answer."""
        shown = [text for edit in self.edits or () for text in (edit.content, edit.diff) if text is not None]
        return sum(sent_size(text) for text in shown)
