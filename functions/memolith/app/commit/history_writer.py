"""The writer of imported histories: versions that keep the ids, times and actors that they had elsewhere."""

from __future__ import annotations

from memolith.app.commit.attempt import Attempt, Outcome, Step
from memolith.app.commit.log_steps import known_rows
from memolith.app.commit.writer import Writer
from memolith.app.index.path_claims import Claim
from memolith.app.kernel.region import View
from memolith.app.log.conditional_put import Put
from memolith.core import decide, fold
from memolith.core.commands import Command, CreateMemory, DeleteMemory, ImportedVersion, UpdateMemory
from memolith.core.errors import InvalidRequest, NotFound
from memolith.core.log_position import LogKey, LogRef
from memolith.core.objects.entry import Entry, Operation
from memolith.core.paths import path_hash
from memolith.core.rows.content import LogRow, MemoryRow
from memolith.core.rows.identity import StoreRow
from memolith.core.settled import ResolvedEntry


class HistoryWriter(Writer):
    """Commits brought versions, in the loop and with the steps of ordinary writes."""

    def bring(
        self, view: View, store: StoreRow, version: ImportedVersion, flags: tuple[str, ...], began_us: int
    ) -> Outcome:
        """Commits one version after those of its memory that are here. Costs as a write of its kind.

        `began_us` is when `view` was about to be read: a repetition of the call may run beside this one.

        Raises:
            InvalidRequest, NotFound: it does not follow on what is here. Busy, Unavailable, OutcomeUnknown.
        """
        told_us = version.created_at
        attempt = Attempt(view, store, Outcome(), flags, told_us=told_us, imported=True, passed_on_us=began_us)
        command = _command(store, version)
        return self._until_decided(attempt, command, lambda: self._bring(attempt, command, version))

    def answer_for(self, store: StoreRow, position: LogRef) -> None:
        """Makes sure of a version that was here before. No call for a store in one region. Raises Unavailable."""
        self._steps.replica.secure(store, position.key_in(store.store_id))
        self._steps.replica.confirm(store)

    def _bring(self, attempt: Attempt, command: Command, version: ImportedVersion) -> Step:
        head = self._steps.head(attempt, version.memory_id)
        if self._steps.was_done(attempt, head):
            return Step.AGAIN
        if head is None:
            if attempt.number:
                self._region.require_whole(attempt.view, "memories")
            attempt.view.require_complete()
            if version.operation == Operation.DELETED:
                raise InvalidRequest("versions", "a history cannot begin with a deletion")
            return (
                self._creation.commit(attempt, _creation(command))
                if not version.blank
                else self._begin(attempt, version)
            )
        if head.gone:
            raise NotFound("memory", version.memory_id)
        hash = None if version.path is None else path_hash(bytes.fromhex(attempt.store.salt), version.path)
        if version.operation == Operation.DELETED:
            commit = decide.Commit(Operation.DELETED, head.path or version.path or "", None)
        elif version.blank or version.path is None or hash == head.path_hash:
            commit = decide.Commit(Operation.MODIFIED, version.path or head.path or "", version.content)
        else:
            commit = decide.Commit(Operation.MOVED_IN, version.path, version.content)
            return self._rename.commit(attempt, _change(command), head, commit)
        if commit.content is not None and not fold.is_live(head):
            return self._come_back(attempt, command, head, commit)
        return self._follow(attempt, command, head, commit, blank=version.blank)

    def _begin(self, attempt: Attempt, version: ImportedVersion) -> Step:
        """A memory whose first version is blank, in the log that is named after the memory and no path."""
        hash = path_hash(bytes.fromhex(attempt.store.salt), version.memory_id)
        key = LogRow.key(attempt.store.store_id, hash)
        rows = self._region.read(attempt.view.index, [key])
        slot = self._steps.free_slot(attempt, hash, LogRow.from_attributes(rows[key]) if key in rows else None)
        if slot is None:
            return Step.AGAIN
        draft = self._steps.draft(_command(attempt.store, version), attempt)
        entry = decide.created(draft, LogKey(attempt.store.store_id, hash, slot), "", "").blanked()
        return self._commit(attempt, entry, "", None)

    def _follow(
        self, attempt: Attempt, command: Command, head: MemoryRow, commit: decide.Commit, *, blank: bool
    ) -> Step:
        slot = self._steps.slot_after(attempt, head)
        if slot is None:
            return Step.AGAIN
        key = LogKey(head.store_id, head.path_hash, slot)
        entry = decide.follows(self._steps.draft(command, attempt), head, key, commit)
        return self._commit(attempt, entry.blanked() if blank else entry, commit.content, head)

    def _come_back(self, attempt: Attempt, command: Command, head: MemoryRow, commit: decide.Commit) -> Step:
        """A text after a blank: the memory is to be seen at its path again, which others may claim by now."""
        slot = self._steps.slot_after(attempt, head)
        if slot is None:
            return Step.AGAIN
        _, path_row = self._steps.occupancy(attempt, head.path_hash, commit.path)
        claim_id = f"{command.version_id}.{attempt.number}"
        claim = Claim(head.store_id, commit.path, claim_id, LogRef(head.path_hash, slot))
        step = self._reservation.make(attempt, claim, path_row, moving_id=head.memory_id)
        if step is not Step.CLEAR:
            return step
        entry = decide.follows(
            self._steps.draft(command, attempt), head, LogKey(head.store_id, head.path_hash, slot), commit
        )
        done = self._commit(attempt, entry, commit.content, head)
        self._reservation.withdraw(attempt, claim)
        return done

    def _commit(self, attempt: Attempt, entry: Entry, content: str | None, head: MemoryRow | None) -> Step:
        if self._steps.put(attempt, entry, content) is Put.TAKEN:
            self._steps.catch_up(attempt, entry.key.path_hash, entry.slot, paths_too=True)
            return Step.AGAIN
        self._steps.project_own(attempt, [ResolvedEntry(entry)], None if head is None else known_rows(head, entry))
        attempt.outcome.memory = fold.join_memory(head, entry)
        return Step.DECIDED


def _command(store: StoreRow, version: ImportedVersion) -> Command:
    ids = (store.store_id, version.memory_id, version.version_id, version.actor)
    if version.operation == Operation.DELETED:
        return DeleteMemory(*ids)
    if version.operation == Operation.CREATED:
        return CreateMemory(*ids, version.path or "", version.content or "")
    return UpdateMemory(*ids, version.content, version.path)


def _creation(command: Command) -> CreateMemory:
    """Of a history whose beginning is not told, the first version that is creates the memory."""
    if isinstance(command, CreateMemory):
        return command
    path, content = (command.path, command.content) if isinstance(command, UpdateMemory) else (None, None)
    ids = (command.store_id, command.memory_id, command.version_id, command.actor)
    return CreateMemory(*ids, path or "", content or "")


def _change(command: Command) -> UpdateMemory:
    return command if isinstance(command, UpdateMemory) else UpdateMemory(**_ids(command))


def _ids(command: Command) -> dict[str, str]:
    names = ("store_id", "memory_id", "version_id", "actor")
    return {name: getattr(command, name) for name in names}
