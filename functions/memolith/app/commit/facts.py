"""The facts that a command is decided by, read one after the other, as `core.decide` asks for them."""

from __future__ import annotations

from dataclasses import replace

from memolith.app.commit.attempt import Attempt
from memolith.app.commit.log_steps import LogSteps
from memolith.app.epochs.epoch_repair import EpochRepair
from memolith.app.kernel.region import Region
from memolith.app.log.verified_reads import verified_entry
from memolith.app.safety.verdicts import Verdicts
from memolith.core import fold
from memolith.core.commands import AdoptVersion, ImportVersion, WriteCommand
from memolith.core.decide import Facts, Look
from memolith.core.errors import Damaged, InvalidRequest, MemolithError
from memolith.core.integrity import Acknowledged
from memolith.core.objects.entry import Entry
from memolith.core.paths import path_hash
from memolith.core.rows.content import LogRow, MemoryRow
from memolith.core.verdicts import withheld_ever

EMPTIES_HIDDEN = (
    "must not be empty here: the safety scanner withholds the present text, or did until it was released, so you may "
    "have read null in its place; to lose that text, delete the memory, or send the update without precondition"
)


class FactReader:
    """Reads facts for the attempts of one writer."""

    def __init__(self, region: Region, steps: LogSteps, repair: EpochRepair, verdicts: Verdicts) -> None:
        self._region = region
        self._steps = steps
        self._repair = repair
        self._verdicts = verdicts

    def look(self, attempt: Attempt, command: WriteCommand, facts: Facts, look: Look) -> Facts | None:
        """Return the facts with the one that was asked for; None if the command has to be decided anew.

        That is so where another copy of the call has carried it out (`attempt.done`), and where the head was one that
        its store's present epoch did not begin with, and has been mended.

        Raises:
            Unavailable: the fact cannot be read, or that there is no such memory cannot be told. OutcomeUnknown.
        """
        if look is Look.HEAD:
            head = self._steps.head(attempt, command.memory_id)
            if self._steps.was_done(attempt, head):
                return None
            if head is None:
                self._require_whole(attempt, command)
            elif self._repair.memory(attempt.view, attempt.store, head):
                return None
            return replace(facts, head=head)
        head = facts.head if isinstance(facts.head, MemoryRow) else None
        if head is not None and look is Look.HIDDEN:
            return replace(facts, hidden=self._hidden(attempt, head))
        if head is not None and look is Look.SUCCESSOR:
            return replace(facts, succeeded=self._is_succeeded(attempt, head))
        if head is None or not isinstance(command, AdoptVersion):
            raise ValueError(f"{look} is a fact about the head of a late version")
        return replace(facts, builds_on=self.builds_on(command.straggler, head.version_id))

    def _hidden(self, attempt: Attempt, head: MemoryRow) -> MemolithError | None:
        """Return why the caller may have been given the head's hash without its text. One index read, then one GET.

        A text that was released since counts too: the caller may have read the memory before.

        Raises:
            Unavailable: it cannot be told.
        """
        sha256 = head.content_sha256 or ""
        if withheld_ever(self._verdicts.of(attempt.view, attempt.store, [sha256]).get(sha256)):
            return InvalidRequest("content", EMPTIES_HIDDEN)
        try:
            verified_entry(self._region, head.ref.key_in(head.store_id), Acknowledged(sha256, head.version_id))
        except Damaged as error:
            return error
        return None

    def _require_whole(self, attempt: Attempt, command: WriteCommand) -> None:
        """Vouch for it that there is no such memory. The first batch of an import has read the table's mark itself."""
        if isinstance(command, ImportVersion) and not attempt.number:
            attempt.view.require_complete()
        else:
            self._region.require_whole(attempt.view, "memories")

    def builds_on(self, straggler: Entry, version_id: str) -> bool:
        """Return whether a version is the late one's parent, or was before others that have been erased since.

        Those are not adopted, but passed over. No call where it is the parent; else a HEAD for each that is passed.
        """
        before: Entry | None = straggler
        while before is not None and before.parent_version_id != version_id:
            slot = before.slot.preceding
            before = None if slot is None else self._steps.logs.entry(replace(straggler.key, slot=slot))
            if before is not None and not (before.blank and before.memory_id == straggler.memory_id):
                return False
        return before is not None

    def _is_succeeded(self, attempt: Attempt, head: MemoryRow) -> bool:
        """Return whether the path of a head that was erased, which made it free, has another memory by now. A read.

        No call for a memory that an import has begun without a text: no path has its log.
        """
        if head.path_hash == path_hash(bytes.fromhex(attempt.store.salt), head.memory_id):
            return False
        key = LogRow.key(head.store_id, head.path_hash)
        row = self._region.read(attempt.view.index, [key]).get(key)
        return row is not None and fold.occupant_of(LogRow.from_attributes(row)) not in (None, head.memory_id)
