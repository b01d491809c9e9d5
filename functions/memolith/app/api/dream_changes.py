"""What a dream changed in its store, and taking that back.

Nothing is kept for this: a dream writes as a session of its own, so the store's history says what each memory was
before the dream and after it. Taking back is a person's, and goes by ordinary conditional writes: what was changed
since stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memolith.app.api.dreams import Dreams
from memolith.app.api.memories import Memories
from memolith.app.api.proposals import Proposals, require_person
from memolith.app.api.sources import Origin
from memolith.app.api.versions import Versions
from memolith.app.auth.authorizer import Authorizer, Scope
from memolith.app.kernel.answer_size import PROPOSAL_SENT_MAX_BYTES, Room
from memolith.app.kernel.proposal_results import Proposal, Staged
from memolith.app.kernel.results import ReadConsistency, RequestContext, Version, VersionFilter
from memolith.core import ids
from memolith.core.commands import CreateMemory
from memolith.core.errors import Busy, InvalidRequest, NotFound, PathConflict, PreconditionFailed, Unavailable, in_doubt
from memolith.core.limits import LIST_MAX
from memolith.core.objects.entry import Operation
from memolith.core.objects.run_record import CREATE_NEW, UPDATE_EXISTING, RunRecord
from memolith.core.proposals import (
    APPROVED_OUTCOME,
    CHANGED_SINCE,
    OPEN,
    REFUSED,
    UNAVAILABLE,
    UNCHANGED,
    rename_lines,
    unified_diff,
)
from memolith.core.proposals import REVERTED as TAKEN_BACK
from memolith.core.sent_size import sent_size

PROPOSED = "proposed"
"""Of what is to be taken back: the store's policy has even that wait for a decision."""

SET_BACK_US = 3_600_000_000
"""How long before every instant in a dream's record its versions are looked for: a clock may be set back meanwhile.

Its session says which versions are the dream's; the instant only bounds the search.
"""

REASON = "the dream that proposed it was taken back"


@dataclass(frozen=True, slots=True)
class DreamChange:
    """One memory that a dream wrote: as it was before the dream, None where it was not, and as the dream left it.

    `diff` has the lines that the dream changed, where they were asked for; None where a text in them is erased or
    withheld, and, with `diff_left_out`, where one answer has no room for them.
    """

    before: Version | None
    after: Version
    diff: str | None = None
    diff_left_out: bool = False

    @property
    def path(self) -> str | None:
        """Where it was before the dream, or where the dream made it; None once that is erased."""
        return self.after.path if self.before is None else self.before.path


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What became of one memory, as of an edit of a proposal that is reverted (docs/proposals.md)."""

    memory_id: str
    path: str | None
    outcome: str


@dataclass(frozen=True, slots=True)
class DreamChanges:
    """A dream, the proposal that it opened, if any, and what it wrote itself."""

    record: RunRecord
    proposal: Proposal | None
    written: tuple[DreamChange, ...]


@dataclass(frozen=True, slots=True)
class DreamReversal:
    """A dream that was taken back: its proposal as it is now, and what became of each memory that it wrote."""

    record: RunRecord
    proposal: Proposal | None
    taken_back: tuple[TakenBack, ...]


class DreamReversals:
    """The use cases. API keys alone see dreams."""

    def __init__(
        self, authorizer: Authorizer, dreams: Dreams, versions: Versions, memories: Memories, proposals: Proposals
    ) -> None:
        self._authorizer = authorizer
        self._dreams = dreams
        self._versions = versions
        self._memories = memories
        self._proposals = proposals

    def changes(self, call: RequestContext, run_id: str) -> DreamChanges:
        """Return what a dream proposes, or wrote into its input, line by line, as far as one answer has room for it.

        What a dream costs to read, what its proposal costs with its diff, and for each memory that it wrote a listing
        and two versions with their texts, but for lines that are certain to have no room.

        Raises:
            InvalidRequest: it writes into a store of its own. NotFound, Unavailable; Unauthenticated, PermissionDenied.
        """
        record = self._of_its_input(call, run_id)
        proposal = None
        if record.proposal_id is not None:
            proposal = self._proposals.retrieve(call, record.output_store_id, record.proposal_id, diff=True)
        room = Room(PROPOSAL_SENT_MAX_BYTES - (0 if proposal is None else proposal.sent_bytes))
        written = tuple(self._with_diff(call, one, room) for one in self._written(call, record))
        return DreamChanges(record, proposal, written)

    def revert(self, call: RequestContext, run_id: str) -> DreamReversal:
        """Take back what a dream did, wherever that is still so.

        What it wrote is read as the store's home has it: a region that lacks some of it would say that the rest is all.
        Its proposal is rejected while it is open, and reverted once it is approved. Repeatable: what was taken back is
        `unchanged`, or `changed_since`. What `changes` costs, and for each memory two HEADs and a write, and a listing
        more where the dream deleted it; elsewhere an invocation for each of these reads.

        Raises:
            InvalidRequest: it is not over, or writes into a store of its own. PermissionDenied: neither an admin's key
            nor a person's. NotFound, Busy, Unavailable, OutcomeUnknown; Unauthenticated.
        """
        record = self._of_its_input(call, run_id)
        access = self._authorizer.enter_store(call, Scope.write, record.output_store_id)
        require_person(call, access, "revert a dream")
        if record.status.is_open:
            raise InvalidRequest("dream_id", f"names a dream that is {record.status}; cancel it, or wait")
        taken_back = list[TakenBack]()
        try:
            at_home = replace(call, demand=ReadConsistency(home=True))
            for one in (self._full(at_home, change) for change in self._written(at_home, record)):
                outcome = self._take_back(at_home, record.output_store_id, one)
                taken_back.append(TakenBack(one.after.memory_id, one.path, outcome))
            return DreamReversal(record, self._proposal_taken_back(call, record), tuple(taken_back))
        except (Busy, Unavailable) as error:
            if not any(one.outcome in (TAKEN_BACK, PROPOSED) for one in taken_back):
                raise
            raise in_doubt(f"{run_id} is taken back in part", error, "repeat the call") from error

    def _of_its_input(self, call: RequestContext, run_id: str) -> RunRecord:
        record = self._dreams.retrieve(call, run_id)
        if record.behavior == CREATE_NEW:
            rule = f"names a dream that writes into a store of its own, {record.output_store_id}; compare, or delete it"
            raise InvalidRequest("dream_id", rule)
        return record

    def _proposal_taken_back(self, call: RequestContext, record: RunRecord) -> Proposal | None:
        """Return the dream's proposal, rejected or reverted.

        Raises:
            Unavailable: this region has not heard of it, or of its decision; or it is not carried out to its end yet.
        """
        if record.proposal_id is None:
            return None
        call, named = replace(call, demand=ReadConsistency()), (record.output_store_id, record.proposal_id)
        try:
            proposal = self._proposals.retrieve(call, *named)
            if proposal.status == OPEN:
                return self._proposals.reject(call, *named, reason=REASON)
            return self._proposals.revert(call, *named) if proposal.status == APPROVED_OUTCOME else proposal
        except (NotFound, InvalidRequest) as error:
            what, hint = "the dream's proposal cannot be taken back here yet", "try again in a minute"
            raise Unavailable(what, object=record.proposal_id, cause=error.message, hint=hint) from error

    # ---- what it wrote ------------------------------------------------------------------------------------------

    def _written(self, call: RequestContext, record: RunRecord) -> Iterator[DreamChange]:
        """Yield each memory that the dream's session wrote, without its texts, in the order of the last writes."""
        if record.behavior != UPDATE_EXISTING:
            return
        actor = f"session:{record.session_id}"
        instants = [at for at in (record.created_at, record.started_at, record.ended_at) if at is not None]
        by_dream = VersionFilter(created_by=actor, created_at_gte=max(0, min(instants) - SET_BACK_US))
        store_id = record.output_store_id
        for memory_id in dict.fromkeys(one.memory_id for one in self._all(call, store_id, by_dream)):
            change = self._change(call, store_id, memory_id, actor)
            if change is not None:
                yield change

    def _change(self, call: RequestContext, store_id: str, memory_id: str, actor: str) -> DreamChange | None:
        after: Version | None = None
        for version in self._all(call, store_id, VersionFilter(memory_id=memory_id)):
            if version.created_by == actor:
                after = after or version
            elif after is not None:
                return DreamChange(version, after)
        return None if after is None else DreamChange(None, after)

    def _full(self, call: RequestContext, one: DreamChange) -> DreamChange:
        """Return it with the two texts."""

        def full(version: Version) -> Version:
            return self._versions.retrieve(call, version.store_id, version.id, full=True)

        return DreamChange(None if one.before is None else full(one.before), full(one.after))

    def _with_diff(self, call: RequestContext, one: DreamChange, room: Room) -> DreamChange:
        """Return it with its texts and the lines that changed; without either where the lines have no room for sure."""
        before = 0 if one.before is None else one.before.content_size_bytes or 0
        if abs(before - (one.after.content_size_bytes or 0)) > room.left:
            return replace(one, diff_left_out=True)
        full = self._full(call, one)
        lines = _lines(full)
        fits = lines is None or room.fits(sent_size(lines))
        return replace(full, diff=lines) if fits else replace(full, diff_left_out=True)

    def _all(self, call: RequestContext, store_id: str, filter: VersionFilter) -> Iterator[Version]:
        after: str | None = None
        while True:
            page = self._versions.page(call, store_id, filter, limit=LIST_MAX, after=after, full=False)
            yield from page.items
            after = page.next_after
            if after is None:
                return

    # ---- taking back --------------------------------------------------------------------------------------------

    def _take_back(self, call: RequestContext, store_id: str, one: DreamChange) -> str:
        before, after = one.before, one.after
        if before is not None and (before.content is None or before.path is None):
            return UNAVAILABLE
        try:
            if after.operation == Operation.DELETED:  # a redacted version has no hash either, and is no head
                return self._recreate(call, store_id, one)
            head = self._memories.retrieve(call, store_id, after.memory_id, full=False)
            if head.version_id != after.id:
                was = None if before is None else (before.path, before.content_sha256)
                return UNCHANGED if (head.path, head.content_sha256) == was else CHANGED_SINCE
            if before is None:
                self._memories.delete(
                    call,
                    store_id,
                    head.id,
                    expected_content_sha256=after.content_sha256,
                    expected_version_id=after.id,
                )
                return TAKEN_BACK
            self._memories.update(
                call,
                store_id,
                head.id,
                content=before.content,
                path=before.path,
                expected_content_sha256=after.content_sha256,
                full=False,
                origin=Origin(at_most=before.trust, restored=True),
                expected_version_id=after.id,
            )
        except NotFound:
            return UNCHANGED if before is None else CHANGED_SINCE
        except (PreconditionFailed, PathConflict):
            return CHANGED_SINCE
        except InvalidRequest:
            return REFUSED
        except Staged:
            return PROPOSED
        return TAKEN_BACK

    def _recreate(self, call: RequestContext, store_id: str, one: DreamChange) -> str:
        """Write a memory again that the dream deleted, as a new one; once, as its id is derived from the deletion's.

        Raises PathConflict where something is at its path.
        """
        before = one.before
        if before is None or before.path is None or before.content is None:
            return UNCHANGED
        memory_id = ids.keyed_id("mem", store_id, one.after.id)
        for made in self._all(call, store_id, VersionFilter(memory_id=memory_id)):
            was = before.path, before.content_sha256
            return UNCHANGED if (made.path, made.content_sha256) == was else CHANGED_SINCE
        command = CreateMemory(store_id, memory_id, "", "", before.path, before.content)
        self._memories.write(call, command, origin=Origin(at_most=before.trust))
        return TAKEN_BACK


def _lines(one: DreamChange) -> str | None:
    """Return the lines that a dream changed; None where a text in them is erased or withheld."""
    versions = (one.before, one.after)
    hidden = any(one and one.content is None and one.operation != Operation.DELETED for one in versions)
    if one.path is None or hidden:
        return None
    texts = [None if version is None else version.content for version in versions]
    moved = one.after.path != one.path and one.after.operation != Operation.DELETED
    lines = unified_diff(texts[0], texts[1], one.path, one.after.path)
    return rename_lines(one.path, one.after.path) + lines if moved else lines
